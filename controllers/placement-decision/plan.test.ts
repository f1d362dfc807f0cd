// The choice of clusters and the split of instances: tables, and what holds whatever happens.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { listIndexes } from "../../crds/lrp/index-pool.ts";
import type { Assignment } from "../../crds/placement-decision/placement-decision.ts";
import { place, type ClusterFacts, type PlacementPlan, type PlacementRequest } from "./plan.ts";

const cluster = (name: string, change: Partial<ClusterFacts> = {}): ClusterFacts => ({
  name,
  labels: {},
  taints: [],
  cordoned: false,
  draining: false,
  givenUp: false,
  reachable: true,
  silentSince: undefined,
  weight: 100,
  freeMemoryMB: undefined,
  freePercent: undefined,
  runners: new Map([["deployment", "any"]]),
  ...change,
});

type Change = Partial<Omit<PlacementRequest, "placement">> & { placement?: Partial<PlacementRequest["placement"]> };

const request = ({ placement, ...change }: Change = {}): PlacementRequest => ({
  guid: "g",
  instances: 4,
  runner: "deployment",
  memoryMB: 64,
  hasVolumes: false,
  placement: { clusters: { matchLabels: {} }, tolerations: [], ...placement },
  previous: [],
  isNewStart: false,
  kept: new Set(),
  failover: { mode: "manual", afterSeconds: 300 },
  now: 0,
  mayBegin: () => true,
  isServing: () => false,
  ...change,
});

const held = (name: string, ...indexes: number[]): Assignment => ({
  cluster: name,
  indexes: indexes.map((index) => ({ start: index, end: index })),
  state: "Active",
  reason: "Chosen",
});

const pools = ({ assignments }: PlacementPlan): Record<string, number[]> =>
  Object.fromEntries(assignments.map((one) => [one.cluster, listIndexes(one.indexes)]));
const sizes = (plan: PlacementPlan): number[] =>
  Object.values(pools(plan))
    .map(({ length }) => length)
    .sort();
const reasons = ({ rejected }: PlacementPlan): Record<string, string> =>
  Object.fromEntries(rejected.map(({ reason, example }) => [example, reason]));

