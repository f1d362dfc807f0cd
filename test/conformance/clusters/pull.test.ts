// Clusters of mode pull: the hub writes Works, an agent on the cluster calls and carries them out. One app runs on the hub, a pushed and a pulled cluster.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { addPullCluster } from "../../../cli/cluster/add-pull.ts";
import { removePullObjects } from "../../../cli/cluster/agent-objects.ts";
import { addHere } from "../../../cli/cluster/clusters.ts";
import { forget } from "../../../cli/cluster/drain.ts";
import { silentProgress } from "../../../cli/output.ts";
import { App } from "../../../crds/app/app.ts";
import { Cluster } from "../../../crds/cluster/cluster.ts";
import { FACTS_CONFIG, toFactsData } from "../../../crds/cluster/spoke-facts.ts";
import { SYSTEM_NAMESPACE } from "../../../crds/groups.ts";
import { LRP } from "../../../crds/lrp/lrp.ts";
import { PlacementDecision } from "../../../crds/placement-decision/placement-decision.ts";
import { Process } from "../../../crds/process/process.ts";
import { AGENT_ACCOUNT, AGENT_LEASE, clusterNamespace } from "../../../crds/work/names.ts";
import { Work } from "../../../crds/work/work.ts";
import { ConfigMap, Lease, Namespace, ServiceAccount } from "../../../kube/api/builtin.ts";
import type { PlayedAgent } from "../../clusters/pull-spoke.ts";
import { startReplica, type Replica } from "../../clusters/replica.ts";
import {
  type World,
  conditionOf,
  leaveOrphan,
  placeShared,
  placesOf,
  startWorld,
  untilReachable,
} from "../../clusters/world.ts";
import { eventually } from "../../eventually.ts";
import { applyApp, makeSpace } from "../controllers/test-env.ts";

const ALL = ["east", "local", "west"];
const WEST = clusterNamespace("west");

