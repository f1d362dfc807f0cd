// The part of each stage of clusters in a step of a Rollout.
import { expect, test } from "vitest";
import type { PlacedLRP } from "../../crds/placement-decision/placement-decision.ts";
import type { Rollout } from "../../crds/rollout/rollout.ts";
import { aRevision, aRollout } from "../../crds/testing/objects.ts";
import { planStageSteps, type StageStep } from "./rollout-stages.ts";

const content = { description: "", dropletRef: { name: "d1" }, processes: [] };
const [one, two] = [aRevision(1, content), aRevision(2, { ...content, rollout: "r1" })];

/** Two indexes on each cluster: 0 and 1 on east, 2 and 3 on north, 4 and 5 on west. */
const POOLS = { east: [0, 1], north: [2, 3], west: [4, 5] };
const range = (indexes: readonly number[]) => indexes.map((index) => ({ start: index, end: index }));
const assign = (cluster: string, indexes: readonly number[], state: "Active" | "Draining" = "Active") => ({
  cluster,
  indexes: range(indexes),
  state,
  reason: "Chosen",
});
const ASSIGNMENTS = Object.entries(POOLS).map(([name, indexes]) => assign(name, indexes));

const lrp = (name: keyof typeof POOLS, revision: string, { wanted = 2, state = "Running" } = {}): PlacedLRP => ({
  name,
  lrp: `shop-${revision}-${name}`,
  revision,
  class: "runner",
  processGUID: "g",
  memoryMB: 64,
  diskMB: 64,
  logRateLimitBytesPerSecond: -1,
  wanted,
  indexes: range(POOLS[name]),
  instances: POOLS[name]
    .slice(0, wanted)
    .map((index) => ({ index, state: state as "Running", ready: state === "Running" })),
});
const OLD = (["east", "north", "west"] as const).map((name) => lrp(name, "1"));

interface Given {
  spec?: object;
  status?: Partial<NonNullable<Rollout["status"]>>;
  placed?: PlacedLRP[];
  silent?: string[];
  assignments?: typeof ASSIGNMENTS;
}

function plan({ spec = {}, status = {}, placed = OLD, silent = [], assignments = ASSIGNMENTS }: Given): StageStep[] {
  const stages = [["east"], ["north", "west"]];
  const rollout = aRollout(spec, { name: "r1", status: { stages, stage: 1, ...status } });
  const isBack = rollout.spec.cancelled === true;
  return planStageSteps(
    { rollout, target: isBack ? one : two, running: one },
    { rollouts: [rollout], revisions: [one, two] },
    { namespace: "acme-dev", placed, assignments, wanted: 6, silent: new Set(silent) },
  );
}

/** The next number of new instances of each stage, or nothing while it waits. */
const next = (given: Given): (number | undefined)[] =>
  plan(given).map(({ isUnderWay, step }) => (isUnderWay ? step.next : undefined));
const goals = (given: Given): string[] => plan(given).map(({ step: { goal } }) => `${goal.limit} of ${goal.total}`);

test("only the first stage begins, by as many instances as may start at once", () => {
  expect(next({})).toEqual([1, undefined]);
  expect(next({ spec: { maxInFlight: 10 } })).toEqual([2, undefined]);
});

test("nothing begins before the stages are chosen", () =>
  expect(next({ status: { stages: undefined } })).toEqual([undefined]));

test("the second stage begins with the first one's part done", () => {
  const placed = [lrp("east", "1", { wanted: 0 }), lrp("east", "2"), ...OLD.slice(1)];
  expect(next({ placed, status: { stage: 2 } })).toEqual([2, 1]);
});

test("an old instance of a stage ends only when a new one of it takes requests", () => {
  const rest = (placed: PlacedLRP[]): number[] =>
    plan({ placed }).map(({ step }) => step.rest.find(({ lrp: { spec } }) => spec.revision === "1")?.instances ?? -1);
  expect(rest([...OLD, lrp("east", "2", { wanted: 1, state: "Starting" })])).toEqual([2, 4]);
  expect(rest([...OLD, lrp("east", "2", { wanted: 1 })])).toEqual([1, 4]);
});

test.each<[string, number, string[]]>([
  ["one instance beside the others", 1, ["1 of 3", "0 of 4"]],
  ["the first stage whole", 33, ["2 of 3", "0 of 4"]],
  ["the first stage and one of the second", 50, ["2 of 2", "1 of 5"]],
  ["all, and none beside them", 100, ["2 of 2", "4 of 4"]],
])("a canary's weight fills the stages in their order: %s", (_what, instanceWeight, expected) => {
  const spec = { strategy: "canary", canarySteps: [{ instanceWeight }, { instanceWeight: 100 }] };
  expect(goals({ spec })).toEqual(expected);
});

test("a cancellation returns the last stage first", () => {
  const spec = { cancelled: true };
  const back = (name: keyof typeof POOLS): PlacedLRP[] => [lrp(name, "1", { wanted: 0 }), lrp(name, "2")];
  const both = [...back("east"), ...back("north"), ...back("west")];
  expect(next({ spec, placed: both, status: { stage: 2 } })).toEqual([undefined, 4]);
  const first = [...back("east"), ...OLD.slice(1)];
  expect(next({ spec, placed: first, status: { stage: 2 } })).toEqual([2, 4]);
});

test("a cluster that does not answer takes no part, and the others of its stage go on", () => {
  const [, second] = plan({ silent: ["west"], status: { stage: 2 } });
  expect([second?.silent, second?.pool, second?.step.goal.limit, second?.step.next]).toEqual([["west"], [2, 3], 2, 1]);
});

test("a cluster that has come since belongs to the last stage, and one that is left to none", () => {
  const assignments = [assign("east", [0, 1]), assign("west", [4, 5]), assign("south", [2, 3])];
  const clusters = (given: Given): (readonly string[])[] => plan(given).map((stage) => stage.clusters);
  expect(clusters({ assignments })).toEqual([["east"], ["west", "south"]]);
  const draining = assign("north", [2, 3], "Draining");
  expect(clusters({ assignments: [...assignments, draining] })).toEqual([["east"], ["west", "south"]]);
  expect(clusters({ assignments: [assign("east", [0, 1]), draining] })).toEqual([["east"], ["north"]]);
});

test("an index that no cluster has keeps the last stage open", () =>
  expect(goals({ assignments: ASSIGNMENTS.slice(0, 2) })).toEqual(["2 of 2", "4 of 4"]));
