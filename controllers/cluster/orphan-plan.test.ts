// Which objects without an owner go, and which are held.
import { expect, test } from "vitest";
import { Cluster, MAX_ORPHANS } from "../../crds/cluster/cluster.ts";
import { makeObject } from "../../crds/testing/objects.ts";
import { deleteLimit } from "../shared/delete-limit.ts";
import { HOLD_MS, planOrphans, toOrphanConditions, type OrphanChild, type OrphanPlan } from "./orphan-plan.ts";

const now = new Date("2026-01-01T12:00:00Z");
const ago = (ms: number): string => new Date(now.getTime() - ms).toISOString();

const children = (count: number, change: Partial<OrphanChild> = {}): OrphanChild[] =>
  Array.from({ length: count }, (_, at) => ({
    kind: "LRP",
    namespace: "acme-dev",
    name: `lrp-${String(at).padStart(3, "0")}`,
    uid: `uid-${at}`,
    hasNoSpace: false,
    ...change,
  }));

const cluster = (status: object = {}, spec: object = {}): Cluster =>
  makeObject(Cluster, "east", { spec, status: { allowedDeletes: "", ...status } });
const seenFor = (seen: readonly OrphanChild[], ms: number): object => ({
  orphans: seen.map(({ hasNoSpace: _, ...one }) => ({ ...one, since: ago(ms) })),
});
const plan = (one: Cluster, seen: readonly OrphanChild[], lrps = 100): OrphanPlan =>
  planOrphans(one, { seen, lrps, now });
const counts = ({ orphans, due, held }: OrphanPlan): number[] => [orphans.length, due.length, held.length];

test("the limit is a share, or a small batch", () =>
  expect([0, 20, 66, 67, 1000].map(deleteLimit)).toEqual([20, 20, 20, 20, 300]));

test("an hour passes before one goes", () => {
  const seen = children(3);
  expect(counts(plan(cluster(), seen))).toEqual([3, 0, 0]);
  expect(counts(plan(cluster(seenFor(seen, HOLD_MS - 1)), seen))).toEqual([3, 0, 0]);
  expect(counts(plan(cluster(seenFor(seen, HOLD_MS)), seen))).toEqual([3, 3, 0]);
});

test("the hour of an object of the same name begins anew", () => {
  const [one] = children(1);
  const again = { ...one!, uid: "another" };
  expect(counts(plan(cluster(seenFor([one!], HOLD_MS)), [again]))).toEqual([1, 0, 0]);
});

test("more than the limit are held, those of the ten minutes before included", () => {
  const seen = children(31);
  expect(counts(plan(cluster(seenFor(seen, HOLD_MS)), seen))).toEqual([31, 0, 31]);
  expect(counts(plan(cluster(seenFor(seen, HOLD_MS)), seen.slice(0, 30)))).toEqual([30, 30, 0]);
  const few = children(5);
  const recent = (count: number, ms: number): object => ({ orphansDeleted: { since: ago(ms), count } });
  expect(counts(plan(cluster({ ...seenFor(few, HOLD_MS), ...recent(26, 1000) }), few))).toEqual([5, 0, 5]);
  expect(counts(plan(cluster({ ...seenFor(few, HOLD_MS), ...recent(26, 600_000) }), few))).toEqual([5, 5, 0]);
});

test("those that the status has no room for count, too", () => {
  const lost = (count: number): OrphanPlan => {
    const seen = children(count);
    return plan(cluster(seenFor(seen.slice(0, MAX_ORPHANS), HOLD_MS)), seen, 1000);
  };
  expect(counts(lost(150))).toEqual([MAX_ORPHANS, MAX_ORPHANS, 0]);
  expect(counts(lost(301))).toEqual([MAX_ORPHANS, 0, MAX_ORPHANS]);
  expect(toOrphanConditions(cluster(), lost(334))[1]?.message).toContain("the deletion of 334 objects");
  const homeless = children(300, { uid: "homeless", name: "z", hasNoSpace: true });
  const seen = [...children(MAX_ORPHANS), ...homeless];
  expect(counts(plan(cluster(seenFor(seen.slice(0, MAX_ORPHANS), HOLD_MS)), seen, 1000))).toEqual([100, 100, 0]);
});

test("the condition never says that less than none may go", () => {
  const seen = children(1);
  const one = cluster({ ...seenFor(seen, HOLD_MS), orphansDeleted: { since: ago(1000), count: 30 } });
  expect(toOrphanConditions(one, plan(one, seen, 10))[1]?.message).toContain("at most 0 may go");
});

test("one whose space is gone waits for a person, and holds no other", () => {
  const seen = [...children(1), ...children(1, { uid: "homeless", name: "z", hasNoSpace: true })];
  const held = plan(cluster(seenFor(seen, HOLD_MS)), seen);
  expect([held.due.map(({ uid }) => uid), held.held.map(({ uid }) => uid)]).toEqual([["uid-0"], ["homeless"]]);
});

test("a new word lets all go that are listed, one that is older than the status none", () => {
  const seen = children(MAX_ORPHANS + 50, { hasNoSpace: true });
  const told = seenFor(seen.slice(0, 60), 0);
  expect(counts(plan(cluster(told, { allowDeletes: "now" }), seen))).toEqual([MAX_ORPHANS, 60, 0]);
  expect(counts(plan(cluster({ allowedDeletes: "now" }, { allowDeletes: "now" }), seen))).toEqual([MAX_ORPHANS, 0, 0]);
  const restored = makeObject(Cluster, "east", { spec: { allowDeletes: "now" } });
  expect(counts(plan(restored, seen))).toEqual([MAX_ORPHANS, 0, 0]);
});

test("a cluster that never had an orphan says nothing, one that has names it and the next step", () => {
  expect(toOrphanConditions(cluster(), plan(cluster(), []))).toEqual([]);
  const seen = children(31);
  const one = cluster(seenFor(seen, HOLD_MS));
  expect(toOrphanConditions(one, plan(one, seen)).map(({ type, status, message }) => [type, status, message])).toEqual([
    ["Orphans", "True", expect.stringContaining("31 objects on cluster east have owners")],
    ["DeletesHeld", "True", expect.stringContaining("cup clusters allow-deletes east")],
  ]);
});
