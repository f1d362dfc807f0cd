// A hub and a spoke that it cannot call, on two real kube-apiservers: the command that adds it, the chart with its values, an app there, and the deletion of its Cluster.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pino } from "pino";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { stringify } from "yaml";
import { addPullCluster } from "../../../cli/cluster/add-pull.ts";
import { forget } from "../../../cli/cluster/drain.ts";
import { silentProgress } from "../../../cli/output.ts";
import { Cluster } from "../../../crds/cluster/cluster.ts";
import { SYSTEM_NAMESPACE } from "../../../crds/groups.ts";
import { HUB_TOKEN_SECRET } from "../../../crds/hub-account.ts";
import { IsolationSegment } from "../../../crds/isolation-segment/isolation-segment.ts";
import { LABELS } from "../../../crds/labels.ts";
import { LRP } from "../../../crds/lrp/lrp.ts";
import { RouteBinding } from "../../../crds/route-binding/route-binding.ts";
import { AGENT_ACCOUNT, clusterNamespace } from "../../../crds/work/names.ts";
import { Work } from "../../../crds/work/work.ts";
import { Deployment, Namespace, Secret, ServiceAccount } from "../../../kube/api/builtin.ts";
import type { KubeClient, RequestRecord } from "../../../kube/client/client.ts";
import { createClient } from "../../../kube/client/create-client.ts";
import type { Operation } from "../../../platform/operations/operations.ts";
import { startPlatform, type RunningPlatform } from "../../../platform/platform.ts";
import type { PlatformOptions } from "../../../platform/platform-options.ts";
import { whyNoBinaries, whyNoControlPlane } from "../../cluster/binaries.ts";
import { startControlPlane, type ControlPlane } from "../../cluster/control-plane.ts";
import { apiAt, type Api as CFApi, type Named } from "../../e2e/support/api.ts";
import { conditionOf } from "../../clusters/world.ts";
import { eventually } from "../../eventually.ts";
import {
  installClasses,
  installHub,
  makeApp,
  makeSpace,
  mapRoute,
  runHelm,
  tokenOfAccount,
  untilServed,
} from "./real-clusters.ts";
import { tellFacts } from "./spoke-facts.ts";

const reason = whyNoControlPlane() ?? whyNoBinaries(["helm"]);
if (reason) console.log(`a spoke in mode pull: skipped, ${reason}`);

const log = pino({ level: process.env["TEST_LOG"] ?? "silent" });
const OWN = "acme-dev";
const WEST = clusterNamespace("west");

