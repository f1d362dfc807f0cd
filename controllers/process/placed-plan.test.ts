// The part of each cluster in a process: a start that waits for its own cluster alone, and a step of a Rollout that is shared out.
import { expect, test } from "vitest";
import type { LRP } from "../../crds/lrp/lrp.ts";
import { anLRP, aProcess, aRevision, aRollout } from "../../crds/testing/objects.ts";
import type { Draft } from "../../kube/client/client.ts";
import { NotReady } from "../../kube/controller/controller.ts";
import { countInstances } from "../shared/rollout-counts.ts";
import { planCluster, planClusterRollout, shareOf, type Share } from "./placed-plan.ts";

const content = { description: "", dropletRef: { name: "d1" }, processes: [] };
const [one, two] = [aRevision(1, content), aRevision(2, content)];
const assignments = [
  { cluster: "local", indexes: [{ start: 0, end: 0 }, { start: 2, end: 2 }], state: "Active" as const, reason: "Chosen" },
  { cluster: "west", indexes: [{ start: 1, end: 1 }, { start: 3, end: 3 }], state: "Active" as const, reason: "Chosen" },
]; // prettier-ignore
const lrp = (revision: string, metadata: object = {}): LRP =>
  anLRP({ metadata: { name: `lrp-${revision}`, ...metadata }, spec: { revision, instances: 2 } });
const makeLRP = (revision: { spec: { version: number } }, { instances, indexes }: Share): Draft => ({
  metadata: { name: `lrp-${revision.spec.version}` },
  spec: { instances, indexes },
});
const show = (drafts: Draft[]): [string | undefined, unknown][] =>
  drafts.map((draft) => [draft.metadata.name, (draft["spec"] as { instances: number }).instances]);

test("a cluster has the indexes of its pool that are wanted, and keeps the pool", () => {
  expect(shareOf("west", assignments, 3)).toEqual({ instances: 1, indexes: assignments[1]?.indexes });
  expect(shareOf("north", assignments, 3)).toEqual({ instances: 0, indexes: [] });
});

test.each<[string, LRP[], number, [string, number][]]>([
  ["a start", [], 4, [["lrp-2", 2]]],
  ["a start waits for the end of the former LRP there", [lrp("1")], 4, []],
  ["an LRP of the revision is scaled", [lrp("2")], 3, [["lrp-2", 1]]],
  ["one that ends is waited for", [lrp("2", { deletionTimestamp: "x" })], 4, []],
  ["no instance of the process is the cluster's", [lrp("2")], 1, []],
])("%s", (_what, existing, instances, expected) => {
  const share = shareOf("west", assignments, instances);
  const drafts = planCluster({ name: "west", existing }, { process: aProcess(), revision: two, share, makeLRP });
  expect(show(drafts)).toEqual(expected);
});

test("an input that is missing everywhere does not keep the former LRP", () => {
  const view = { name: "west", existing: [lrp("1")] };
  const missing = (): never => {
    throw new NotReady("DropletMissing", "droplet d1 does not exist");
  };
  const input = { process: aProcess(), revision: two, share: shareOf("west", assignments, 4), makeLRP: missing };
  expect(planCluster(view, input)).toEqual([]);
});

/** `next`: instances of the new version in the stage of both clusters; none before it is under way. */
function planWest(existing: LRP[], { next, rest }: { next: number; rest: number }): Draft[] {
  const versions = { rollout: aRollout(), target: two, running: one };
  const step = {
    goal: { total: 4, limit: 4, maxInFlight: 1 },
    target: countInstances(undefined),
    others: [],
    next,
    rest: [{ lrp: lrp("1"), instances: rest }],
  };
  const stage = { clusters: ["local", "west"], silent: [], pool: [0, 1, 2, 3], isUnderWay: next > 0, step };
  const share = shareOf("west", assignments, 4);
  return planClusterRollout({ name: "west", existing }, { process: aProcess(), versions, stage, share, makeLRP });
}

test.each<[string, LRP[], number, number, [string, number][]]>([
  ["the first new instance is on another cluster", [lrp("1")], 1, 4, [["lrp-1", 2]]],
  ["the second is here, and an old one ends", [lrp("1")], 2, 3, [["lrp-1", 1], ["lrp-2", 1]]],
  ["the old version stays at none, to return to", [lrp("1"), lrp("2")], 4, 0, [["lrp-1", 0], ["lrp-2", 2]]],
  ["before its stage the cluster keeps what it has", [lrp("1")], 0, 0, [["lrp-1", 2]]],
  ["instances that come to it before its stage run the version of the app", [], 0, 0, [["lrp-1", 2]]],
])("%s", (_what, existing, ...[next, rest, expected]) =>
  expect(show(planWest(existing, { next, rest }))).toEqual(expected)); // prettier-ignore

test("a cluster that has left the decision ends what it has", () => {
  const versions = { rollout: aRollout(), target: two, running: one };
  const share = { instances: 0, indexes: [] };
  const input = { process: aProcess(), versions, stage: undefined, share, makeLRP };
  expect(planClusterRollout({ name: "north", existing: [lrp("1")] }, input)).toEqual([]);
});