describe("a cluster that the hub cannot call", () => {
  let world: World;
  let replica: Replica;
  let namespace: string;

  beforeAll(async () => {
    world = await startWorld({ spokes: ["east", "west"], pulls: ["west"] });
    // As the agent there counts every two minutes.
    await world.spoke("west").client.create(ConfigMap, {
      metadata: { namespace: SYSTEM_NAMESPACE, name: FACTS_CONFIG },
      data: toFactsData({ cupola: "1.6.0", capacity: { memoryMB: 8000, requestedMemoryMB: 2000 } }),
    });
    replica = await startReplica(() => world.connect(), { leads: true });
    ({ namespace } = await makeSpace(world.hub, "acme", "dev"));
    await placeShared(world.hub);
    await untilReachable(world, "east", "west");
  });
  afterAll(async () => {
    for (const { link } of world?.spokes.values() ?? []) link.set("open");
    await replica?.stop();
    await world?.stop();
  });

  const seen = (app: string): Promise<unknown> => placesOf(world, app);
  const scale = (app: string, instances: number): Promise<unknown> =>
    world.hub.patch(Process, { namespace, name: `${app}.web` }, { type: "merge", body: { spec: { instances } } });
  const onWest = async (): Promise<LRP[]> => (await world.spoke("west").client.list(LRP)).items;
  /** Until the agent says again that it is alive. */
  const untilAlive = async (): Promise<void> => {
    const renewed = async (): Promise<unknown> =>
      (await world.hub.get(Lease, { namespace: WEST, name: AGENT_LEASE })).spec?.renewTime;
    const before = await renewed();
    await eventually(async () => expect(await renewed()).not.toEqual(before));
  };
  const agent = (): PlayedAgent => {
    const found = world.spoke("west").agent;
    if (!found) throw new Error("west has no agent");
    return found;
  };
  const guidsOnWest = async (): Promise<string[]> =>
    (await onWest()).flatMap(({ status }) => (status?.instances ?? []).map(({ guid }) => guid ?? ""));
  const worksOf = async (kind: string): Promise<Work[]> =>
    (await world.hub.list(Work, { namespace: WEST })).items.filter(({ spec }) => spec.kind === kind);

  test("runs its part of an app under one numbering, and the hub knows its instances", async () => {
    await applyApp(world.hub, { namespace, name: "shop" }, { process: { instances: 6 } });
    await eventually(async () => expect(await seen("shop")).toEqual([ALL, [0, 1, 2, 3, 4, 5]]));
    await eventually(async () => {
      const { status } = await world.hub.get(PlacementDecision, { namespace, name: "shop.web" });
      expect(status?.runningInstances).toBe(6);
    });
    const [lrp] = await onWest();
    expect(lrp?.metadata.ownerReferences).toBeUndefined();
    expect(await world.hub.get(Cluster, { namespace: SYSTEM_NAMESPACE, name: "west" })).toMatchObject({
      status: { classes: [{ role: "router" }, { role: "runner", indexes: "any" }] },
    });
  });

  test("tells its free memory and its versions by its agent", () =>
    eventually(async () =>
      expect((await world.hub.get(Cluster, { namespace: SYSTEM_NAMESPACE, name: "west" })).status).toMatchObject({
        capacity: { memoryMB: 8000, requestedMemoryMB: 2000, freePercent: 75 },
        versions: { kubernetes: expect.stringMatching(/^v1/) as string, cupola: "1.6.0" },
      }),
    ));

  test("scaling ends no instance there", async () => {
    const before = await guidsOnWest();
    await scale("shop", 9);
    await eventually(async () => expect(await guidsOnWest()).toHaveLength(3));
    expect(await guidsOnWest()).toEqual(expect.arrayContaining(before));
    await scale("shop", 6);
    await eventually(async () => expect(await guidsOnWest()).toEqual(before));
  });

  test("while nothing changes, only the Lease is written", async () => {
    const versions = async (): Promise<unknown> =>
      (await world.hub.list(Work, { namespace: WEST })).items.map(({ metadata }) => metadata.resourceVersion);
    await eventually(async () => {
      const before = await versions();
      for (let signs = 0; signs < 2; signs++) await untilAlive();
      expect(await versions()).toEqual(before);
    });
  });

  test("stopping the app ends its instances and its Works", async () => {
    await applyApp(world.hub, { namespace, name: "gone" }, { process: { instances: 3 } });
    await eventually(async () => expect(await seen("gone")).toEqual([ALL, [0, 1, 2]]));
    await world.hub.patch(App, { namespace, name: "gone" }, { type: "merge", body: { spec: { state: "Stopped" } } });
    await eventually(async () => expect(await seen("gone")).toEqual([[], []]));
    await eventually(async () => expect(await worksOf("LRP")).toHaveLength(1));
  });

  test("a Work that vanishes keeps its object, which the platform finds again", async () => {
    const before = await guidsOnWest();
    const [work] = await worksOf("LRP");
    // As kubectl would: nobody has told the agent to remove it.
    await world.hub.delete(Work, work?.metadata ?? { name: "" });
    await eventually(async () => {
      const [again] = await worksOf("LRP");
      expect(again?.metadata.uid).not.toBe(work?.metadata.uid);
      expect(again?.status?.lrp?.runningInstances).toBe(2);
    });
    expect(await guidsOnWest()).toEqual(before);
  });

  test("an object without a Work stays, and the Cluster says so", async () => {
    const [like] = await onWest();
    const orphan = await leaveOrphan(world.spoke("west").client, like as LRP, { namespace, name: "lost" });
    await eventually(async () =>
      expect(await conditionOf(world.hub, "west", "WorksMissing")).toMatchObject({
        status: "True",
        message: expect.stringContaining(`LRP ${namespace}/lost`),
      }),
    );
    await world.spoke("west").client.delete(LRP, orphan.metadata);
    await eventually(async () =>
      expect(await conditionOf(world.hub, "west", "WorksMissing")).toMatchObject({ status: "False" }),
    );
  });

  test("an agent that is silent ends no instance, and catches up when it is back", async () => {
    const before = await guidsOnWest();
    await agent().kill();
    await eventually(async () =>
      expect(await conditionOf(world.hub, "west", "Reachable")).toMatchObject({ status: "False", reason: "Silent" }),
    );
    expect(await guidsOnWest()).toEqual(before);
    await agent().start();
    await untilReachable(world, "west");
    expect(await guidsOnWest()).toEqual(before);
  });

  test("an agent that is killed while it works leaves no instance twice", async () => {
    for (const instances of [12, 3, 9]) {
      await scale("shop", instances);
      await agent().kill();
      await agent().start();
    }
    await eventually(async () => expect(await seen("shop")).toEqual([ALL, [0, 1, 2, 3, 4, 5, 6, 7, 8]]));
    await scale("shop", 6);
    await eventually(async () => expect(await seen("shop")).toEqual([ALL, [0, 1, 2, 3, 4, 5]]));
  });

  test("its namespace on the hub is deleted: nothing there ends, and all is found again", async () => {
    const before = await guidsOnWest();
    await world.hub.delete(Namespace, { name: WEST });
    await eventually(async () =>
      expect(await conditionOf(world.hub, "west", "Reachable")).toMatchObject({ status: "False" }),
    );
    expect(await guidsOnWest()).toEqual(before);
    await removePullObjects(world.hub, "west");
    await eventually(async () => expect(await world.hub.find(Namespace, { name: WEST })).toBeUndefined());
    await agent().rejoin();
    await untilReachable(world, "west");
    await eventually(async () => expect((await worksOf("LRP"))[0]?.status?.lrp?.runningInstances).toBe(2));
    expect(await guidsOnWest()).toEqual(before);
  });

  test("deleting its Cluster with kubectl takes the agent's rights back; a new one of its name gets nothing of it", async () => {
    const account = { namespace: WEST, name: AGENT_ACCOUNT };
    await world.hub.get(ServiceAccount, account);
    await world.hub.delete(Cluster, { namespace: SYSTEM_NAMESPACE, name: "west" });
    await eventually(async () => expect(await world.hub.find(ServiceAccount, account)).toBeUndefined());
    const add = (): Promise<unknown> => addPullCluster(world.hub, "west", { progress: silentProgress });
    await eventually(async () =>
      expect(await world.hub.find(Cluster, { namespace: SYSTEM_NAMESPACE, name: "west" })).toBeUndefined(),
    );
    expect(await worksOf("LRP")).not.toEqual([]);
    await expect(add()).rejects.toMatchObject({
      message: expect.stringContaining(WEST) as string,
      next: expect.stringContaining("cup clusters forget west") as string,
    });
    await expect(addHere(world.hub, "west", { pull: true, progress: silentProgress })).rejects.toThrow(WEST);
    await forget(world.hub, "west", { force: true });
    await eventually(async () => expect(await world.hub.find(Namespace, { name: WEST })).toBeUndefined());
    await add();
    expect(await worksOf("LRP")).toEqual([]);
  });
});
