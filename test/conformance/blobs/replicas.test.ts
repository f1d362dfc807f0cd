// Replicas with one registry and disks of their own: what is uploaded to one is staged and run by another, after the first one's disk is gone.
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { readdir, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import type { Readable } from "node:stream";
import { pino } from "pino";
import { FormData, request } from "undici";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ZipFile } from "yazl";
import { PLATFORM_GROUP } from "../../../crds/platform-role.ts";
import { createClient } from "../../../kube/client/create-client.ts";
import type { KubeClient } from "../../../kube/client/client.ts";
import { LOCAL_DOMAIN, seedObjects } from "../../../local/seed.ts";
import { applyObjects, installManifests } from "../../../platform/install.ts";
import type { Operation } from "../../../platform/operations/operations.ts";
import { startPlatform, type RunningPlatform } from "../../../platform/platform.ts";
import { toRegistrySettings } from "../../../platform/registry-options.ts";
import { whyNoControlPlane } from "../../cluster/binaries.ts";
import { startControlPlane, type ControlPlane } from "../../cluster/control-plane.ts";
import { startRegistry, whyNoRegistry, type TestRegistry } from "../../cluster/registry.ts";
import { apiAt, errorsOf, type Api, type Named, type Page } from "../../e2e/support/api.ts";
import { eventually } from "../../eventually.ts";

const reason = whyNoControlPlane() ?? whyNoRegistry();
const SERVER = `require("http").createServer((_, answer) => answer.end("hello")).listen(process.env.PORT, process.env.HOST);`;
const DEADLINE_MS = 60_000;