describe("a new process", () => {
  test("is spread evenly over all clusters that match", () =>
    expect(sizes(place(request(), [cluster("local"), cluster("west")]))).toEqual([2, 2]));

  test.each<[string, Partial<ClusterFacts>, Change, string]>([
    ["labels", {}, { placement: { clusters: { matchLabels: { tier: "prod" } } } }, "NotSelected"],
    ["a cordon", { cordoned: true }, {}, "Cordoned"],
    ["a taint", { taints: ["gpu"] }, {}, "Tainted"],
    ["silence", { reachable: false }, {}, "Unreachable"],
    ["no such runner", {}, { runner: "statefulset" }, "RunnerMissing"],
    ["a runner that is never split", { runners: new Map([["deployment", undefined]]) }, {}, "CannotSplit"],
  ])("goes past a cluster for %s", (_what, facts, change, reason) => {
    const plan = place(request(change), [cluster("east", facts)]);
    expect([plan.assignments, reasons(plan)]).toEqual([[], { east: reason }]);
  });

  test("that mounts volumes stays on the platform's own cluster", () => {
    const plan = place(request({ hasVolumes: true }), [cluster("local"), cluster("west")]);
    expect([pools(plan), reasons(plan)]).toEqual([{ local: [0, 1, 2, 3] }, { west: "HasNoVolumes" }]);
    expect(place(request({ hasVolumes: true }), [cluster("west")]).assignments).toEqual([]);
  });

  test("takes a tainted cluster that its segment tolerates, and a runner that is not split on one cluster", () => {
    const tolerant = request({ placement: { tolerations: [{ key: "gpu" }], count: 1 } });
    const facts = { taints: ["gpu"], runners: new Map([["deployment", "range"]]) };
    expect(pools(place(tolerant, [cluster("east", facts)]))).toEqual({ east: [0, 1, 2, 3] });
  });

  test("gets as many clusters as its segment says, one for each region", () => {
    const regions = ["eu", "eu", "eu", "us"].map((region, at) => cluster(`c${at}`, { labels: { region } }));
    for (let guid = 0; guid < 50; guid++) {
      const plan = place(request({ guid: String(guid), placement: { count: 2, spreadBy: "region" } }), regions);
      expect(Object.keys(pools(plan))).toContain("c3");
      expect(sizes(plan)).toEqual([2, 2]);
    }
  });

  test("goes to clusters by their share of free memory; one that nobody counts is as one that is half free", () => {
    const clusters = [cluster("full", { freePercent: 10 }), cluster("empty", { freePercent: 100 }), cluster("unknown")];
    const counts = new Map<string, number>();
    for (let at = 0; at < 3_200; at++) {
      const plan = place(request({ guid: `g${at}`, instances: 1, placement: { count: 1 } }), clusters);
      const [one] = plan.assignments;
      counts.set(one?.cluster ?? "", (counts.get(one?.cluster ?? "") ?? 0) + 1);
    }
    expect((counts.get("empty") ?? 0) / 2_000).toBeCloseTo(1, 1);
    expect((counts.get("unknown") ?? 0) / 1_000).toBeCloseTo(1, 1);
    expect(counts.get("full")).toBeLessThan(300);
  });

  test("goes to no cluster without memory for an instance; one that it is on already gets more", () => {
    const clusters = [cluster("full", { freeMemoryMB: 63 }), cluster("west", { freeMemoryMB: 64 })];
    const plan = place(request({ memoryMB: 64 }), clusters);
    expect([pools(plan), reasons(plan)]).toEqual([{ west: [0, 1, 2, 3] }, { full: "NoMemory" }]);
    expect(pools(place(request({ instances: 2, previous: [held("full", 0)] }), [clusters[0]!]))).toEqual({
      full: [0, 1],
    });
  });

  test("goes to clusters by their weight", () => {
    const clusters = [cluster("small", { weight: 100 }), cluster("large", { weight: 300 })];
    const counts = { small: 0, large: 0 };
    for (let guid = 0; guid < 2000; guid++)
      counts[
        Object.keys(pools(place(request({ guid: String(guid), placement: { count: 1 } }), clusters)))[0] as "small"
      ]++;
    expect(counts.large / counts.small).toBeGreaterThan(2.4);
    expect(counts.large / counts.small).toBeLessThan(3.6);
  });
});

describe("a process that runs", () => {
  const previous = [held("east", 0, 2), held("west", 1, 3)];
  const both = [cluster("east"), cluster("west")];

  test("keeps each instance where it is when it grows, and when it shrinks loses the highest", () => {
    expect(pools(place(request({ previous, instances: 6 }), both))).toEqual({ east: [0, 2, 4], west: [1, 3, 5] });
    expect(pools(place(request({ previous, instances: 3 }), both))).toEqual({ east: [0, 2], west: [1] });
  });

  test("gets a new cluster that matches all, for what is new", () =>
    expect(pools(place(request({ previous, instances: 6 }), [...both, cluster("north")]))).toEqual({
      east: [0, 2],
      west: [1, 3],
      north: [4, 5],
    }));

  test.each<[string, Partial<ClusterFacts>, Change]>([
    ["is silent", { reachable: false }, {}],
    ["lost its label", {}, { placement: { clusters: { matchLabels: { tier: "prod" } } } }],
  ])("keeps what it has on a cluster that %s, and grows elsewhere", (_what, facts, change) => {
    const labels = { tier: "prod" };
    const clusters = [cluster("east", facts), cluster("west", { labels })];
    expect(pools(place(request({ previous, instances: 6, ...change }), clusters))).toEqual({
      east: [0, 2],
      west: [1, 3, 4, 5],
    });
  });

  test("keeps what it has on a cluster that nobody knows any more", () =>
    expect(pools(place(request({ previous }), [cluster("west")]))).toEqual({ east: [0, 2], west: [1, 3] }));

  test("grows on a cordoned cluster that it holds", () =>
    expect(
      pools(place(request({ previous: [held("east", 0)], instances: 2 }), [cluster("east", { cordoned: true })])),
    ).toEqual({ east: [0, 1] }));
});

