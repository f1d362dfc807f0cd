// Prometheus reads a process of the platform: who may, and the series of real requests, controllers and watches.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pino } from "pino";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { SYSTEM_NAMESPACE } from "../../../crds/groups.ts";
import { LABELS } from "../../../crds/labels.ts";
import { LRP } from "../../../crds/lrp/lrp.ts";
import { Org } from "../../../crds/org/org.ts";
import { ClusterRole, ClusterRoleBinding, Namespace } from "../../../kube/api/builtin.ts";
import { createClient } from "../../../kube/client/create-client.ts";
import type { KubeClient } from "../../../kube/client/client.ts";
import { installManifests } from "../../../platform/install.ts";
import { METRICS } from "../../../platform/metrics/definitions.ts";
import { startPlatform, type RunningPlatform } from "../../../platform/platform.ts";
import { freePort } from "../../cluster/free-port.ts";
import { eventually } from "../../eventually.ts";
import { startEmbedded } from "../embedded-server.ts";

const SCRAPER = "scraper-token";
const STRANGER = "stranger-token";

describe("metrics of a process", () => {
  const data = mkdtempSync(join(tmpdir(), "cupola-metrics-"));
  let kube: Awaited<ReturnType<typeof startEmbedded>>;
  let admin: KubeClient;
  let platform: RunningPlatform;
  let url = "";

  beforeAll(async () => {
    kube = await startEmbedded({
      users: [
        { token: SCRAPER, user: "prometheus" },
        { token: STRANGER, user: "stranger" },
      ],
    });
    admin = createClient({ server: kube.url, ca: kube.ca, auth: { kind: "token", token: kube.adminToken } });
    await admin.create(Namespace, { metadata: { name: SYSTEM_NAMESPACE } }).catch(() => undefined);
    await installManifests(admin);
    await allowScraper(admin);
    const port = await freePort();
    platform = await startPlatform({
      access: { server: kube.url, ca: kube.ca, auth: { kind: "token", token: kube.adminToken } },
      operations: ["api", "controllers"],
      data,
      listen: { host: "127.0.0.1", port: 0 },
      metrics: { host: "127.0.0.1", port },
      log: pino({ level: "silent" }),
      shutdown: { drainMs: 0 },
    });
    url = `http://127.0.0.1:${port}/metrics`;
  }, 120_000);
  afterAll(async () => {
    await platform?.stop({ instances: "end" });
    await admin?.close();
    await kube?.stop();
    rmSync(data, { recursive: true, force: true });
  });

  const ask = (token?: string, path = "", method = "GET"): Promise<Response> =>
    fetch(`${url}${path}`, {
      method,
      headers: token === undefined ? {} : { authorization: `Bearer ${token}` },
      signal: AbortSignal.timeout(10_000),
    });
  const scrape = async (): Promise<string[]> => (await (await ask(SCRAPER)).text()).split("\n");

  const wantsToken = "Authorization: Bearer TOKEN";
  test.each([
    { who: "nobody", status: 401, words: wantsToken },
    { who: "a token that the cluster does not know", token: "made-up", status: 401, words: wantsToken },
    { who: "a user without the right", token: STRANGER, status: 403, words: "nonResourceURL /metrics" },
    { who: "a user with the right, at another path", token: SCRAPER, path: "/other", status: 404, words: "/metrics" },
    { who: "a user with the right", token: SCRAPER, status: 200, words: "cupola_build_info" },
  ])("$who", async ({ token, path, status, words }) => {
    const answer = await ask(token, path);
    expect([answer.status, await answer.text()]).toEqual([status, expect.stringContaining(words)]);
  });

  test("the header that an API server passes on to a pod takes the token, too", async () => {
    const authorize = (token: string): Promise<Response> =>
      fetch(url, { headers: { "x-metrics-authorization": `Bearer ${token}` }, signal: AbortSignal.timeout(10_000) });
    const statuses = await Promise.all([SCRAPER, STRANGER].map(async (token) => (await authorize(token)).status));
    expect(statuses).toEqual([200, 403]);
  });

  test("a write is refused", async () => {
    const answer = await ask(SCRAPER, "", "POST");
    expect([answer.status, answer.headers.get("allow")]).toEqual([405, "GET, HEAD"]);
  });

  test("requests, controllers, watches, health and objects are counted", async () => {
    await admin.create(Org, { metadata: { name: "acme" }, spec: {} });
    await eventually(async () =>
      expect((await admin.get(Org, { name: "acme" }))["status"]).toMatchObject({
        conditions: [{ type: "Ready", status: "True" }],
      }),
    );
    const answers = await Promise.all(
      ["/v3/organizations", "/v3/organizations", "/v3/apps/none"].map((path) =>
        fetch(`${platform.url}${path}`, { headers: { authorization: `Bearer ${kube.adminToken}` } }),
      ),
    );
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 404]);
    await Promise.all(answers.map((answer) => answer.text()));
    await eventually(async () => {
      const lines = await scrape();
      for (const line of [
        'cupola_api_requests_total{method="GET",endpoint="/v3/organizations",code="200"} 2',
        'cupola_api_errors_total{key="ResourceNotFound"} 1',
        'cupola_objects{kind="Org",ready="True"} 1',
        'leader_election_master_status{name="leader-controllers"} 1',
        "cupola_ready 1",
      ])
        expect(lines).toContain(line);
      const of = (start: string): string[] => lines.filter((line) => line.startsWith(start));
      expect(of('controller_runtime_reconcile_total{controller="org",result="success"} ')).toHaveLength(1);
      expect(of('workqueue_queue_duration_seconds_count{name="org",controller="org"} ')).toHaveLength(1);
      expect(of('rest_client_requests_total{code="200",method="GET"} ')).toHaveLength(1);
      expect(of('cupola_watches{resource="orgs.cupola.dev",state="watching",reason="none"} ')).toHaveLength(1);
      expect(of("nodejs_eventloop_lag_seconds ")).toHaveLength(1);
    });
  });

  test("a start and a crash are counted by the leader", async () => {
    const made = await makeLRP(admin);
    const show = async (status: object): Promise<unknown> =>
      admin.updateStatus(LRP, { ...(await admin.get(LRP, made)), status });
    await show({ runningInstances: 1, instances: [{ index: 0, state: "Running", ready: true }] });
    await eventually(async () =>
      expect(await scrape()).toContain('cupola_app_start_seconds_count{runner="process"} 1'),
    );
    await show({ runningInstances: 0, instances: [{ index: 0, state: "Crashed", ready: false, crashCount: 1 }] });
    await eventually(async () => expect(await scrape()).toContain('cupola_instance_crashes_total{runner="process"} 1'));
  });

  test("each series has a definition, and their number has a bound", async () => {
    const lines = (await scrape()).filter((line) => line !== "" && !line.startsWith("#"));
    const known = new Set(METRICS.map(({ name }) => name));
    const strange = lines
      .map((line) => line.replace(/[{ ].*/, ""))
      .filter((name) => !/^(?:process|nodejs)_/.test(name) && !known.has(name.replace(/_(?:bucket|sum|count)$/, "")));
    expect(new Set(strange)).toEqual(new Set());
    expect(lines.length).toBeLessThan(5_000);
  });
});

