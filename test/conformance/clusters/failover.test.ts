// A cluster that falls silent in a segment that fails over by itself: the brake, the move, its return, and what was deleted meanwhile.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { App } from "../../../crds/app/app.ts";
import { Cluster } from "../../../crds/cluster/cluster.ts";
import { SYSTEM_NAMESPACE } from "../../../crds/groups.ts";
import { PlacementDecision } from "../../../crds/placement-decision/placement-decision.ts";
import { RouteBinding } from "../../../crds/route-binding/route-binding.ts";
import { Route } from "../../../crds/route/route.ts";
import { startReplica, type Replica } from "../../clusters/replica.ts";
import {
  type World,
  clustersOf,
  conditionOf,
  indexesOf,
  listLRPs,
  placeShared,
  placesOf,
  startWorld,
  untilReachable,
} from "../../clusters/world.ts";
import { eventually } from "../../eventually.ts";
import { applyApp, makeSpace } from "../controllers/test-env.ts";

const ALL = ["east", "local", "west"];

describe("a cluster that is lost and comes back", () => {
  let world: World;
  let replica: Replica;
  let namespace: string;

  beforeAll(async () => {
    world = await startWorld({ spokes: ["east", "west"] });
    replica = await startReplica(() => world.connect(), { leads: true });
    ({ namespace } = await makeSpace(world.hub, "acme", "dev"));
    await placeShared(world.hub, { failover: { mode: "auto", afterSeconds: 300 } });
    await untilReachable(world, "east", "west");
    for (const name of ["shop", "gone"]) await applyApp(world.hub, { namespace, name }, { process: { instances: 6 } });
    await world.hub.apply(
      Route,
      {
        metadata: { name: "shop", namespace },
        spec: { host: "shop", domainRef: { name: "apps.example" }, destinations: [{ app: "shop" }] },
      },
      { fieldManager: "kubectl" },
    );
    for (const name of ["shop", "gone"])
      await eventually(async () => expect(await seen(name)).toEqual([ALL, [0, 1, 2, 3, 4, 5]]));
    await eventually(async () => expect(await copies("east")).toHaveLength(1));
  });
  afterAll(async () => {
    for (const { link } of world?.spokes.values() ?? []) link.set("open");
    await replica?.stop();
    await world?.stop();
  });

  const seen = (app: string): Promise<unknown> => placesOf(world, app);
  /** Without a cluster that the hub does not reach. */
  const seenElsewhere = async (app: string, lost: string): Promise<unknown> => {
    const lrps = (await listLRPs(world, app)).filter(({ cluster }) => cluster !== lost);
    return [clustersOf(lrps), indexesOf(lrps)];
  };
  const copies = async (name: string): Promise<RouteBinding[]> =>
    (await world.spoke(name).client.list(RouteBinding)).items;
  const decision = (app: string): Promise<PlacementDecision> =>
    world.hub.get(PlacementDecision, { namespace, name: `${app}.web` });
  const assigned = async (app: string): Promise<string[]> =>
    (await decision(app)).spec.assignments
      .filter(({ indexes }) => indexes.length > 0)
      .map(({ cluster, state }) => `${cluster} ${state}`)
      .toSorted();

  /** As if the cluster had been silent for so long. */
  async function age(name: string, seconds: number): Promise<void> {
    const key = { namespace: SYSTEM_NAMESPACE, name };
    const silentSince = new Date(Date.now() - seconds * 1000).toISOString();
    await eventually(async () => {
      const { status } = await world.hub.get(Cluster, key);
      expect(status?.silentSince).toBeDefined();
      await world.hub.patch(
        Cluster,
        key,
        { type: "merge", body: { status: { silentSince } } },
        { subresource: "status" },
      );
    });
  }

  test("nothing moves before its time, nor while most clusters of the segment are silent", async () => {
    for (const name of ["east", "west"]) world.spoke(name).link.set("black-hole");
    for (const name of ["east", "west"]) {
      await eventually(async () =>
        expect(await conditionOf(world.hub, name, "Reachable")).toMatchObject({ reason: "Silent" }),
      );
      await age(name, 299 - 60);
    }
    await replica.idle();
    expect(await assigned("shop")).toEqual(["east Active", "local Active", "west Active"]);
    for (const name of ["east", "west"]) await age(name, 600);
    await eventually(async () =>
      expect((await decision("shop")).status?.rejected).toContainEqual(
        expect.objectContaining({ reason: "FailoverHeld", clusters: 2 }),
      ),
    );
    await replica.idle();
    expect(await assigned("shop")).toEqual(["east Active", "local Active", "west Active"]);
  });

  test("its instances start on the others by themselves, also after the platform was started anew", async () => {
    world.spoke("west").link.set("open");
    await untilReachable(world, "west");
    await replica.kill();
    replica = await startReplica(() => world.connect(), { leads: true });
    for (const app of ["shop", "gone"])
      await eventually(async () =>
        expect(await seenElsewhere(app, "east")).toEqual([
          ["local", "west"],
          [0, 1, 2, 3, 4, 5],
        ]),
      );
    await eventually(async () => expect(await assigned("shop")).toEqual(["local Active", "west Active"]));
    // The lost cluster still runs them: nobody reaches it.
    expect(clustersOf(await listLRPs(world, "shop"))).toEqual(ALL);
  });

  test("a route and an app that are deleted meanwhile wait for it", async () => {
    await eventually(async () => expect(await assigned("gone")).toEqual(["local Active", "west Active"]));
    await world.hub.delete(Route, { namespace, name: "shop" });
    await world.hub.delete(App, { namespace, name: "gone" });
    await eventually(async () => expect(await seenElsewhere("gone", "east")).toEqual([[], []]));
    await eventually(async () => expect(await copies("west")).toEqual([]));
    const [binding] = (await world.hub.list(RouteBinding, { namespace })).items;
    expect(binding?.metadata.deletionTimestamp).toBeDefined();
  });

  test("when it is back it ends what it lost: each index runs once, and nothing of the deleted is left", async () => {
    world.spoke("east").link.set("open");
    await untilReachable(world, "east");
    await eventually(async () =>
      expect(await seen("shop")).toEqual([
        ["local", "west"],
        [0, 1, 2, 3, 4, 5],
      ]),
    );
    await eventually(async () => expect(await seen("gone")).toEqual([[], []]));
    await eventually(async () => expect(await copies("east")).toEqual([]));
    await eventually(async () => expect((await world.hub.list(RouteBinding, { namespace })).items).toEqual([]));
    await replica.idle();
    expect(await assigned("shop")).not.toContain("east Active");
  });
});