describe.skipIf(reason)("replicas with one registry", () => {
  const home = mkdtempSync(join(tmpdir(), "cupola-replicas-"));
  const running = new Map<string, RunningPlatform>();
  let plane: ControlPlane;
  let admin: KubeClient;
  let registry: TestRegistry;
  beforeAll(async () => {
    [plane, registry] = await Promise.all([
      startControlPlane({ users: [{ token: "platform-token", user: "cupola", groups: [PLATFORM_GROUP] }] }),
      startRegistry(),
    ]);
    await writeFile(join(home, "registry.json"), registry.dockerConfig);
    admin = createClient({ server: plane.url, ca: plane.ca, auth: { kind: "token", token: plane.adminToken } });
    await installManifests(admin);
    await applyObjects(admin, seedObjects());
  }, 600_000);
  afterAll(async () => {
    await Promise.all([...running.keys()].map((name) => stop(name)));
    await admin?.close();
    await registry?.stop();
    await plane?.stop();
    rmSync(home, { recursive: true, force: true, maxRetries: 5 });
  }, 60_000);

  async function start(name: string, operations: Operation[]): Promise<Api> {
    const platform = await startPlatform({
      access: { server: plane.url, ca: plane.ca, auth: { kind: "token", token: "platform-token" } },
      operations,
      data: join(home, name),
      registry: toRegistrySettings({
        registry: `${registry.host}/cupola`,
        registryCredentials: join(home, "registry.json"),
        insecureRegistry: [],
      })!,
      listen: { host: "127.0.0.1", port: 0 },
      leaderIdentity: name,
      leaseSeconds: 3,
      log: pino({ level: process.env["TEST_LOG"] ?? "silent" }),
      shutdown: { drainMs: 0 },
    });
    running.set(name, platform);
    return apiAt(platform.url, plane.adminToken);
  }

  async function stop(name: string): Promise<void> {
    await running.get(name)?.stop({ instances: "end" });
    running.delete(name);
  }

  async function upload(name: string, guid: string): Promise<{ status: number; text: string }> {
    const zip = new ZipFile();
    zip.addBuffer(Buffer.from(SERVER), "server.js");
    zip.end();
    const form = new FormData();
    form.set("bits", new Blob([new Uint8Array(await buffer(zip.outputStream as Readable))]), "bits.zip");
    const { statusCode, body } = await request(`${running.get(name)?.url}/v3/packages/${guid}/upload`, {
      method: "POST",
      headers: { authorization: `bearer ${plane.adminToken}` },
      body: form,
    });
    return { status: statusCode, text: await body.text() };
  }

  test("uploaded on A, staged on B after A's disk is gone, run on C after B's is gone, too", async () => {
    const onA = await start("a", ["api", "controllers"]);
    const org = await onA.call("POST", "/v3/organizations", { name: "acme" });
    const made = await onA.call("POST", "/v3/spaces", {
      name: "dev",
      relationships: { organization: { data: { guid: org.guid } } },
    });
    const space = { data: { guid: made.guid } };
    const app = await onA.call("POST", "/v3/apps", { name: "shop", relationships: { space } });
    const relationships = { app: { data: { guid: app.guid } } };
    const bits = await onA.call("POST", "/v3/packages", { type: "bits", relationships });
    expect((await upload("a", bits.guid)).status).toBe(200);
    await eventually(async () =>
      expect(await onA.call("GET", `/v3/packages/${bits.guid}`)).toMatchObject({ state: "READY" }),
    );
    expect(await readdir(join(home, "a")).catch(() => [])).not.toContain("blobs");
    await stop("a");
    rmSync(join(home, "a"), { recursive: true, force: true });

    const everything: Operation[] = ["api", "controllers", "host-builder", "process-runner", "local-router"];
    const onB = await start("b", everything);
    const build = await onB.call("POST", "/v3/builds", { package: { guid: bits.guid } });
    const staged = await eventually(async () => {
      const found = await onB.call<{ state: string; error: string; droplet: Named }>("GET", `/v3/builds/${build.guid}`);
      expect(found).toMatchObject({ state: "STAGED", error: null });
      return found;
    }, DEADLINE_MS);
    await stop("b");
    rmSync(join(home, "b"), { recursive: true, force: true });

    // A host droplet runs at the path that it was built at.
    const onC = await start("b", everything);
    expect(existsSync(join(home, "b", "droplets"))).toBe(false);
    const domains = await onC.call<Page<Named>>("GET", `/v3/domains?names=${LOCAL_DOMAIN}`);
    const domain = { data: { guid: domains.resources[0]?.guid } };
    const route = await onC.call("POST", "/v3/routes", { host: "shop", relationships: { space, domain } });
    await onC.call("POST", `/v3/routes/${route.guid}/destinations`, { destinations: [{ app: { guid: app.guid } }] });
    await onC.call("PATCH", `/v3/apps/${app.guid}/relationships/current_droplet`, {
      data: { guid: staged.droplet.guid },
    });
    await onC.call("POST", `/v3/apps/${app.guid}/actions/start`);
    await eventually(async () => {
      const answer = await request(running.get("b")?.url ?? "", { headers: { host: `shop.${LOCAL_DOMAIN}` } });
      expect([answer.statusCode, await answer.body.text()]).toEqual([200, "hello"]);
    }, DEADLINE_MS);
  }, 240_000);

  test("a registry that is away is a 503 in CF's shape; the process stays ready, says so, and goes on when it is back", async () => {
    const api = apiAt(running.get("b")?.url ?? "", plane.adminToken);
    const [app] = (await api.call<Page<Named>>("GET", "/v3/apps")).resources;
    const relationships = { app: { data: { guid: app?.guid } } };
    const made = await api.call("POST", "/v3/packages", { type: "bits", relationships });
    await registry.kill();
    const refused = await upload("b", made.guid);
    expect(refused.status).toBe(503);
    expect(errorsOf({ ...refused, headers: {} })).toEqual([
      {
        code: 10015,
        title: "CF-ServiceUnavailable",
        detail: "The store of packages and droplets does not answer. Try again.",
      },
    ]);
    await eventually(() => {
      const { ready, degraded } = running.get("b")!.health();
      expect(ready).toBe(true);
      expect(degraded).toEqual([
        {
          name: "registry",
          reason: expect.stringMatching(/cannot be reached: ECONNREFUSED: uploads, builds and downloads fail/),
        },
      ]);
    }, 30_000);
    expect((await api.send("GET", "/v3/apps")).status).toBe(200);
    await registry.restart();
    expect((await upload("b", made.guid)).status).toBe(200);
    await eventually(() => expect(running.get("b")!.health()).toMatchObject({ ready: true, degraded: [] }), 30_000);
  }, 120_000);
});

if (reason) test.skip(`replicas with one registry: skipped, ${reason}`, () => undefined);