describe("a cluster that is drained", () => {
  const previous = [held("east", 0, 2), held("west", 1)];
  const drained = [cluster("east", { draining: true }), cluster("west"), cluster("north")];
  const states = ({ assignments }: PlacementPlan): string[] => assignments.map((one) => `${one.cluster} ${one.state}`);

  test("keeps each instance until its successor takes requests", () => {
    const begun = place(request({ previous, instances: 3 }), drained);
    expect(pools(begun)).toEqual({ west: [1, 2], north: [0], east: [0, 2] });
    expect([states(begun), begun.begins]).toEqual([
      ["west Active", "north Active", "east Draining"],
      [{ cluster: "east", state: "Draining" }],
    ]);
    const isServing = (name: string, index: number): boolean => name === "west" && index === 2;
    const further = place(request({ previous: begun.assignments, instances: 3, isServing }), drained);
    expect([pools(further), further.begins]).toEqual([{ west: [1, 2], north: [0], east: [0] }, []]);
    const ended = place(request({ previous: further.assignments, instances: 3, isServing: () => true }), drained);
    expect(pools(ended)).toEqual({ west: [1, 2], north: [0] });
  });

  test("waits for its turn, and then goes on without one", () => {
    const waiting = place(request({ previous, instances: 3, mayBegin: () => false }), drained);
    expect([pools(waiting), waiting.begins]).toEqual([{ east: [0, 2], west: [1], north: [] }, []]);
    const begun = place(request({ previous, instances: 3 }), drained);
    const further = place(request({ previous: begun.assignments, instances: 3, mayBegin: () => false }), drained);
    expect(pools(further)).toEqual(pools(begun));
  });

  test("waits for its turn while the process leaves another one", () => {
    const clusters = [cluster("east", { draining: true }), cluster("west", { draining: true }), cluster("north")];
    const plan = place(request({ previous, instances: 3, mayBegin: (name) => name === "west" }), clusters);
    expect([states(plan), plan.begins]).toEqual([
      ["east Active", "north Active", "west Draining"],
      [{ cluster: "west", state: "Draining" }],
    ]);
  });

  test("keeps what has nowhere to go", () =>
    expect(pools(place(request({ previous: [held("east", 0, 1)], instances: 2 }), [drained[0]!]))).toEqual({
      east: [0, 1],
    }));

  test("and does not answer has lost its instances: they start elsewhere", () => {
    const silent = [cluster("east", { draining: true, reachable: false }), cluster("west")];
    const plan = place(request({ previous, instances: 3 }), silent);
    expect([pools(plan), states(plan)]).toEqual([
      { west: [1, 0, 2].toSorted(), east: [0, 2] },
      ["west Active", "east Lost"],
    ]);
  });

  test("has each index once when the drain is taken back", () => {
    const begun = place(request({ previous, instances: 3 }), drained);
    const isServing = (name: string, index: number): boolean => name === "north" && index === 0;
    const back = [cluster("east"), cluster("west"), cluster("north")];
    const plan = place(request({ previous: begun.assignments, instances: 3, isServing }), back);
    expect(Object.values(pools(plan)).flat().toSorted()).toEqual([0, 1, 2]);
    expect(pools(plan)["north"]).toContain(0);
  });

  test("holds nothing once it is given up, whether there is another or not", () => {
    const gone = cluster("east", { givenUp: true, reachable: false });
    expect(pools(place(request({ previous, instances: 3 }), [gone, cluster("west")]))).toEqual({ west: [0, 1, 2] });
    expect(place(request({ previous: [held("east", 0)], instances: 1 }), [gone]).assignments).toEqual([]);
  });
});

