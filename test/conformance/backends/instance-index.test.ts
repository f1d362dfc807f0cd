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
import { PLATFORM_GROUP } from "../../../crds/platform-role.ts";
import { Namespace, Pod } from "../../../kube/api/builtin.ts";
import type { ObjectOf } from "../../../kube/api/resource-ref.ts";
import { createInformers } from "../../../kube/cache/informers.ts";
import type { KubeClient } from "../../../kube/client/client.ts";
import { createClient } from "../../../kube/client/create-client.ts";
import { runControllers } from "../../../kube/controller/run-controllers.ts";
import { runLeaderWork, type LeaderWorkRun } from "../../../kube/lease/leader-work.ts";
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

/** A replica of the operation. */
interface Replica {
  run: LeaderWorkRun;
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
    await admin.create(Namespace, { metadata: { name: namespace } });
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
    const identity = { guid, name: "x" };
    const spec = {
      class: "deployment",
      rendering: "1",
      app: identity,
      space: identity,
      org: identity,
      processGUID: guid,
      processType: "web",
      revision: "1",
      version: guid,
      droplet: { guid, kind: "docker", image: "example.com/x:1" },
      ports: [8080],
      instances,
      memoryMB: 64,
      diskMB: 64,
      healthCheck: { type: "process" },
      readinessHealthCheck: { type: "process" },
    };
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

  test("when the leader stops the other replica gives the indexes", async () => {
    const leader = replicas.findIndex(({ run }) => run.isLeading());
    const [stopped] = replicas.splice(leader, 1);
    await stopped?.stop();
    await makeLRP("late", 2);
    await untilOpen("late", upTo(2));
  });

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
