// Rolling deployments in stages of clusters: one stage after another, a stage that fails, an approval, a cancellation, and a cluster that is lost meanwhile.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { App } from "../../../crds/app/app.ts";
import { Droplet } from "../../../crds/droplet/droplet.ts";
import { Rollout } from "../../../crds/rollout/rollout.ts";
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

const RULES = { soakSeconds: 0, deadlineSeconds: 600, maxFailures: 0, approval: "none" as const };

describe("a rolling deployment in stages of clusters", () => {
  let world: World;
  let replica: Replica;
  let namespace: string;
  let made = 0;

  beforeAll(async () => {
    world = await startWorld({ spokes: ["east", "west"] });
    replica = await startReplica(() => world.connect(), { leads: true });
    ({ namespace } = await makeSpace(world.hub, "acme", "dev"));
    await useStages({});
    await untilReachable(world, "east", "west");
    await applyApp(world.hub, { namespace, name: "shop" }, { process: { instances: 6 } });
    await eventually(async () => expect(await counts()).toEqual({ east: { 1: 2 }, local: { 1: 2 }, west: { 1: 2 } }));
  });
  afterAll(async () => {
    for (const { link } of world?.spokes.values() ?? []) link.set("open");
    await replica?.stop();
    await world?.stop();
  });

  /** East first, then the two others. */
  const useStages = (rules: Partial<typeof RULES> | { approval: "stage" }): Promise<void> =>
    placeShared(world.hub, { rollout: { ...RULES, stages: [{ clusters: 1 }, { percent: 100 }], ...rules } });

  /** By cluster: instances of each version. */
  async function counts(): Promise<Record<string, Record<string, number>>> {
    const found: Record<string, Record<string, number>> = {};
    for (const seen of await listLRPs(world, "shop")) {
      const { revision } = seen.lrp.spec;
      const instances = indexesOf([seen]).length;
      if (instances > 0) found[seen.cluster] = { ...found[seen.cluster], [revision]: instances };
    }
    return found;
  }

  async function roll(spec: object = {}): Promise<{ namespace: string; name: string }> {
    const key = { namespace, name: `roll-${++made}` };
    await world.hub.apply(
      Rollout,
      { metadata: key, spec: { appRef: { name: "shop" }, ...spec } },
      { fieldManager: "kubectl" },
    );
    return key;
  }

  type Key = Awaited<ReturnType<typeof roll>>;
  const rollout = (key: Key): Promise<Rollout> => world.hub.get(Rollout, key);
  const change = (key: Key, spec: object): Promise<unknown> =>
    world.hub.patch(Rollout, key, { type: "merge", body: { spec } });
  const untilState = (key: Key, state: string): Promise<Rollout> =>
    eventually(async () => {
      const found = await rollout(key);
      expect(found.status?.state).toBe(state);
      return found;
    });
  const readyOf = ({ status }: Rollout) => status?.conditions?.find(({ type }) => type === "Ready");

  /** As if the stage had begun so long ago. */
  const age = (key: Key, seconds: number): Promise<void> =>
    eventually(async () => {
      expect((await rollout(key)).status?.stageTime).toBeDefined();
      const stageTime = new Date(Date.now() - seconds * 1000).toISOString();
      await world.hub.patch(
        Rollout,
        key,
        { type: "merge", body: { status: { stageTime } } },
        { subresource: "status" },
      );
    });

  test("stages are chosen at the start, and each begins when the one before is done", async () => {
    await useStages({ approval: "stage" });
    const key = await roll();
    const { status } = await untilState(key, "Paused");
    expect([status?.stages, status?.stage]).toEqual([[["east"], ["local", "west"]], 2]);
    expect(await counts()).toEqual({ east: { 2: 2 }, local: { 1: 2 }, west: { 1: 2 } });
    await replica.idle();
    expect(await counts()).toEqual({ east: { 2: 2 }, local: { 1: 2 }, west: { 1: 2 } });
    await change(key, { continuedStages: 1 });
    await untilState(key, "Deployed");
    await eventually(async () => expect(await counts()).toEqual({ east: { 2: 2 }, local: { 2: 2 }, west: { 2: 2 } }));
    expect(indexesOf(await listLRPs(world, "shop"))).toEqual([0, 1, 2, 3, 4, 5]);
  });

  test("stage 2 never starts on a stage 1 that failed, and a cancellation returns to the version before", async () => {
    await useStages({});
    const before = (await listLRPs(world, "shop")).map(({ lrp }) => lrp.metadata.uid).toSorted();
    world.spoke("east").runner.crashing.add("shop 3");
    const key = await roll({ maxInFlight: 2 });
    await eventually(async () => expect((await rollout(key)).status?.error).toContain("Crashed"));
    await age(key, 601);
    const halted = await untilState(key, "Paused");
    expect(readyOf(halted)).toMatchObject({ status: "False", reason: "StageFailed" });
    expect(readyOf(halted)?.message).toMatch(
      /^stage 1 of 2 \(east\): 0 of 2 instances take requests after 600 s\. .* cf cancel-deployment shop/,
    );
    await replica.idle();
    expect(await counts()).toEqual({ east: { 2: 2, 3: 2 }, local: { 2: 2 }, west: { 2: 2 } });
    await change(key, { cancelled: true });
    await untilState(key, "Canceled");
    await eventually(async () => expect(await counts()).toEqual({ east: { 2: 2 }, local: { 2: 2 }, west: { 2: 2 } }));
    const after = (await listLRPs(world, "shop")).map(({ lrp }) => lrp.metadata.uid).toSorted();
    expect(after).toEqual(before);
    world.spoke("east").runner.crashing.delete("shop 3");
  });

  test("a canary fills the stages in their order, and continue goes on to all", async () => {
    await useStages({});
    const key = await roll({ strategy: "canary", maxInFlight: 2, canarySteps: [{ instanceWeight: 50 }] });
    await untilState(key, "Paused");
    const now = await counts();
    expect([now["east"], (now["local"]?.["4"] ?? 0) + (now["west"]?.["4"] ?? 0)]).toEqual([{ 4: 2 }, 1]);
    await change(key, { continuedSteps: 1 });
    await untilState(key, "Deployed");
    await eventually(async () => expect(await counts()).toEqual({ east: { 4: 2 }, local: { 4: 2 }, west: { 4: 2 } }));
  });

  test("a cluster that is silent is skipped after the deadline, and catches up when it is back", async () => {
    await useStages({});
    world.spoke("west").link.set("refusing");
    await eventually(async () =>
      expect(await conditionOf(world.hub, "west", "Reachable")).toMatchObject({ status: "False" }),
    );
    const key = await roll({ maxInFlight: 2 });
    await eventually(async () => expect((await rollout(key)).status).toMatchObject({ stage: 2, state: "Deploying" }));
    await eventually(async () => expect((await rollout(key)).status?.stageReadyTime).toBeDefined());
    expect((await counts())["local"]).toEqual({ 5: 2 });
    expect((await rollout(key)).status?.state).toBe("Deploying");
    await age(key, 601);
    await untilState(key, "Deployed");
    expect((await counts())["west"]).toEqual({ 4: 2 });
    world.spoke("west").link.set("open");
    await eventually(async () => expect(await counts()).toEqual({ east: { 5: 2 }, local: { 5: 2 }, west: { 5: 2 } }));
    expect(indexesOf(await listLRPs(world, "shop"))).toEqual([0, 1, 2, 3, 4, 5]);
  });

  test("a cluster that cannot start the version fails its stage, in a sentence, also without stages", async () => {
    await placeShared(world.hub, { rollout: null as never });
    const name = "shop-private";
    await world.hub.apply(
      Droplet,
      {
        metadata: { namespace, name },
        spec: {
          appRef: { name: "shop" },
          kind: "docker",
          lifecycleType: "docker",
          image: "example.com/private:1",
          imagePullSecretRef: { name: "shop-pull" },
          processTypes: { web: "" },
        },
      },
      { fieldManager: "kubectl" },
    );
    const key = await roll({ droplet: { name }, maxInFlight: 6 });
    const halted = await untilState(key, "Paused");
    expect(halted.status?.stages).toEqual([["east", "local", "west"]]);
    expect(readyOf(halted)?.message).toMatch(
      /stage 1 of 1 \(east, local, west\): cluster (east|west) cannot start it: /,
    );
    expect(readyOf(halted)?.reason).toBe("StageFailed");
    await change(key, { cancelled: true });
    await world.hub.patch(
      App,
      { namespace, name: "shop" },
      { type: "merge", body: { spec: { droplet: { name: "shop-droplet" } } } },
    );
    await untilState(key, "Canceled");
    await eventually(async () => expect(await counts()).toEqual({ east: { 5: 2 }, local: { 5: 2 }, west: { 5: 2 } }));
  });
});
