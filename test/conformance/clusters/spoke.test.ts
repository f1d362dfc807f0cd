// A hub and a spoke on two real kube-apiservers: the chart's mode spoke, `cup clusters add`, an app whose instances run there, and a stolen credential of the hub.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { networkInterfaces, tmpdir } from "node:os";
import { join } from "node:path";
import { pino } from "pino";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { stringify } from "yaml";
import { addCluster } from "../../../cli/cluster/add.ts";
import { silentProgress } from "../../../cli/output.ts";
import { Cluster } from "../../../crds/cluster/cluster.ts";
import { SYSTEM_NAMESPACE } from "../../../crds/groups.ts";
import { IsolationSegment } from "../../../crds/isolation-segment/isolation-segment.ts";
import { LABELS } from "../../../crds/labels.ts";
import { HUB_TOKEN_SECRET, hubAccountObjects } from "../../../crds/hub-account.ts";
import { LRP } from "../../../crds/lrp/lrp.ts";
import { Process } from "../../../crds/process/process.ts";
import { RouteBinding } from "../../../crds/route-binding/route-binding.ts";
import { SPOKE_KINDS } from "../../../crds/spoke-manifests.ts";
import { Task } from "../../../crds/task/task.ts";
import { TaskRun } from "../../../crds/task-run/task-run.ts";
import { CustomResourceDefinition, Deployment, Namespace, RoleBinding, Secret } from "../../../kube/api/builtin.ts";
import type { KubeObject } from "../../../kube/api/object.ts";
import type { KubeClient, RequestRecord } from "../../../kube/client/client.ts";
import { createClient } from "../../../kube/client/create-client.ts";
import { issueCertificate, makeAuthority } from "../../../kube/server/pki.ts";
import type { Operation } from "../../../platform/operations/operations.ts";
import { startPlatform, type RunningPlatform } from "../../../platform/platform.ts";
import type { PlatformOptions } from "../../../platform/platform-options.ts";
import { whyNoBinaries, whyNoControlPlane } from "../../cluster/binaries.ts";
import { startControlPlane, type ControlPlane } from "../../cluster/control-plane.ts";
import { freePort } from "../../cluster/free-port.ts";
import { apiAt, type Api as CFApi, type Named } from "../../e2e/support/api.ts";
import { startLink, type Link } from "../../clusters/link.ts";
import { eventually } from "../../eventually.ts";
import { connect, type Api } from "../kubernetes/api.ts";
import type { Attempt } from "../permissions/attempt.ts";
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
import { cleanUpTests } from "./spoke-clean-up.ts";
import { tellFacts } from "./spoke-facts.ts";
import { leavingTests } from "./leaving.ts";
import { networkTests } from "./spoke-network.ts";
import { hubLRP, listHubAttacks, listHubDuties, listHubReads, type SpokePlaces } from "./hub-attempts.ts";
import { BUNDLES, bundleTests, makeBundleNamespace } from "./spoke-bundles.ts";
import { leadToProcess, pushLine } from "./spoke-logs.ts";

const reason = whyNoControlPlane() ?? whyNoBinaries(["helm"]);
if (reason) console.log(`a spoke: skipped, ${reason}`);

const log = pino({ level: process.env["TEST_LOG"] ?? "silent" });
const OWN = "acme-dev";
/** An API server's proxy calls no loopback address. */
const OUTSIDE = Object.values(networkInterfaces())
  .flatMap((all) => all ?? [])
  .find(({ family, internal }) => family === "IPv4" && !internal)?.address;