/** An LRP of a class that no process here runs, so that the test alone writes its status. */
async function makeLRP(admin: KubeClient): Promise<{ namespace: string; name: string }> {
  const key = { namespace: "acme-metrics", name: "shop" };
  await admin.create(Namespace, { metadata: { name: key.namespace, labels: { [LABELS.namespaceKind]: "space" } } });
  const identity = { guid: "guid", name: "name" };
  await admin.create(LRP, {
    metadata: key,
    spec: {
      class: "process",
      rendering: "1",
      ...{ app: identity, space: identity, org: identity },
      ...{ processGUID: "p", processType: "web", revision: "1", version: "1" },
      droplet: { guid: "droplet", kind: "docker", image: "registry.example.org/shop:1" },
      ...{ ports: [], instances: 1, memoryMB: 64, diskMB: 64 },
      healthCheck: { type: "process" },
      readinessHealthCheck: { type: "process" },
    },
  });
  return key;
}

async function allowScraper(admin: KubeClient): Promise<void> {
  const metadata = { name: "cupola-metrics-reader" };
  const apiGroup = "rbac.authorization.k8s.io";
  await admin.create(ClusterRole, { metadata, rules: [{ nonResourceURLs: ["/metrics"], verbs: ["get"] }] });
  await admin.create(ClusterRoleBinding, {
    metadata,
    roleRef: { apiGroup, kind: "ClusterRole", ...metadata },
    subjects: [{ apiGroup, kind: "User", name: "prometheus" }],
  });
}
