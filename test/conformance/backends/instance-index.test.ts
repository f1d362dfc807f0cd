// The operation instance-index on a real control plane: the pods that kube-controller-manager makes get their indexes, and no other field may be written.
import { pino } from "pino";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  createInstanceIndex,
  INSTANCE_INDEX_WATCHES,
} from "../../../backends/runners/deployment/instance-index/instance-index.ts";
import { deploymentRunner } from "../../../backends/runners/deployment/deployment.ts";
import { LABELS } from "../../../crds/labels.ts";
import { DELETION_COST } from "../../../crds/lrp/index-gate.ts";
import { LRP } from "../../../crds/lrp/lrp.ts";
import { lrpSpec } from "../../../crds/testing/objects.ts";
import { PLATFORM_GROUP } from "../../../crds/platform-role.ts";
import { Event, Namespace, Pod } from "../../../kube/api/builtin.ts";
import type { ObjectOf, ResourceRef } from "../../../kube/api/resource-ref.ts";
import { createInformers } from "../../../kube/cache/informers.ts";
import type { KubeClient } from "../../../kube/client/client.ts";
import { createClient } from "../../../kube/client/create-client.ts";
import { runControllers } from "../../../kube/controller/run-controllers.ts";
import { runLeaderWork, type RunningLeaderWork } from "../../../kube/lease/leader-work.ts";
import { SYSTEM_NAMESPACE } from "../../../crds/groups.ts";
import { installManifests } from "../../../platform/install.ts";
import { leaseTiming } from "../../../platform/leases/replica-membership.ts";
import { CONTROLLER_SETTINGS } from "../../../platform/operations/controller-settings.ts";
import { whyNoControlPlane } from "../../cluster/binaries.ts";
import { startControlPlane, type ControlPlane } from "../../cluster/control-plane.ts";
import { eventually } from "../../eventually.ts";

type Pod = ObjectOf<typeof Pod>;

const reason = whyNoControlPlane();
if (reason) console.log(`instance indexes: skipped, ${reason}`);
const log = pino({ level: process.env["TEST_LOG"] ?? "silent" });
const namespace = "dev";
const guid = "00000000-0000-4000-8000-000000000000";

const ResourceQuota: ResourceRef = {
  group: "",
  version: "v1",
  kind: "ResourceQuota",
  plural: "resourcequotas",
  namespaced: true,
};

/** A replica of the operation. */
interface Replica {
  run: RunningLeaderWork;
  stop(): Promise<void>;
}