describe("a cluster that is silent", () => {
  const previous = [held("east", 0, 2), held("west", 1, 3)];
  const states = ({ assignments }: PlacementPlan): string[] => assignments.map((one) => `${one.cluster} ${one.state}`);
  const minute = 60_000;
  const silent = (name: string): ClusterFacts => cluster(name, { reachable: false, silentSince: 0 });
  const auto = (now: number, change: Change = {}): PlacementRequest =>
    request({ previous, failover: { mode: "auto", afterSeconds: 300 }, now, ...change });
  const three = [silent("east"), cluster("west"), cluster("north")];

  test("loses its instances by itself once the time has passed, and says when that is", () => {
    const before = place(auto(4 * minute), three);
    expect([before.failsOverIn, states(before).includes("east Active"), before.begins]).toEqual([minute, true, []]);
    const after = place(auto(5 * minute), three);
    expect([states(after).includes("east Lost"), after.begins, after.failsOverIn]).toEqual([
      true,
      [{ cluster: "east", state: "Lost" }],
      undefined,
    ]);
    const all = [pools(after)["west"], pools(after)["north"]].flat().toSorted();
    expect([all, reasons(after)["east"]]).toEqual([[0, 1, 2, 3], "FailedOver"]);
  });

  test.each<[string, Change, string]>([
    ["an operator does it", { failover: { mode: "manual", afterSeconds: 300 } }, "Unreachable"],
    ["it never fails over", { failover: { mode: "never", afterSeconds: 300 } }, "Unreachable"],
    ["its turn has not come", { mayBegin: () => false }, "FailedOver"],
  ])("keeps them where %s", (_what, change, reason) => {
    const plan = place(auto(10 * minute, change), three);
    expect([pools(plan)["east"], states(plan).includes("east Active"), reasons(plan)["east"]]).toEqual([
      [0, 2],
      true,
      reason,
    ]);
  });

  test("keeps them where it refuses, since it is not known to be lost", () => {
    const refusing = cluster("east", { reachable: false });
    expect(states(place(auto(10 * minute), [refusing, ...three.slice(1)]))).toContain("east Active");
  });

  test("keeps them even on an operator's word where the segment never fails over", () => {
    const drained = { ...silent("east"), draining: true };
    const plan = place(auto(0, { failover: { mode: "never", afterSeconds: 300 } }), [drained, ...three.slice(1)]);
    expect([states(plan).includes("east Active"), reasons(plan)["east"]]).toEqual([true, "NeverFailsOver"]);
  });

  test("keeps them while more than a third, and two at least, are silent, of those that the segment chooses", () => {
    const held = place(auto(10 * minute), [silent("east"), silent("south"), cluster("west"), cluster("north")]);
    expect([states(held).includes("east Active"), reasons(held)["east"]]).toEqual([true, "FailoverHeld"]);
    const many = ["a", "b", "c"].map((name) => cluster(name));
    const moved = place(auto(10 * minute), [silent("east"), silent("south"), cluster("west"), ...many]);
    expect(states(moved)).toContain("east Lost");
    const labels = { tier: "prod" };
    const tier = { placement: { clusters: { matchLabels: labels } } };
    const others = [{ ...silent("east"), labels }, silent("south"), cluster("west", { labels })];
    expect(states(place(auto(10 * minute, tier), others))).toContain("east Lost");
  });

  test("goes on losing them when more fall silent, and has each index once when it is back", () => {
    const begun = place(auto(5 * minute), three);
    const more = [silent("east"), cluster("west"), silent("north")];
    expect(states(place(auto(6 * minute, { previous: begun.assignments }), more))).toContain("east Lost");
    const isServing = (name: string, index: number): boolean => name === "east" || (name === "north" && index === 0);
    const back = [cluster("east"), cluster("west"), cluster("north")];
    const healed = place(auto(7 * minute, { previous: begun.assignments, isServing }), back);
    expect(Object.values(pools(healed)).flat().toSorted()).toEqual([0, 1, 2, 3]);
    expect(states(healed).every((state) => state.endsWith("Active"))).toBe(true);
  });

  test("gets nothing back by itself once all its instances serve elsewhere", () => {
    const begun = place(auto(5 * minute), three);
    const over = place(auto(6 * minute, { previous: begun.assignments, isServing: (name) => name !== "east" }), three);
    expect(Object.keys(pools(over))).not.toContain("east");
    const back = [cluster("east"), cluster("west"), cluster("north")];
    const later = pools(place(auto(7 * minute, { previous: over.assignments }), back));
    expect(later["east"] ?? []).toEqual([]);
  });
});

test("a new start leaves the clusters that do not take the process any more", () => {
  const previous = [held("east", 0, 2), held("west", 1, 3)];
  const clusters = [cluster("east"), cluster("west", { labels: { tier: "prod" } })];
  const change = { previous, placement: { clusters: { matchLabels: { tier: "prod" } } } };
  expect(pools(place(request({ ...change, isNewStart: true }), clusters))).toEqual({ west: [0, 1, 2, 3] });
  expect(pools(place(request(change), clusters))).toEqual({ east: [0, 2], west: [1, 3] });
});

