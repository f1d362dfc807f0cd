// A hub whose objects are those of an hour ago, as after the restore of an etcd snapshot: it finds its apps on the clusters as they run, and restarts none.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { App } from "../../../crds/app/app.ts";
import { Cluster } from "../../../crds/cluster/cluster.ts";
import { SYSTEM_NAMESPACE } from "../../../crds/groups.ts";
import { Process } from "../../../crds/process/process.ts";
import { startReplica, type Replica } from "../../clusters/replica.ts";
import {
  type World,
  conditionOf,
  indexesOf,
  listLRPs,
  placeShared,
  startWorld,
  untilReachable,
} from "../../clusters/world.ts";
import { eventually } from "../../eventually.ts";
import { applyApp, makeSpace } from "../controllers/test-env.ts";

const SPOKES = ["east", "west"] as const;

describe("a restored hub", () => {
  let world: World;
  let replica: Replica;
  let namespace: string;

  beforeAll(async () => {
    world = await startWorld({ spokes: SPOKES });
    // Nothing runs on the hub, whose played runner would have to start anew as well.
    await world.hubRunner.stop();
    for (const name of SPOKES) {
      const body = { metadata: { labels: { tier: "prod" } } };
      await world.hub.patch(Cluster, { namespace: SYSTEM_NAMESPACE, name }, { type: "merge", body });
    }
    replica = await startReplica(() => world.connect(), { leads: true });
    ({ namespace } = await makeSpace(world.hub, "acme", "dev"));
    await placeShared(world.hub, { placement: { clusters: { matchLabels: { tier: "prod" } }, tolerations: [] } });
    await untilReachable(world, ...SPOKES);
    for (const name of ["steady", "scaled", "gone"]) await start(name, 4);
  });
  afterAll(async () => {
    await replica?.stop();
    await world?.stop();
  });

  const key = (name: string): { namespace: string; name: string } => ({ namespace, name });

  async function start(name: string, instances: number): Promise<void> {
    await applyApp(world.hub, key(name), { process: { instances } });
    await untilRunning(name, instances);
  }

  const untilRunning = (name: string, count: number): Promise<void> =>
    eventually(async () => {
      const indexes = Array.from({ length: count }, (_, index) => index);
      expect(indexesOf(await listLRPs(world, name))).toEqual(indexes);
      expect(Object.keys(await instances(name))).toHaveLength(count);
    });

  /** Ids of the instances that run, by index: a restart gives a new one. */
  async function instances(name: string): Promise<Record<number, unknown>> {
    const seen = (await listLRPs(world, name)).flatMap(({ cluster, lrp }) =>
      (lrp.status?.instances ?? []).map(({ index, guid }) => [index, [cluster, lrp.metadata.uid, guid]] as const),
    );
    return Object.fromEntries(seen);
  }

  test("restarts nothing, goes on with what it knows, and keeps what it does not know", async () => {
    const steady = await instances("steady");
    const scaled = await instances("scaled");
    await replica.stop();
    await world.hubServer.snapshot();
    replica = await startReplica(() => world.connect(), { leads: true });

    await world.hub.patch(Process, key("scaled.web"), { type: "merge", body: { spec: { instances: 6 } } });
    await untilRunning("scaled", 6);
    await start("young", 2);
    const young = await instances("young");
    await world.hub.delete(App, key("gone"));
    await untilRunning("gone", 0);

    await replica.stop();
    await world.hubServer.rewind();
    replica = await startReplica(() => world.connect(), { leads: true });
    await untilReachable(world, ...SPOKES);

    await untilRunning("gone", 4);
    await untilRunning("scaled", 4);
    await eventually(async () => {
      const conditions = await Promise.all(SPOKES.map((name) => conditionOf(world.hub, name, "Orphans")));
      expect(conditions.map((one) => one?.status)).toContain("True");
    });
    await replica.idle();
    expect(await instances("steady")).toEqual(steady);
    expect(await instances("scaled")).toEqual(scaled);
    expect(await instances("young")).toEqual(young);
  });
});
