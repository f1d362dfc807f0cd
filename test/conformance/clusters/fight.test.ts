// An autoscaler on a spoke that scales an LRP of the hub: each change is undone and said, and many are a condition.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { LRP } from "../../../crds/lrp/lrp.ts";
import { Process } from "../../../crds/process/process.ts";
import { Event } from "../../../kube/api/builtin.ts";
import { isRealWorld } from "../../clusters/world-server.ts";
import { startReplica, type Replica } from "../../clusters/replica.ts";
import {
  type World,
  autoscale,
  indexesOf,
  listLRPs,
  placeShared,
  startWorld,
  untilReachable,
} from "../../clusters/world.ts";
import { eventually } from "../../eventually.ts";
import { applyApp, makeSpace } from "../controllers/test-env.ts";

describe("a writer on a spoke that changes an LRP", () => {
  let world: World;
  let replica: Replica;
  let namespace: string;

  beforeAll(async () => {
    world = await startWorld({ spokes: ["east"] });
    replica = await startReplica(() => world.connect(), { leads: true });
    ({ namespace } = await makeSpace(world.hub, "acme", "dev"));
    await placeShared(world.hub);
    await untilReachable(world, "east");
    await applyApp(world.hub, { namespace, name: "shop" }, { process: { instances: 4 } });
    await eventually(async () => expect(indexesOf(await listLRPs(world, "shop"))).toEqual([0, 1, 2, 3]));
  });
  afterAll(async () => {
    await replica?.stop();
    await world?.stop();
  });

  const there = async (): Promise<LRP> =>
    (await listLRPs(world, "shop")).find(({ cluster }) => cluster === "east")!.lrp;

  /** As an autoscaler does; resolves when the hub has undone it. */
  async function scaleThere(instances: number): Promise<void> {
    const { metadata } = await there();
    await world
      .spoke("east")
      .client.patch(LRP, metadata, { type: "merge", body: { spec: { instances } } }, { fieldManager: "autoscaler" });
    await eventually(async () => expect((await there()).spec.instances).toBe(2));
  }

  const fight = async (): Promise<unknown> =>
    (await world.hub.get(Process, { namespace, name: "shop.web" })).status?.conditions?.find(
      ({ type }) => type === "Fight",
    );

  test("a change is undone, and an Event of the Process says so", async () => {
    await scaleThere(1);
    await eventually(async () => {
      const { items } = await world.hub.list(Event, { namespace });
      const found = items.find((event) => event.reason === "Restored");
      expect(String(found?.message)).toMatch(/another writer changed LRP .* on cluster east/);
    });
    expect(await fight()).toBeUndefined();
  });

  test("ten of them are the condition Fight, and the instances stay", async () => {
    for (let at = 0; at < 10; at++) await scaleThere(at % 2);
    await eventually(async () => expect(await fight()).toMatchObject({ status: "True", reason: "Restored" }));
    expect(indexesOf(await listLRPs(world, "shop"))).toEqual([0, 1, 2, 3]);
  });

  test.skipIf(!isRealWorld)("Kubernetes' own autoscaler on an LRP is such a writer", async () => {
    await applyApp(world.hub, { namespace, name: "scaled" }, { process: { instances: 4 } });
    const lrp = await eventually(async () => {
      const found = (await listLRPs(world, "scaled")).find(({ cluster }) => cluster === "east");
      expect(found).toBeDefined();
      return found!.lrp;
    });
    await autoscale(world.spoke("east").client, lrp, 3);
    await eventually(async () => {
      const { status } = await world.hub.get(Process, { namespace, name: "scaled.web" });
      const found = status?.conditions?.find(({ type }) => type === "Fight");
      expect(found).toMatchObject({ status: "True", message: expect.stringContaining("on east") as string });
    }, 120_000);
    expect(indexesOf(await listLRPs(world, "scaled"))).toEqual([0, 1, 2, 3]);
  });
});
