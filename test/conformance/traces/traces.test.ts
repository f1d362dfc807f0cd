// A single trace leads from the requests of a push, over the reconciles that follow, to the instance that is ready.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pino } from "pino";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { BackendClass } from "../../../crds/backend-class/backend-class.ts";
import { ANNOTATIONS } from "../../../crds/labels.ts";
import { LRP } from "../../../crds/lrp/lrp.ts";
import { Org } from "../../../crds/org/org.ts";
import { systemObject } from "../../../crds/settings-object.ts";
import { Space } from "../../../crds/space/space.ts";
import { createClient } from "../../../kube/client/create-client.ts";
import type { KubeClient } from "../../../kube/client/client.ts";
import { applyObjects, installManifests } from "../../../platform/install.ts";
import { startPlatform, type RunningPlatform } from "../../../platform/platform.ts";
import { eventually } from "../../eventually.ts";
import { startEmbedded } from "../embedded-server.ts";
import { startCollector, type CollectedSpan, type Collector } from "./collector.ts";

const TRACE = "0af7651916cd43dd8448eb211c80319c";
const CLIENT_SPAN = "b7ad6b7169203331";
/** As stock cf sends them: it leaves open whether the trace is kept. */
const B3 = { "x-b3-traceid": TRACE, "x-b3-spanid": CLIENT_SPAN };
const PLANTED = "planted-secret-7f3a";

