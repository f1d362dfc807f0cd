// The instance indexes of an LRP's pods: tables of what is planned, and what holds for any history of pods.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { planIndexes, type IndexedPod } from "./index-plan.ts";

const at = (second: number): string => `2026-01-01T00:00:${String(second).padStart(2, "0")}Z`;

function pod(name: string, change: Partial<IndexedPod> = {}): IndexedPod {
  const opened = { gated: false, ready: true, startedOrFailed: true };
  const waiting = { gated: true, ready: false, startedOrFailed: false };
  return {
    uid: name,
    name,
    createdAt: at(1),
    index: undefined,
    live: true,
    ...(change.index === undefined ? waiting : opened),
    ...change,
  };
}

const assigned = (pods: readonly IndexedPod[], instances: number, reserved?: number[]): string[] =>
  planIndexes(pods, { instances }, reserved).assign.map(({ uid, index }) => `${uid}=${index}`);

describe("a gated pod gets the lowest free index", () => {
  test.each<[string, IndexedPod[], string[]]>([
    ["the first pods of a start", [pod("a"), pod("b"), pod("c")], ["a=0", "b=1", "c=2"]],
    ["the older pod first", [pod("a", { createdAt: at(2) }), pod("b")], ["b=0", "a=1"]],
    ["a gap is filled", [pod("a", { index: 0 }), pod("b", { index: 2 }), pod("c")], ["c=1"]],
    ["the index of a terminating or ended pod is free", [pod("a", { index: 0, live: false }), pod("b")], ["b=0"]],
    ["a terminating pod gets none", [pod("a", { live: false })], []],
    ["more pods than instances, as in a rollout", [pod("a", { index: 0 }), pod("b", { index: 1 }), pod("c")], ["c=2"]],
    [
      "a pod keeps the index that was sent before, and no other gets it",
      [pod("a"), pod("b", { index: 0, gated: true, ready: false, startedOrFailed: false, createdAt: at(2) })],
      ["a=1", "b=0"],
    ],
  ])("%s", (_what, pods, expected) => expect(assigned(pods, 3)).toEqual(expected));

  test("of a detached LRP people decide how many there are: none is replaced", () => {
    const pods = [pod("a", { index: 4 }), pod("b")];
    const plan = (detached: boolean) => planIndexes(pods.slice(0, 1), { instances: 1, detached });
    expect([plan(false).replace, plan(true).replace]).toEqual(["a", undefined]);
    expect(planIndexes(pods, { instances: 1, detached: true }).assign).toEqual([{ uid: "b", index: 0 }]);
  });

  test("but none of a pod that only the last leader has seen", () =>
    expect(assigned([pod("a")], 2, [0])).toEqual(["a=1"]));
});

describe("of a pool", () => {
  const pool = {
    instances: 2,
    indexes: [
      { start: 1, end: 1 },
      { start: 4, end: 5 },
    ],
  };

  test("the first indexes go to the oldest pods, then the rest, then some that no pool has", () =>
    expect(
      planIndexes(
        ["a", "b", "c", "d"].map((name) => pod(name)),
        pool,
      ).assign.map(({ index }) => index),
    ).toEqual([1, 4, 5, 10_000]));

  test("a pod with an index of another pool is replaced", () => {
    expect(planIndexes([pod("a", { index: 1 }), pod("b", { index: 0 })], pool).replace).toBe("b");
    expect(planIndexes([pod("a", { index: 1 }), pod("b", { index: 4 })], pool).replace).toBeUndefined();
  });
});

describe("a pod whose index is not wanted is replaced", () => {
  const failing = { ready: false, startedOrFailed: true };
  const starting = { ready: false, startedOrFailed: false };
  test.each<[string, number, IndexedPod[], string | undefined]>([
    ["none when all are in range", 2, [pod("a", { index: 0 }), pod("b", { index: 1 })], undefined],
    ["after a scale-down that took instance 0", 2, [pod("a", { index: 1 }), pod("b", { index: 2 })], "b"],
    ["the highest first", 2, [pod("a", { index: 4 }), pod("b", { index: 3 })], "a"],
    ["an unready one before a ready one", 2, [pod("a", { index: 4 }), pod("b", { index: 3, ...failing })], "b"],
    ["not while another starts", 2, [pod("a", { index: 0, ...starting }), pod("b", { index: 2 })], undefined],
    ["also when another has failed", 2, [pod("a", { index: 0, ...failing }), pod("b", { index: 2 })], "b"],
    ["not while a pod is missing", 2, [pod("a", { index: 2 }), pod("b", { index: 0, live: false })], undefined],
    ["not while there is a surplus", 1, [pod("a", { index: 0 }), pod("b", { index: 1 })], undefined],
    ["not while another waits for its index", 2, [pod("a", { index: 2 }), pod("b")], undefined],
    ["the younger of two with one index", 2, [pod("a", { index: 0, createdAt: at(2) }), pod("b", { index: 0 })], "a"],
  ])("%s", (_what, instances, pods, expected) => expect(planIndexes(pods, { instances }).replace).toBe(expected));
});