describe.skipIf(reason)("a spoke that its hub cannot call", () => {
  const home = mkdtempSync(join(tmpdir(), "cupola-pull-spoke-"));
  const ends: (() => Promise<unknown>)[] = [];
  /** Requests that the hub refused to its own platform among the objects of the cluster. */
  const refused: string[] = [];
  let planes: { hub: ControlPlane; spoke: ControlPlane };
  let hub: KubeClient;
  let spoke: KubeClient;
  let cf: CFApi;
  let app: Named;

  const connect = ({ url: server, ca }: ControlPlane, token: string): KubeClient => {
    const client = createClient({ server, ca, auth: { kind: "token", token } });
    ends.push(() => client.close());
    return client;
  };

  beforeAll(async () => {
    const [onHub, onSpoke] = await Promise.all([startControlPlane(), startControlPlane()]);
    ends.push(() => Promise.all([onHub.stop(), onSpoke.stop()]));
    planes = { hub: onHub, spoke: onSpoke };
    [hub, spoke] = [connect(onHub, onHub.adminToken), connect(onSpoke, onSpoke.adminToken)];
    await installHub(hub);
    const platform = await start(onHub, ["api", "controllers", "policies"], "controllers");
    cf = apiAt(platform.url, onHub.adminToken);
  }, 300_000);
  afterAll(async () => {
    for (const end of ends.splice(0).reverse()) await end();
    rmSync(home, { recursive: true, force: true });
  }, 60_000);

  async function start(
    plane: ControlPlane,
    operations: Operation[],
    account: string,
    more: Pick<PlatformOptions, "hub"> = {},
  ): Promise<RunningPlatform> {
    const onRequest = ({ method, path, code }: RequestRecord): void => {
      if (code === 403 && path.includes(WEST)) refused.push(`${method} ${path.split("?")[0]}`);
    };
    const token = await tokenOfAccount(plane === planes.hub ? hub : spoke, account);
    const platform = await startPlatform({
      access: { server: plane.url, ca: plane.ca, auth: { kind: "token", token } },
      operations,
      data: join(home, account),
      listen: { host: "127.0.0.1", port: 0 },
      publicURL: "https://api.example.org",
      log: log.child({ plane: account }),
      onRequest,
      shutdown: { drainMs: 0 },
      ...more,
    });
    ends.push(() => platform.stop({ instances: "end" }));
    return platform;
  }

  /** The values that the command prints, with those that every cluster needs. */
  async function installSpoke(values: Record<string, string>): Promise<void> {
    const file = join(home, "values.yaml");
    const pull = { username: "reader", password: "secret" };
    const registry = { prefix: "registry.example.org/apps", pull };
    writeFileSync(file, stringify({ image: { repository: "registry.example.org/cupola" }, registry }));
    const sets = Object.entries(values).flatMap(([key, value]) => ["--set", `${key}=${value}`]);
    const { kubeconfig } = planes.spoke;
    const { code, output } = await runHelm(
      { kubeconfig, home },
      "install",
      ...["-f", file, "--create-namespace", ...sets],
    );
    expect(code, output.slice(-3000)).toBe(0);
    await installClasses(spoke);
  }

  async function readSecret(name: string, key: string): Promise<string> {
    const { data } = await spoke.get(Secret, { namespace: SYSTEM_NAMESPACE, name });
    const value = data?.[key];
    if (value === undefined) throw new Error(`Secret ${name} has no ${key} yet`);
    return Buffer.from(value, "base64").toString();
  }

  const lrpsThere = async (): Promise<LRP[]> =>
    (await spoke.list(LRP, { namespace: OWN, labelSelector: LABELS.hub })).items;
  const worksOf = async (kind: string): Promise<Work[]> =>
    (await hub.list(Work, { namespace: WEST })).items.filter(({ spec }) => spec.kind === kind);
  const secretsThere = async (): Promise<string[]> =>
    (await spoke.list(Secret, { namespace: OWN })).items.map(({ metadata }) => metadata.name).toSorted();

  test("is added by one command and its chart, and tells its versions, its classes and its free memory", async () => {
    const { json } = await addPullCluster(hub, "west", { labels: "tier=prod", progress: silentProgress });
    await installSpoke((json as { values: Record<string, string> }).values);
    const join = await readSecret("cupola-agent-join", "token");
    const ca = await readSecret("cupola-agent-join", "ca.crt");
    const account = await eventually(() => readSecret(HUB_TOKEN_SECRET, "token"));
    await tellFacts(connect(planes.spoke, await tokenOfAccount(spoke, "agent")), spoke);
    await start(planes.spoke, ["agent", "deployment-runner", "ingress-router"], "agent", {
      hub: { server: planes.hub.url, ca, cluster: "west", readToken: () => join, readAccountToken: () => account },
    });
    await eventually(
      async () => expect(await conditionOf(hub, "west", "Reachable")).toMatchObject({ status: "True" }),
      90_000,
    );
    await eventually(async () =>
      expect((await hub.get(Cluster, { namespace: SYSTEM_NAMESPACE, name: "west" })).status).toMatchObject({
        versions: { kubernetes: expect.stringMatching(/^v1/) as string },
        capacity: { memoryMB: 8192 },
        classes: expect.arrayContaining([expect.objectContaining({ role: "runner", name: "deployment" })]) as unknown,
      }),
    );
  }, 240_000);

  test("runs an app of a segment that chooses it, with its variables, and the hub runs none of it", async () => {
    const space = await makeSpace(cf);
    const spec = { placement: { clusters: { matchLabels: { tier: "prod" } } } };
    await hub.patch(
      IsolationSegment,
      { namespace: SYSTEM_NAMESPACE, name: "shared" },
      { type: "merge", body: { spec } },
    );
    app = await makeApp(cf, space);
    await cf.call("POST", `/v3/apps/${app.guid}/actions/start`);
    await eventually(async () => expect(await lrpsThere()).toHaveLength(1), 60_000);
    await eventually(async () => expect((await spoke.list(Deployment, { namespace: OWN })).items).toHaveLength(1));
    expect((await hub.list(LRP, { namespace: OWN })).items).toEqual([]);
    await eventually(async () =>
      expect(await secretsThere()).toEqual(["cupola-registry", expect.stringMatching(/^shop-env-/)]),
    );
    // The status comes back by the Work.
    await eventually(async () => expect((await worksOf("LRP"))[0]?.status?.lrp).toBeDefined());
  }, 150_000);

  test("serves the app's routes, and loses them", async () => {
    const route = await mapRoute(cf, app);
    await untilServed(spoke, OWN);
    await cf.call("DELETE", `/v3/routes/${route.guid}`);
    await eventually(async () => expect((await spoke.list(RouteBinding, { namespace: OWN })).items).toEqual([]));
    await eventually(async () => expect(await worksOf(RouteBinding.kind)).toEqual([]));
  }, 120_000);

  test("takes a restart with new variables, a stop and a start", async () => {
    const before = await secretsThere();
    await cf.call("PATCH", `/v3/apps/${app.guid}/environment_variables`, { var: { COLOUR: "red" } });
    await cf.call("POST", `/v3/apps/${app.guid}/actions/restart`);
    await eventually(async () => expect((await lrpsThere()).map(({ spec }) => spec.revision)).toEqual(["2"]));
    expect((await secretsThere()).length).toBe(before.length + 1);
    await cf.call("POST", `/v3/apps/${app.guid}/actions/stop`);
    await eventually(async () => expect(await lrpsThere()).toEqual([]));
    await eventually(async () => expect(await worksOf("LRP")).toEqual([]));
    await cf.call("POST", `/v3/apps/${app.guid}/actions/start`);
    await eventually(async () => expect(await lrpsThere()).toHaveLength(1));
  }, 120_000);

  test("works with the rights that the command gave: nothing was refused to the platform", () =>
    expect(refused).toEqual([]));

  test("whose Cluster kubectl deletes has no account on the hub any more, and its app runs on", async () => {
    const key = { namespace: SYSTEM_NAMESPACE, name: "west" };
    await hub.delete(Cluster, key);
    const account = { namespace: WEST, name: AGENT_ACCOUNT };
    await eventually(async () => expect(await hub.find(ServiceAccount, account)).toBeUndefined());
    await cf.call("POST", `/v3/apps/${app.guid}/actions/stop`);
    await eventually(async () => expect(await hub.find(Cluster, key)).toBeUndefined());
    await expect(addPullCluster(hub, "west", { progress: silentProgress })).rejects.toThrow(WEST);
    await forget(hub, "west", { force: true });
    await eventually(async () => expect(await hub.find(Namespace, { name: WEST })).toBeUndefined(), 60_000);
    expect(await lrpsThere()).toHaveLength(1);
    expect(refused).toEqual([]);
  }, 150_000);
});