describe("traces", () => {
  const data = mkdtempSync(join(tmpdir(), "cupola-traces-"));
  let collector: Collector;
  let kube: Awaited<ReturnType<typeof startEmbedded>>;
  let admin: KubeClient;
  let platform: RunningPlatform;
  let lrp = { namespace: "", name: "" };

  beforeAll(async () => {
    collector = await startCollector();
    process.env["OTEL_EXPORTER_OTLP_ENDPOINT"] = collector.url;
    process.env["OTEL_EXPORTER_OTLP_HEADERS"] = `authorization=${PLANTED}`;
    kube = await startEmbedded();
    admin = createClient({ server: kube.url, ca: kube.ca, auth: { kind: "token", token: kube.adminToken } });
    await installManifests(admin);
    await applyObjects(
      admin,
      (["builder", "runner", "router"] as const).map((role) =>
        systemObject(BackendClass, role, { role, default: true }),
      ),
    );
    platform = await startPlatform({
      access: { server: kube.url, ca: kube.ca, auth: { kind: "token", token: kube.adminToken } },
      operations: ["api", "controllers"],
      data,
      listen: { host: "127.0.0.1", port: 0 },
      traces: process.env,
      log: pino({ level: process.env["TEST_LOG"] ?? "silent" }),
      shutdown: { drainMs: 0 },
    });
    await admin.create(Org, { metadata: { name: "acme" }, spec: {} });
    await eventually(() => admin.create(Space, { metadata: { namespace: "acme", name: "dev" }, spec: {} }));
  }, 180_000);
  afterAll(async () => {
    await platform?.stop({ instances: "end" });
    await admin?.close();
    await kube?.stop();
    await collector?.close();
    rmSync(data, { recursive: true, force: true });
  });

  const call = async (
    method: string,
    path: string,
    { body, headers = {} }: { body?: object; headers?: Record<string, string> } = {},
  ): Promise<{ guid: string; state: string; resources: { guid: string }[]; droplet: { guid: string } }> => {
    const answer = await fetch(`${platform.url}${path}`, {
      method,
      headers: { authorization: `Bearer ${kube.adminToken}`, "content-type": "application/json", ...headers },
      ...(body && { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(30_000),
    });
    const text = await answer.text();
    expect(answer.status, text).toBeLessThan(300);
    return JSON.parse(text) as Awaited<ReturnType<typeof call>>;
  };
  const named = (name: string): CollectedSpan[] => collector.spans.filter((span) => span.name === name);

  test("a push is one tree, from its requests to the instance that is ready", { timeout: 180_000 }, async () => {
    await call("PATCH", "/v3/feature_flags/diego_docker", { body: { enabled: true } });
    const space = await eventually(async () => (await call("GET", "/v3/spaces")).resources[0] ?? expect.unreachable());
    // Until the space is ready, the answer says so.
    const app = await eventually(() =>
      call("POST", "/v3/apps", {
        body: {
          name: "shop",
          lifecycle: { type: "docker", data: {} },
          environment_variables: { PASSWORD: PLANTED },
          relationships: { space: { data: { guid: space.guid } } },
        },
        headers: B3,
      }),
    );
    const relationships = { app: { data: { guid: app.guid } } };
    const pkg = await call("POST", "/v3/packages", {
      body: { type: "docker", relationships, data: { image: "registry.example.org/shop:1" } },
      headers: B3,
    });
    const build = await call("POST", "/v3/builds", { body: { package: { guid: pkg.guid } }, headers: B3 });
    const droplet = await eventually(async () => {
      const { state, droplet: made } = await call("GET", `/v3/builds/${build.guid}`);
      return state === "STAGED" ? made : expect.unreachable(state);
    });
    await call("PATCH", `/v3/apps/${app.guid}/relationships/current_droplet`, {
      body: { data: { guid: droplet.guid } },
      headers: B3,
    });
    await call("POST", `/v3/apps/${app.guid}/actions/start`, { headers: B3 });
    const made = await eventually(async () => (await admin.list(LRP)).items[0] ?? expect.unreachable("no LRP yet"));
    lrp = { namespace: made.metadata.namespace ?? "", name: made.metadata.name };
    const instances = [{ index: 0, state: "Running", ready: true, since: new Date().toISOString() }];
    await eventually(async () =>
      admin.updateStatus(LRP, { ...(await admin.get(LRP, lrp)), status: { runningInstances: 1, instances } }),
    );

    await eventually(() => {
      const [instance] = named("instance ready");
      const [start] = named("start LRP");
      const [request] = named("POST /v3/apps/:guid/actions/start");
      expect([instance?.parentSpanId, start?.parentSpanId, request?.parentSpanId]).toEqual([
        start?.spanId,
        request?.spanId,
        CLIENT_SPAN,
      ]);
      const [staging] = named("POST /v3/builds");
      expect(named("reconcile Build").map(({ parentSpanId }) => parentSpanId)).toContain(staging?.spanId);
      expect(named("reconcile App").map(({ parentSpanId }) => parentSpanId)).toContain(request?.spanId);
      const ofPush = collector.spans.filter(({ traceId }) => traceId === TRACE);
      const ids = new Set([CLIENT_SPAN, ...ofPush.map(({ spanId }) => spanId)]);
      expect(ofPush.filter(({ parentSpanId = "" }) => !ids.has(parentSpanId))).toEqual([]);
      expect(ofPush.map(({ name }) => name)).toContain("kube-apiserver POST");
    });
  });

  test("a client's refusal is kept, and a malformed header begins a trace of its own", async () => {
    const [other, span] = ["1".repeat(32), "2".repeat(16)];
    await call("GET", "/v3/apps", { headers: { traceparent: `00-${other}-${span}-00` } });
    await call("GET", "/v3/buildpacks", { headers: { traceparent: `00-${other}-${span}-01-more` } });
    await eventually(() => expect(named("GET /v3/buildpacks")).toHaveLength(1));
    expect(named("GET /v3/buildpacks")[0]).not.toHaveProperty("parentSpanId");
    expect(collector.spans.filter(({ traceId }) => traceId === other)).toEqual([]);
  });

  test("an object keeps the trace of its creation", async () => {
    const before = await admin.get(LRP, lrp);
    expect(before.metadata.annotations?.[ANNOTATIONS.traceparent]).toMatch(new RegExp(`^00-${TRACE}-`));
    const app = (await call("GET", "/v3/apps")).resources[0] ?? expect.unreachable();
    await call("POST", `/v3/apps/${app.guid}/processes/web/actions/scale`, { body: { instances: 2 } });
    await eventually(async () => expect((await admin.get(LRP, lrp)).spec.instances).toBe(2));
    const after = await admin.get(LRP, lrp);
    expect(after.metadata.annotations).toEqual(before.metadata.annotations);
  });

  test("no span has a secret", () => {
    const sent = collector.bodies.join("\n");
    expect([sent.includes(kube.adminToken), sent.includes(PLANTED)]).toEqual([false, false]);
  });
});
