// Promises of several clusters that no other file here shows: scaling, the hub's absence, which Secrets go where, and a cluster that never comes back.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Cluster } from "../../../crds/cluster/cluster.ts";
import { SYSTEM_NAMESPACE } from "../../../crds/groups.ts";
import { LRP } from "../../../crds/lrp/lrp.ts";
import { INTERNAL_LABELS } from "../../../crds/labels.ts";
import { Process } from "../../../crds/process/process.ts";
import { Secret } from "../../../kube/api/builtin.ts";
import { playRunner, type PlayedRunner } from "../../clusters/played-runner.ts";
import { startReplica, type Replica } from "../../clusters/replica.ts";
import {
  type World,
  clustersOf,
  conditionOf,
  indexesOf,
  listLRPs,
  placeShared,
  startWorld,
  untilReachable,
} from "../../clusters/world.ts";
import { eventually } from "../../eventually.ts";
import { applyApp, makeSpace } from "../controllers/test-env.ts";

describe("a hub and two other clusters", () => {
  let world: World;
  let replica: Replica | undefined;
  let namespace: string;
  const runners: PlayedRunner[] = [];

  beforeAll(async () => {
    world = await startWorld({ spokes: ["east", "west"] });
    replica = await startReplica(() => world.connect(), { leads: true });
    ({ namespace } = await makeSpace(world.hub, "acme", "dev"));
    await placeShared(world.hub);
    await untilReachable(world, "east", "west");
    await applyApp(world.hub, { namespace, name: "shop" }, { process: { instances: 3 } });
    await untilRunning(3);
  });
  afterAll(async () => {
    for (const { link } of world?.spokes.values() ?? []) link.set("open");
    await replica?.stop();
    for (const runner of runners) await runner.stop();
    await world?.stop();
  });

  /** GUIDs of the instances that run, by index. */
  async function instances(): Promise<Record<number, string>> {
    const all = (await listLRPs(world, "shop")).flatMap(({ lrp }) => lrp.status?.instances ?? []);
    return Object.fromEntries(all.map(({ index, guid }) => [index, guid ?? ""]));
  }

  const untilRunning = (count: number): Promise<void> =>
    eventually(async () => {
      expect(indexesOf(await listLRPs(world, "shop"))).toEqual(Array.from({ length: count }, (_, index) => index));
      expect(Object.keys(await instances())).toHaveLength(count);
    });

  async function scale(count: number): Promise<void> {
    const body = { spec: { instances: count } };
    await world.hub.patch(Process, { namespace, name: "shop.web" }, { type: "merge", body });
    await untilRunning(count);
  }

  test("scaling from 3 to 7 and to 2 restarts no instance", async () => {
    const before = await instances();
    await scale(7);
    expect(await instances()).toMatchObject(before);
    await scale(2);
    expect(await instances()).toEqual({ 0: before[0], 1: before[1] });
  });

  test("no instance ends while the hub is down and the platform on the other clusters starts anew, nor when the hub is back", async () => {
    await scale(6);
    const before = await instances();
    await replica?.stop();
    replica = undefined;
    for (const name of ["east", "west"]) {
      await world.spoke(name).runner.stop();
      runners.push(await playRunner(world.spoke(name).client));
    }
    expect(await instances()).toEqual(before);
    replica = await startReplica(() => world.connect(), { leads: true });
    await replica.idle();
    await untilRunning(6);
    expect(await instances()).toEqual(before);
  });

  test("a Secret of an app is on the clusters of its segment, and on no other", async () => {
    await placeShared(world.hub, {
      placement: { clusters: { matchLabels: { "cupola.dev/cluster": "east" } } } as never,
    });
    await world.hub.create(Secret, {
      apiVersion: "v1",
      kind: "Secret",
      metadata: { namespace, name: "vault", labels: { [INTERNAL_LABELS.envAllowed]: "allowed" } },
      data: { token: Buffer.from("s3cret").toString("base64") },
    });
    const env = [{ name: "TOKEN", valueFrom: { secretKeyRef: { name: "vault", key: "token" } } }];
    await applyApp(world.hub, { namespace, name: "bank" }, { app: { env }, process: { instances: 2 } });
    await eventually(async () => expect(clustersOf(await listLRPs(world, "bank"))).toEqual(["east"]));
    const contents = async (name: string): Promise<string[]> =>
      (await world.spoke(name).client.list(Secret)).items.flatMap(({ data = {} }) => Object.values(data));
    const secret = Buffer.from("s3cret").toString("base64");
    await eventually(async () => expect(await contents("east")).toContain(secret));
    await replica?.idle();
    expect(await contents("west")).not.toContain(secret);
  });

  test("a cluster that never comes back is forgotten within 5 seconds", async () => {
    world.spoke("west").link.set("black-hole");
    await eventually(async () =>
      expect(await conditionOf(world.hub, "west", "Reachable")).toMatchObject({ status: "False" }),
    );
    const key = { namespace: SYSTEM_NAMESPACE, name: "west" };
    await world.hub.delete(Cluster, key);
    await eventually(async () => expect(await world.hub.find(Cluster, key)).toBeUndefined(), 5_000);
    await eventually(async () => {
      const left = (await listLRPs(world, "shop")).filter(({ cluster }) => cluster !== "west");
      expect(indexesOf(left)).toEqual([0, 1, 2, 3, 4, 5]);
    });
    // Nobody reaches what runs there.
    expect((await world.spoke("west").client.list(LRP)).items).not.toEqual([]);
  });
});