/** Plays the ReplicaSet, the kubelet and the plan; `step` picks what happens next. */
function play(
  steps: readonly { what: number; which: number }[],
  check: (pods: IndexedPod[], instances: number) => void,
) {
  let pods: IndexedPod[] = [];
  let instances = 3;
  let made = 0;
  const live = (): IndexedPod[] => pods.filter((one) => one.live);
  const change = (uid: string, to: Partial<IndexedPod>): void =>
    void (pods = pods.map((one) => (one.uid === uid ? { ...one, ...to } : one)));
  const settle = (): void => {
    while (live().length < instances) pods.push(pod(`p${made++}`, { createdAt: at(made % 60) }));
    while (live().length > instances) {
      // A ReplicaSet deletes pods that are not ready first, whatever their cost.
      const [victim] = live().toSorted(
        (a, b) => Number(a.ready) - Number(b.ready) || (b.index ?? 1e9) - (a.index ?? 1e9),
      );
      change(victim?.uid ?? "", { live: false });
    }
    const { assign, replace } = planIndexes(pods, { instances });
    for (const { uid, index } of assign) change(uid, { index, gated: false });
    if (replace !== undefined) change(replace, { live: false });
    check(live(), instances);
  };
  const acts: ((which: number) => void)[] = [
    (which) => void (instances = which % 6),
    (which) => change(pods[which % Math.max(1, pods.length)]?.uid ?? "", { ready: true, startedOrFailed: true }),
    (which) => change(pods[which % Math.max(1, pods.length)]?.uid ?? "", { ready: false, startedOrFailed: true }),
    (which) => change(pods[which % Math.max(1, pods.length)]?.uid ?? "", { live: false }),
  ];
  for (const { what, which } of steps) {
    acts[what]?.(which);
    settle();
  }
  // Nothing more happens: everything starts, and becomes ready.
  for (let round = 0; round < 50; round++) {
    for (const { uid, gated } of live()) if (!gated) change(uid, { ready: true, startedOrFailed: true });
    settle();
  }
  return { indexes: live().map(({ index }) => index), instances };
}

const steps = fc.array(fc.record({ what: fc.nat(3), which: fc.nat(20) }), { maxLength: 40 });

test("whatever happens, no two live pods share an index", () => {
  fc.assert(
    fc.property(steps, (taken) => {
      play(taken, (pods) => {
        const indexes = pods.flatMap(({ index }) => (index === undefined ? [] : [index]));
        expect(new Set(indexes).size).toBe(indexes.length);
      });
    }),
    { numRuns: 500 },
  );
});

test("once everything is quiet the indexes are 0 to instances - 1", () => {
  fc.assert(
    fc.property(steps, (taken) => {
      const { indexes, instances } = play(taken, () => undefined);
      expect(indexes.toSorted((a, b) => (a ?? 0) - (b ?? 0))).toEqual(Array.from({ length: instances }, (_, at) => at));
    }),
    { numRuns: 500 },
  );
});

test("the plan depends on the pods, not on their order, and gives no index beyond their number", () => {
  const anyPod = fc.record({
    uid: fc.nat(1e6).map(String),
    createdAt: fc.nat(3).map(at),
    index: fc.option(fc.nat(5), { nil: undefined }),
    gated: fc.boolean(),
    live: fc.boolean(),
    ready: fc.boolean(),
    startedOrFailed: fc.boolean(),
  });
  const pods = fc.uniqueArray(anyPod, { selector: ({ uid }) => uid, maxLength: 8 });
  fc.assert(
    fc.property(pods, fc.nat(6), (some, instances) => {
      const named = some.map((one) => ({ ...one, name: one.uid }));
      const plan = planIndexes(named, { instances });
      expect(planIndexes(named.toReversed(), { instances })).toEqual(plan);
      // So they are below `instances` whenever there are no more pods than instances.
      const fresh = plan.assign.filter(({ uid }) => named.find((one) => one.uid === uid)?.index === undefined);
      for (const { index } of fresh) expect(index).toBeLessThan(named.filter(({ live }) => live).length);
    }),
  );
});
