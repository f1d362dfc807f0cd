// The ID of a request, from the client's answer through our log and CF's audit events to the audit log of a real kube-apiserver.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Writable } from "node:stream";
import { pino } from "pino";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Org } from "../../../crds/org/org.ts";
import { Replica } from "../../../crds/replica/replica.ts";
import { SYSTEM_NAMESPACE } from "../../../crds/groups.ts";
import { Space } from "../../../crds/space/space.ts";
import { createClient } from "../../../kube/client/create-client.ts";
import type { KubeClient } from "../../../kube/client/client.ts";
import { installManifests } from "../../../platform/install.ts";
import { startPlatform, type RunningPlatform } from "../../../platform/platform.ts";
import { whyNoControlPlane } from "../../cluster/binaries.ts";
import { startControlPlane, type ControlPlane } from "../../cluster/control-plane.ts";
import { eventually } from "../../eventually.ts";
import { PLATFORM_USER } from "../../e2e/support/cluster-platform.ts";

interface AuditLine {
  auditID: string;
  verb: string;
  user: { username: string };
  objectRef?: { resource: string; subresource?: string };
}

const AUDIT_POLICY = JSON.stringify({
  apiVersion: "audit.k8s.io/v1",
  kind: "Policy",
  omitStages: ["RequestReceived"],
  rules: [{ level: "Metadata", resources: [{ group: "cupola.dev" }, { group: "", resources: ["secrets"] }] }],
});

/** Stock cf sends one for a whole command. */
const TRACE = "0af7651916cd43dd8448eb211c80319c";

const reason = whyNoControlPlane();
if (reason) console.log(`request IDs: skipped, ${reason}`);

describe.skipIf(reason)("the ID of a request", () => {
  const folder = mkdtempSync(join(tmpdir(), "cupola-request-id-"));
  const auditLog = join(folder, "audit.log");
  const lines: Record<string, unknown>[] = [];
  let plane: ControlPlane;
  let admin: KubeClient;
  let platform: RunningPlatform;
  let space = "";

  beforeAll(async () => {
    writeFileSync(join(folder, "policy.json"), AUDIT_POLICY);
    plane = await startControlPlane({
      users: [PLATFORM_USER],
      apiserverFlags: [`--audit-policy-file=${join(folder, "policy.json")}`, `--audit-log-path=${auditLog}`],
    });
    const access = { server: plane.url, ca: plane.ca };
    admin = createClient({ ...access, auth: { kind: "token", token: plane.adminToken } });
    await installManifests(admin);
    const sink = new Writable({
      write(chunk: Buffer, _encoding, done) {
        for (const line of chunk.toString().trim().split("\n")) lines.push(JSON.parse(line) as Record<string, unknown>);
        done();
      },
    });
    platform = await startPlatform({
      access: { ...access, auth: { kind: "token", token: PLATFORM_USER.token } },
      operations: ["api", "controllers"],
      data: join(folder, "data"),
      listen: { host: "127.0.0.1", port: 0 },
      log: pino({ level: "info", base: undefined }, sink),
      shutdown: { drainMs: 0 },
    });
    await admin.create(Org, { metadata: { name: "acme" }, spec: {} });
    await eventually(() => admin.create(Space, { metadata: { namespace: "acme", name: "dev" }, spec: {} }));
    space = await eventually(async () => {
      const { resources } = (await (await send("GET", "/v3/spaces")).json()) as { resources: { guid: string }[] };
      return resources[0]?.guid ?? expect.unreachable("no space yet");
    });
  }, 180_000);
  afterAll(async () => {
    await platform?.stop({ instances: "end" });
    await admin?.close();
    await plane?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  const send = (method: string, path: string, body?: object): Promise<Response> =>
    fetch(`${platform.url}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${plane.adminToken}`,
        "x-vcap-request-id": "from-client",
        "x-b3-traceid": TRACE,
      },
      signal: AbortSignal.timeout(30_000),
      ...(body && { body: JSON.stringify(body) }),
    });
  const audited = (id: string): AuditLine[] =>
    readFileSync(auditLog, "utf8")
      .split("\n")
      .filter((line) => line.includes(id))
      .map((line) => JSON.parse(line) as AuditLine);

  test("is in the answer, our log, CF's audit event and Kubernetes' audit log", async () => {
    const relationships = { space: { data: { guid: space } } };
    // A new space takes apps once its namespace is there.
    const { answer, guid } = await eventually(async () => {
      const made = await send("POST", "/v3/apps", { name: "shop", relationships });
      const body = (await made.json()) as { guid: string };
      expect([made.status, body]).toEqual([201, expect.anything()]);
      return { answer: made, guid: body.guid };
    });
    const id = answer.headers.get("x-vcap-request-id") ?? "";
    expect(id).toMatch(/^from-client::[0-9a-f-]{36}$/);

    const line = await eventually(() => lines.find((one) => one["requestId"] === id) ?? expect.unreachable("no line"));
    const [replica] = (await admin.list(Replica, { namespace: SYSTEM_NAMESPACE })).items;
    expect(line).toMatchObject({
      replica: replica?.metadata.name,
      traceId: TRACE,
      endpoint: "POST /v3/apps",
      status: 201,
      user: "admin",
      msg: "request",
    });

    const seen = await eventually(() => {
      const found = audited(id);
      expect(found.length).toBeGreaterThan(1);
      return found;
    });
    const writes = seen.map(({ verb, user, objectRef }) => `${user.username} ${verb} ${objectRef?.resource ?? ""}`);
    expect(writes).toContain("admin create apps");
    expect(writes).toContain("cupola create claims");
    expect(seen.every(({ auditID }) => auditID === id)).toBe(true);
    // A segment holds the events of several requests.
    expect(writes.join()).not.toContain("auditlogs");

    await eventually(async () => {
      const events = (await (await send("GET", `/v3/audit_events?target_guids=${guid}`)).json()) as {
        resources: { type: string; data: { request_id?: string } }[];
      };
      expect(events.resources).toContainEqual(
        expect.objectContaining({
          type: "audit.app.create",
          data: expect.objectContaining({ request_id: id }) as object,
        }),
      );
    });
  }, 120_000);

  test("is on the line of a refusal, and a read leaves none", async () => {
    const refused = await send("POST", "/v3/apps", { name: "", relationships: { space: { data: { guid: space } } } });
    expect(refused.status).toBe(422);
    const read = await send("GET", "/v3/apps");
    const [refusedID, readID] = [refused, read].map(({ headers }) => headers.get("x-vcap-request-id"));
    await eventually(() =>
      expect(lines).toContainEqual(expect.objectContaining({ requestId: refusedID, status: 422 })),
    );
    expect(lines.filter((line) => line["requestId"] === readID)).toEqual([]);
    expect(JSON.stringify(lines)).not.toContain(plane.adminToken);
  }, 60_000);
});