describe.skipIf(reason)("instance indexes", () => {
  let plane: ControlPlane;
  let admin: KubeClient;
  let platform: KubeClient;
  const replicas: Replica[] = [];
  let stopRunner: () => Promise<void>;

  const connect = (token: string): KubeClient =>
    createClient({ server: plane.url, ca: plane.ca, auth: { kind: "token", token }, fieldManager: "person" });

  beforeAll(async () => {
    plane = await startControlPlane({
      users: [{ token: "platform-token", user: "cupola", groups: [PLATFORM_GROUP] }],
      controllerManagerFlags: ["--kube-api-qps=500", "--kube-api-burst=500"],
    });
    admin = connect(plane.adminToken);
    platform = connect("platform-token");
    await installManifests(admin);
    await admin.create(Namespace, { metadata: { name: namespace, labels: { [LABELS.namespaceKind]: "space" } } });
    stopRunner = startRunner();
    replicas.push(startReplica("one"), startReplica("two"));
  });
  afterAll(async () => {
    await stopRunner?.();
    for (const replica of replicas) await replica.stop();
    await Promise.all([platform?.close(), admin?.close()]);
    await plane?.stop();
  });

  function startRunner(): () => Promise<void> {
    const abort = new AbortController();
    const informers = createInformers({ client: platform, log, freeze: true });
    const { stopped } = runControllers({
      client: platform,
      controllers: deploymentRunner(),
      informers,
      ownership: CONTROLLER_SETTINGS,
      signal: abort.signal,
      log,
    });
    return async () => {
      abort.abort();
      await stopped;
      await informers.close();
    };
  }

  function startReplica(identity: string): Replica {
    const abort = new AbortController();
    const informers = createInformers({ client: platform, log, freeze: true });
    const run = runLeaderWork({
      client: platform,
      informers,
      ownership: CONTROLLER_SETTINGS,
      namespace: SYSTEM_NAMESPACE,
      name: "leader-instance-index",
      identity,
      requiredKinds: [LRP],
      requiredWatches: INSTANCE_INDEX_WATCHES,
      timing: leaseTiming(5).leader,
      createWork: (_term, client) => createInstanceIndex(client),
      signal: abort.signal,
      log,
    });
    return {
      run,
      async stop() {
        abort.abort();
        await run.stopped;
        await informers.close();
      },
    };
  }

  async function makeLRP(name: string, instances: number): Promise<void> {
    const labels = { [LABELS.guid]: guid, [LABELS.app]: guid, [LABELS.processType]: "web" };
    const spec = lrpSpec({ instances });
    await admin.create(LRP, { metadata: { name, namespace, labels }, spec });
  }
  const scale = (name: string, instances: number): Promise<unknown> =>
    admin.patch(LRP, { namespace, name }, { type: "merge", body: { spec: { instances } } });

  const listPods = async (lrp: string): Promise<Pod[]> =>
    (await admin.list(Pod, { namespace, labelSelector: `${LABELS.lrp}=${lrp}` })).items;
  const indexOf = (pod: Pod): number => Number(pod.metadata.labels?.[LABELS.instanceIndex] ?? -1);
  const upTo = (instances: number): number[] => Array.from({ length: instances }, (_, index) => index);

  /** Every pod has its index, its cost and an open gate. */
  async function untilOpen(lrp: string, indexes: number[]): Promise<Pod[]> {
    return eventually(async () => {
      const pods = (await listPods(lrp)).toSorted((a, b) => indexOf(a) - indexOf(b));
      expect(pods.map(indexOf)).toEqual(indexes);
      expect(pods.map(({ metadata }) => metadata.annotations?.[DELETION_COST])).toEqual(
        indexes.map((index) => String(-index)),
      );
      expect(pods.flatMap(({ spec }) => spec?.schedulingGates ?? [])).toEqual([]);
      return pods;
    });
  }

  /** Plays the kubelet. */
  const setReady = (pod: Pod | undefined, ready: boolean): Promise<unknown> =>
    admin.patch(
      Pod,
      { namespace, name: pod?.metadata.name ?? "" },
      { type: "strategic", body: { status: { conditions: [{ type: "Ready", status: ready ? "True" : "False" }] } } },
      { subresource: "status" },
    );

  const setStatus = (pod: Pod | undefined, status: object): Promise<unknown> =>
    admin.patch(
      Pod,
      { namespace, name: pod?.metadata.name ?? "" },
      { type: "merge", body: { status } },
      { subresource: "status" },
    );

  test("each pod gets the lowest free index, and scaling keeps the lowest", async () => {
    await makeLRP("shop", 3);
    await untilOpen("shop", upTo(3));
    await scale("shop", 5);
    await untilOpen("shop", upTo(5));
    await scale("shop", 2);
    await untilOpen("shop", upTo(2));
  });

  test("after a scale-down that took the unready instance 0 the indexes are 0 to N - 1 again", async () => {
    await makeLRP("kiosk", 3);
    const [, one, two] = await untilOpen("kiosk", upTo(3));
    await setReady(one, true);
    await setReady(two, true);
    await scale("kiosk", 2);
    const [zero] = await untilOpen("kiosk", upTo(2));
    expect(zero?.metadata.creationTimestamp).not.toBe("");
    expect((await listPods("kiosk")).map(({ metadata }) => metadata.name)).toContain(one?.metadata.name);
  });

  test("a pod that is deleted is followed by one with its index", async () => {
    const [first] = await listPods("shop");
    await admin.delete(Pod, first?.metadata ?? { name: "" });
    await eventually(async () =>
      expect((await listPods("shop")).map(({ metadata }) => metadata.name)).not.toContain(first?.metadata.name),
    );
    await untilOpen("shop", upTo(2));
  });

  test("two hundred pods at once get two hundred indexes, and the time that took is printed", async () => {
    const watching = measureDelays(admin, `${LABELS.lrp}=crowd`);
    await makeLRP("crowd", 200);
    await untilOpen("crowd", upTo(200));
    const delays = await watching.stop();
    console.log(`200 gates: median ${at(delays, 0.5)} ms, 99th of 100 ${at(delays, 0.99)} ms`);
  }, 60_000);

  test("the LRP's status says what its pods say", async () => {
    const status = async () => (await admin.get(LRP, { namespace, name: "shop" })).status;
    const [zero, one] = await untilOpen("shop", upTo(2));
    const container = { name: "application", image: "x", imageID: "", ready: true, restartCount: 0 };
    const running = { ...container, started: true, state: { running: { startedAt: "2026-01-01T00:00:00Z" } } };
    const waiting = { reason: "ErrImagePull", message: "example.com/x:1: not found" };
    await setStatus(zero, { podIP: "10.0.0.1", containerStatuses: [running] });
    await setReady(zero, true);
    await setStatus(one, { containerStatuses: [{ ...container, ready: false, state: { waiting } }] });
    await eventually(async () =>
      expect(await status()).toMatchObject({
        runningInstances: 1,
        instances: [
          { index: 0, state: "Running", ready: true, host: "10.0.0.1", guid: zero?.metadata.uid },
          { index: 1, state: "Crashed", ready: false, details: expect.stringContaining("not found") as string },
        ],
        conditions: [expect.objectContaining({ type: "Ready", status: "False", reason: "Crashed" })],
      }),
    );
  });

  test("a restart of one instance replaces its pod, once", async () => {
    const [, one] = await untilOpen("shop", upTo(2));
    await admin.patch(
      LRP,
      { namespace, name: "shop" },
      { type: "merge", body: { spec: { restartInstances: { "1": "again" } } } },
    );
    await eventually(async () => {
      const now = await untilOpen("shop", upTo(2));
      expect(now[1]?.metadata.uid).not.toBe(one?.metadata.uid);
      const { status } = await admin.get(LRP, { namespace, name: "shop" });
      expect(status?.instances?.[1]).toMatchObject({ restart: "again" });
    });
  });

  test("after a pod that filled its disk the next one waits, and the status says why", async () => {
    await makeLRP("writer", 2);
    const [zero] = await untilOpen("writer", upTo(2));
    const message = "Pod ephemeral local storage usage exceeds the total limit of containers 64Mi. ";
    await setStatus(zero, { phase: "Failed", reason: "Evicted", message });
    await eventually(async () => {
      const pods = (await listPods("writer")).filter(({ metadata }) => metadata.uid !== zero?.metadata.uid);
      expect(pods.map(indexOf).toSorted()).toEqual([-1, 1]);
      const { status } = await admin.get(LRP, { namespace, name: "writer" });
      const details = expect.stringMatching(/disk quota exceeded/) as string;
      expect(status?.instances?.[0]).toMatchObject({ state: "Crashed", details, crashCount: 1 });
      expect(status?.instances?.[1]).toMatchObject({ state: "Starting" });
    });
  });

  test("a quota that is used up is said of every instance", async () => {
    await admin.create(ResourceQuota, { metadata: { name: "few", namespace }, spec: { hard: { pods: "0" } } });
    await eventually(async () => {
      const quota = await admin.get(ResourceQuota, { namespace, name: "few" });
      expect(quota["status"]).toMatchObject({ hard: { pods: "0" } });
    });
    await makeLRP("stuck", 1);
    await eventually(async () =>
      expect((await admin.get(LRP, { namespace, name: "stuck" })).status?.instances).toEqual([
        {
          index: 0,
          state: "Down",
          ready: false,
          details: expect.stringMatching(
            /^The quota of the space's namespace is used up: few, requested: pods=1/,
          ) as string,
        },
      ]),
    );
    await admin.delete(ResourceQuota, { namespace, name: "few" });
  });

  test("when the leader stops the other replica gives the indexes", async () => {
    const leader = replicas.findIndex(({ run }) => run.isLeading());
    const [stopped] = replicas.splice(leader, 1);
    await stopped?.stop();
    await makeLRP("late", 2);
    await untilOpen("late", upTo(2));
  });

  test("with no replica left pods wait, running ones stay, and status, Event and condition say why", async () => {
    for (const replica of replicas.splice(0)) await replica.stop();
    const before = await listPods("late");
    await makeLRP("waiting", 1);
    const [pod] = await eventually(async () => {
      const { status } = await admin.get(LRP, { namespace, name: "waiting" });
      expect(status?.instances).toMatchObject([
        { state: "Down", details: expect.stringMatching(/^No instance index .* instance-index/) as string },
      ]);
      expect(status?.conditions).toMatchObject([{ type: "Ready", status: "False", reason: "Down" }]);
      return listPods("waiting");
    });
    await eventually(async () => {
      const events = (await admin.list(Event, { namespace })).items;
      const about = events.filter(({ involvedObject }) => involvedObject.uid === pod?.metadata.uid);
      expect(about.map(({ reason: why, type }) => [why, type])).toContainEqual(["WaitingForIndex", "Warning"]);
    });
    expect(await listPods("late")).toEqual(before);
    replicas.push(startReplica("three"));
    await untilOpen("waiting", upTo(1));
  }, 60_000);

  describe("of a pod the platform may not change", () => {
    const tryPatch = async (body: Record<string, unknown>): Promise<unknown> => {
      const [pod] = await listPods("shop");
      return platform.patch(Pod, pod?.metadata ?? { name: "" }, { type: "strategic", body }, { dryRun: true });
    };
    test.each<[string, Record<string, unknown>]>([
      ["another label", { metadata: { labels: { colour: "blue" } } }],
      ["another annotation", { metadata: { annotations: { colour: "blue" } } }],
      ["a label of the contract", { metadata: { labels: { [LABELS.app]: null } } }],
      ["the image", { spec: { containers: [{ name: "application", image: "example.com/evil" }] } }],
      ["the time it may run", { spec: { activeDeadlineSeconds: 1 } }],
      ["its finalizers", { metadata: { finalizers: ["example.com/x"] } }],
    ])("%s", async (_what, body) => {
      await eventually(() => expect(tryPatch(body)).rejects.toMatchObject({ code: 403 }));
    });

    test("but its index and cost", async () => {
      const metadata = { labels: { [LABELS.instanceIndex]: "7" }, annotations: { [DELETION_COST]: "-7" } };
      await expect(tryPatch({ metadata })).resolves.toBeDefined();
    });

    test("nor delete a pod that is no app's", async () => {
      await admin.create(Pod, {
        metadata: { name: "foreign", namespace },
        spec: { containers: [{ name: "a", image: "example.com/a" }] },
      });
      await expect(platform.delete(Pod, { namespace, name: "foreign" })).rejects.toMatchObject({ code: 403 });
    });
  });
});

function at(sorted: readonly number[], share: number): number {
  return Math.round(sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? NaN);
}

/** Milliseconds from a pod's creation until its gate is open, as another client sees both. */
function measureDelays(client: KubeClient, labelSelector: string): { stop(): Promise<number[]> } {
  const created = new Map<string, number>();
  const delays: number[] = [];
  const abort = new AbortController();
  const observe = ({ metadata: { uid = "" }, spec }: Pod): void => {
    const since = created.get(uid);
    if (since === undefined) created.set(uid, performance.now());
    else if (!spec?.schedulingGates?.length && since > 0) {
      delays.push(performance.now() - since);
      created.set(uid, 0);
    }
  };
  const watching = (async () => {
    for await (const event of client.watch<Pod>(Pod, { namespace, labelSelector, signal: abort.signal }))
      if (event.type === "ADDED" || event.type === "MODIFIED") observe(event.object);
  })().catch(() => undefined);
  return {
    async stop() {
      abort.abort();
      await watching;
      return delays.sort((a, b) => a - b);
    },
  };
}