describe.skipIf(reason)("a spoke", () => {
  const home = mkdtempSync(join(tmpdir(), "cupola-spoke-"));
  const ends: (() => Promise<unknown>)[] = [];
  /** Requests that the spoke refused to the platform there. */
  const refused: string[] = [];
  let planes: { hub: ControlPlane; spoke: ControlPlane };
  /** From the hub to the spoke. */
  let link: Link;
  let hub: KubeClient;
  let spoke: KubeClient;
  let cf: CFApi;
  let app: Named;

  const admin = (plane: ControlPlane): KubeClient => {
    const client = createClient({ server: plane.url, ca: plane.ca, auth: { kind: "token", token: plane.adminToken } });
    ends.push(() => client.close());
    return client;
  };

  beforeAll(async () => {
    const [onHub, onSpoke] = await Promise.all([startControlPlane(), startControlPlane()]);
    ends.push(() => Promise.all([onHub.stop(), onSpoke.stop()]));
    planes = { hub: onHub, spoke: onSpoke };
    const { hostname: host, port } = new URL(onSpoke.url);
    link = await startLink({ host, port: Number(port) });
    ends.push(() => link.close());
    [hub, spoke] = [admin(onHub), admin(onSpoke)];
    await Promise.all([installHub(hub), installSpoke()]);
    const [platform] = await Promise.all([
      start(onHub, ["api", "controllers", "policies"], "controllers"),
      start(onSpoke, ["agent", "deployment-runner", "ingress-router"], "agent"),
      startLogs(),
    ]);
    cf = apiAt(platform.url, onHub.adminToken);
  }, 300_000);
  afterAll(async () => {
    for (const end of ends.splice(0).reverse()) await end();
    rmSync(home, { recursive: true, force: true });
  }, 60_000);

  async function installSpoke(): Promise<void> {
    const file = join(home, "values.yaml");
    const pull = { username: "reader", password: "secret" };
    const bundles = { namespaces: [BUNDLES] };
    const values = { mode: "spoke", image: { repository: "registry.example.org/cupola" }, hub: { bundles } };
    writeFileSync(file, stringify({ ...values, registry: { prefix: "registry.example.org/apps", pull } }));
    await makeBundleNamespace(spoke);
    const { code, output } = await helm("install", "-f", file, "--create-namespace");
    expect(code, output.slice(-3000)).toBe(0);
    await installClasses(spoke);
  }

  const helm = (verb: string, ...args: string[]): ReturnType<typeof runHelm> =>
    runHelm({ kubeconfig: planes.spoke.kubeconfig, home }, verb, ...args);

  /** The spoke's API server calls it as a pod of the chart's Service. */
  async function startLogs(): Promise<void> {
    if (!OUTSIDE) return;
    const port = await freePort();
    const pair = await issueCertificate(
      await makeAuthority("spoke"),
      { commonName: "spoke", ipAddresses: [OUTSIDE] },
      { usage: "server" },
    );
    await start(planes.spoke, ["logs", "hub-logs"], "logs", { host: OUTSIDE, port, tls: pair });
    await leadToProcess(spoke, { address: OUTSIDE, port });
  }

  const tokenOf = (plane: ControlPlane, account: string): Promise<string> =>
    tokenOfAccount(plane === planes.hub ? hub : spoke, account);

  /** As the agent's account. */
  async function connectAgent(): Promise<KubeClient> {
    const auth = { kind: "token", token: await tokenOf(planes.spoke, "agent") } as const;
    const client = createClient({ server: planes.spoke.url, ca: planes.spoke.ca, auth });
    ends.push(() => client.close());
    return client;
  }

  async function start(
    plane: ControlPlane,
    operations: Operation[],
    account: string,
    listen: PlatformOptions["listen"] = { host: "127.0.0.1", port: 0 },
  ): Promise<RunningPlatform> {
    const onRequest = ({ method, path: at, code }: RequestRecord): void => {
      if (code === 403 && account === "agent") refused.push(`${method} ${at.split("?")[0]}`);
    };
    const platform = await startPlatform({
      access: { server: plane.url, ca: plane.ca, auth: { kind: "token", token: await tokenOf(plane, account) } },
      operations,
      data: join(home, account),
      listen,
      publicURL: "https://api.example.org",
      log: log.child({ plane: account }),
      onRequest,
      shutdown: { drainMs: 0 },
    });
    ends.push(() => platform.stop({ instances: "end" }));
    return platform;
  }

  const lrpsThere = async (): Promise<LRP[]> =>
    (await spoke.list(LRP, { namespace: OWN, labelSelector: LABELS.hub })).items;

  test("has the kinds that it needs, and no others", async () => {
    const { items } = await spoke.list(CustomResourceDefinition);
    expect(items.map(({ metadata }) => metadata.name).toSorted()).toEqual(
      SPOKE_KINDS.map(({ plural, group }) => `${plural}.${group}`).toSorted(),
    );
  });

  test("refuses to become a whole platform", async () => {
    const file = join(home, "hub.yaml");
    const values = {
      image: { repository: "r" },
      api: { publicUrl: "https://a.example.org" },
      apps: { domain: "a.example.org" },
    };
    writeFileSync(file, stringify(values));
    const { code, output } = await helm("upgrade", "-f", file);
    expect([code === 0, output]).toEqual([false, expect.stringContaining("this cluster runs apps of another hub")]);
  });

  test("is added by one command, with its context, and tells its free memory and its versions", async () => {
    await tellFacts(await connectAgent(), spoke);
    const { json } = await addCluster(hub, "east", {
      kubeconfig: planes.spoke.kubeconfig,
      labels: "tier=prod",
      server: `https://127.0.0.1:${link.port}`,
      progress: silentProgress,
    });
    expect(json).toEqual({ name: "east", ready: true });
    const { metadata, status } = await hub.get(Cluster, { namespace: SYSTEM_NAMESPACE, name: "east" });
    expect(metadata.labels).toMatchObject({ tier: "prod" });
    expect(status?.classes).toContainEqual(expect.objectContaining({ role: "runner", name: "deployment" }));
    // The pods of the chart's Deployments have asked for some.
    expect(status?.capacity?.freePercent).toSatisfy((free: number) => free > 50 && free < 100);
    expect(status).toMatchObject({
      capacity: { memoryMB: 8192 },
      versions: { kubernetes: expect.stringMatching(/^v1/) as string, cupola: "1.6.0" },
    });
  }, 90_000);

  test("runs an app of a segment that chooses it: its LRP, its variables and nothing else come there", async () => {
    const space = await makeSpace(cf);
    await hub.patch(
      IsolationSegment,
      { namespace: SYSTEM_NAMESPACE, name: "shared" },
      { type: "merge", body: { spec: { placement: { clusters: { matchLabels: { tier: "prod" } } } } } },
    );
    app = await makeApp(cf, space);
    await cf.call("POST", `/v3/apps/${app.guid}/actions/start`);
    await eventually(async () => expect(await lrpsThere()).toHaveLength(1));
    await eventually(async () => expect((await spoke.list(Deployment, { namespace: OWN })).items).toHaveLength(1));
    expect((await hub.list(LRP, { namespace: OWN })).items).toEqual([]);
    await eventually(async () => {
      const secrets = (await spoke.list(Secret, { namespace: OWN })).items.map(({ metadata }) => metadata.name);
      expect(secrets.toSorted()).toEqual(["cupola-registry", expect.stringMatching(/^shop-env-/)]);
    });
  }, 90_000);

  test("isolates the app by the settings of its own operator", () => networkTests(spoke, OWN), 60_000);

  test("serves the app's routes, by a RouteBinding and an Ingress of its own", async () => {
    const route = await mapRoute(cf, app);
    await untilServed(spoke, OWN);
    await eventually(async () => {
      const [binding] = (await hub.list(RouteBinding, { namespace: OWN })).items;
      expect(binding?.status?.conditions).toContainEqual(
        expect.objectContaining({ type: "OnClusters", status: "True", message: "served on east, too" }),
      );
    });
    await cf.call("DELETE", `/v3/routes/${route.guid}`);
    await eventually(async () => expect((await spoke.list(RouteBinding, { namespace: OWN })).items).toEqual([]));
    await eventually(async () => expect((await hub.list(RouteBinding, { namespace: OWN })).items).toEqual([]));
  }, 90_000);

  test.skipIf(!OUTSIDE)("gives the lines of the app to the hub's API, through its API server", async () => {
    await pushLine(spoke, { source: app.guid, instance: "0", message: "hello from the spoke" });
    const read = (): Promise<{ envelopes: { batch: { instance_id: string; log: { payload: string } }[] } }> =>
      cf.call("GET", `/api/v1/read/${app.guid}`);
    await eventually(async () => {
      const { batch } = (await read()).envelopes;
      const lines = batch.map(({ instance_id, log: { payload } }) => [instance_id, atob(payload)]);
      expect(lines).toContainEqual(["0", "hello from the spoke"]);
    });
  });

  test("runs a task there, once: its state, its failure and its cancellation come and go", async () => {
    const path = `/v3/apps/${app.guid}/tasks`;
    const runs = async (): Promise<TaskRun[]> => (await spoke.list(TaskRun, { namespace: OWN })).items;
    const play = async (status: TaskRun["status"]): Promise<void> => {
      const [run] = await eventually(async () => {
        const found = await runs();
        expect(found).toHaveLength(1);
        return found;
      });
      if (run) await spoke.patch(TaskRun, run.metadata, { type: "merge", body: { status } }, { subresource: "status" });
    };
    const task = await cf.call("POST", path, { command: "migrate", name: "migrate" });
    const shown = (): Promise<{ state: string; result: { failure_reason: string | null } }> =>
      cf.call("GET", `/v3/tasks/${task.guid}`);
    await play({ state: "Running" });
    await eventually(async () => expect((await shown()).state).toBe("RUNNING"));
    expect((await hub.list(TaskRun, { namespace: OWN })).items).toEqual([]);
    await cf.call("POST", `/v3/tasks/${task.guid}/actions/cancel`);
    await eventually(async () => expect((await runs()).map(({ spec }) => spec.cancelled)).toEqual([true]));
    await play({ state: "Failed", details: "Exited with status 7" });
    await eventually(async () =>
      expect(await shown()).toMatchObject({
        state: "FAILED",
        result: { failure_reason: expect.stringContaining("status 7") as string },
      }),
    );
    const kept = (await hub.list(Task, { namespace: OWN })).items;
    expect(kept.map(({ status }) => status?.cluster)).toEqual(["east"]);
    for (const { metadata } of kept) await hub.delete(Task, metadata);
    await eventually(async () => expect(await runs()).toEqual([]));
    await eventually(async () => expect((await hub.list(Task, { namespace: OWN })).items).toEqual([]));
  }, 90_000);

  test("takes a restart with new variables, and gives all back when the app stops", async () => {
    await cf.call("PATCH", `/v3/apps/${app.guid}/environment_variables`, { var: { COLOUR: "red" } });
    await cf.call("POST", `/v3/apps/${app.guid}/actions/restart`);
    await eventually(async () => expect((await lrpsThere()).map(({ spec }) => spec.revision)).toEqual(["2"]));
    await cf.call("POST", `/v3/apps/${app.guid}/actions/stop`);
    await eventually(async () => expect(await lrpsThere()).toEqual([]));
    await cf.call("POST", `/v3/apps/${app.guid}/actions/start`);
    await eventually(async () => expect(await lrpsThere()).toHaveLength(1));
  }, 90_000);

  test("loses the Secrets that nothing uses any more, by its agent alone, and keeps its namespaces", async () => {
    await cleanUpTests(await connectAgent(), { spoke, own: OWN });
  }, 60_000);

  leavingTests(() => ({ hub, cf, app, link, namespace: OWN, lrpsThere }));

  bundleTests(() => ({ hub, spoke, cluster: "east" }));

  describe("a stolen credential of the hub", () => {
    let connection: ReturnType<typeof connect>;
    let thief: Api;
    let places: SpokePlaces;

    beforeAll(async () => {
      connection = connect(planes.spoke);
      const secret = await hub.get(Secret, { namespace: SYSTEM_NAMESPACE, name: "cluster-east" });
      thief = connection.api.as({ token: Buffer.from(secret.data?.["token"] ?? "", "base64").toString() });
      const [lrp] = await lrpsThere();
      const secrets = (await spoke.list(Secret, { namespace: OWN })).items.map(({ metadata }) => metadata.name);
      places = {
        hub: lrp?.metadata.labels?.[LABELS.hub] ?? "",
        own: OWN,
        others: "others",
        foreign: "team",
        lent: "lent",
        lrp: lrp?.metadata.name ?? "",
        secret: secrets.find((name) => name.startsWith("shop-env-")) ?? "",
      };
      const namespace = (name: string, labels: Record<string, string>) =>
        spoke.create(Namespace, { metadata: { name, labels } });
      await namespace("others", { [LABELS.hub]: "another", [LABELS.namespaceKind]: "space" });
      await namespace("team", {});
      await namespace("lent", { [LABELS.adoptableBy]: places.hub });
      await spoke.patch(Namespace, { name: OWN }, { type: "merge", body: { metadata: { labels: { team: "x" } } } });
      const somebodys = hubLRP("", { metadata: { name: "somebodys", labels: {} } }) as LRP;
      await spoke.create(LRP, { ...somebodys, metadata: { ...somebodys.metadata, namespace: OWN } });
      // The agent has bound the hub's role there.
      await eventually(async () =>
        expect((await spoke.list(RoleBinding, { namespace: "others" })).items.length).toBeGreaterThan(0),
      );
    });
    afterAll(() => connection?.close());

    /** Those with another answer than 403. */
    async function passing(attempts: readonly Attempt[]): Promise<string[]> {
      const answers = await Promise.all(attempts.map(async ({ what, send }) => ({ what, ...(await send(thief)) })));
      return answers
        .filter(({ status }) => status !== 403)
        .map(({ what, status, text }) => `${what}: ${status} ${text.slice(0, 200)}`);
    }

    test("does the hub's work", () =>
      eventually(async () => {
        const answers = await Promise.all(
          listHubDuties(places).map(async ({ what, send }) => ({ what, ...(await send(thief)) })),
        );
        expect(answers.filter(({ status }) => status >= 300).map(({ what, text }) => `${what}: ${text}`)).toEqual([]);
      }));

    test("reads no logs of the spoke without the other token", async () => {
      const path = `/api/v1/namespaces/${SYSTEM_NAMESPACE}/services/https:cupola-logs:https/proxy/telemetry/meta`;
      const { status, text } = await thief.get(path);
      expect(status, text).toBe(OUTSIDE ? 401 : 503);
    });

    test("reads no pod, no node, no Secret and nothing of others", async () =>
      expect(await passing(listHubReads(places))).toEqual([]));

    test("writes nothing outside of the hub's own contents", async () =>
      expect(await passing(listHubAttacks(places))).toEqual([]));
  });

  test("whose credential is not taken any more says so, and nothing of it is pruned; a new one brings it back", async () => {
    const reachable = async (): Promise<unknown> => {
      const { status } = await hub.get(Cluster, { namespace: SYSTEM_NAMESPACE, name: "east" });
      return status?.conditions?.find(({ type }) => type === "Reachable");
    };
    const before = await lrpsThere();
    await spoke.delete(Secret, { namespace: SYSTEM_NAMESPACE, name: HUB_TOKEN_SECRET });
    await eventually(
      async () => expect(await reachable()).toMatchObject({ status: "False", reason: "CredentialRefused" }),
      60_000,
    );
    await cf.call("POST", `/v3/apps/${app.guid}/actions/stop`);
    await eventually(async () =>
      expect((await hub.get(Process, { namespace: OWN, name: "shop.web" })).status?.conditions).toContainEqual(
        expect.objectContaining({ type: "Ready", reason: "Stopped" }),
      ),
    );
    expect((await lrpsThere()).map(({ metadata }) => metadata.uid)).toEqual(before.map(({ metadata }) => metadata.uid));
    const [token] = hubAccountObjects().filter(({ kind }) => kind === "Secret");
    await spoke.apply(Secret, token as KubeObject, { fieldManager: "person", force: true });
    await addCluster(hub, "east", { kubeconfig: planes.spoke.kubeconfig, progress: silentProgress });
    await eventually(async () => expect(await lrpsThere()).toEqual([]));
  }, 150_000);

  test("has refused nothing to the platform's own processes there, but in namespaces that were new", () =>
    expect(refused.filter((one) => !one.includes("/secrets"))).toEqual([]));
});