test.each<[string, Partial<ClusterFacts>, string[]]>([
  ["does not answer", { reachable: false, draining: true }, ["east", "west"]],
  ["does not answer and is not chosen any more", { reachable: false, labels: { tier: "test" } }, ["east", "west"]],
  ["answers and is drained", { draining: true }, ["west"]],
  ["is given up", { reachable: false, draining: true, givenUp: true }, ["west"]],
])("a new start where the segment never fails over: a cluster that %s", (_what, facts, expected) => {
  const labels = { tier: "prod" };
  const previous = [held("east", 0, 2), held("west", 1, 3)];
  const never = request({
    previous,
    isNewStart: true,
    placement: { clusters: { matchLabels: labels } },
    failover: { mode: "never", afterSeconds: 300 },
  });
  const plan = place(never, [cluster("east", { labels, ...facts }), cluster("west", { labels })]);
  expect(Object.keys(pools(plan)).toSorted()).toEqual(expected);
  if (expected.length > 1) expect(pools(plan)).toEqual({ east: [0, 2], west: [1, 3] });
});

test("whatever happens, no index is on two clusters, none is missing, and none moves", () => {
  const names = ["a", "b", "c", "d"];
  const step = fc.record({
    instances: fc.nat(12),
    down: fc.subarray(names),
    gone: fc.subarray(names),
    count: fc.option(fc.integer({ min: 1, max: 4 }), { nil: undefined }),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 12 }), (steps) => {
      let previous: Assignment[] = [];
      for (const { instances, down, gone, count } of steps) {
        const clusters = names
          .filter((name) => !gone.includes(name))
          .map((name) => cluster(name, { reachable: !down.includes(name) }));
        const plan = place(
          request({ instances, previous, placement: { ...(count !== undefined && { count }) } }),
          clusters,
        );
        const before = new Map(
          previous.flatMap((one) => listIndexes(one.indexes).map((index) => [index, one.cluster])),
        );
        const placed = Object.entries(pools(plan)).flatMap(([name, indexes]) =>
          indexes.map((index) => ({ name, index })),
        );
        expect(new Set(placed.map(({ index }) => index)).size).toBe(placed.length);
        if (plan.assignments.length > 0) expect(placed).toHaveLength(instances);
        for (const { name, index } of placed) expect(before.get(index) ?? name).toBe(name);
        previous = plan.assignments;
      }
    }),
  );
});

test("whatever is drained and taken back, no instance that takes requests goes before its successor does", () => {
  const names = ["a", "b", "c"];
  const step = fc.record({
    draining: fc.subarray(names),
    mayBegin: fc.boolean(),
    // Instances that have become ready since.
    ready: fc.array(fc.tuple(fc.constantFrom(...names), fc.nat(5)), { maxLength: 8 }),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 15 }), (steps) => {
      let previous: Assignment[] = [held("a", 0, 2, 4), held("b", 1, 3, 5)];
      let serving = new Set(["a 0", "a 2", "a 4", "b 1", "b 3", "b 5"]);
      const keysOf = (all: readonly Assignment[]): string[] =>
        all.flatMap(({ cluster: name, indexes }) => listIndexes(indexes).map((index) => `${name} ${index}`));
      for (const { draining, mayBegin, ready } of steps) {
        const held = new Set(keysOf(previous));
        for (const [name, index] of ready) if (held.has(`${name} ${index}`)) serving.add(`${name} ${index}`);
        const clusters = names.map((name) => cluster(name, { draining: draining.includes(name) }));
        const isServing = (name: string, index: number): boolean => serving.has(`${name} ${index}`);
        previous = place(
          request({ instances: 6, previous, mayBegin: () => mayBegin, isServing }),
          clusters,
        ).assignments;
        serving = new Set(keysOf(previous).filter((key) => serving.has(key)));
        expect([...new Set([...serving].map((key) => Number(key.split(" ")[1])))].toSorted()).toEqual([
          0, 1, 2, 3, 4, 5,
        ]);
      }
    }),
  );
});
