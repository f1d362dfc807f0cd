// How many processes may leave a cluster at their next start.
import { expect, test } from "vitest";
import { Cluster } from "../../crds/cluster/cluster.ts";
import { makeObject } from "../../crds/testing/objects.ts";
import { DELETE_WINDOW_MS } from "../shared/delete-limit.ts";
import { createLeaveGuard } from "./leave-guard.ts";

const cluster = (allowDeletes = ""): Cluster =>
  makeObject(Cluster, "east", { spec: { allowDeletes }, status: { lrps: 100 } });

test("a third of its apps may leave within ten minutes, and each of them says so as often as it likes", () => {
  const guard = createLeaveGuard();
  const leave = (uid: number, now: number): boolean => guard.mayLeave(cluster(), String(uid), now);
  const answers = Array.from({ length: 40 }, (_, uid) => leave(uid, 0));
  expect(answers.filter(Boolean)).toHaveLength(30);
  expect([leave(0, 1), leave(39, DELETE_WINDOW_MS - 1), leave(39, DELETE_WINDOW_MS)]).toEqual([true, false, true]);
});

test("all may once a person says so, and the value that was there at the start is no such word", () => {
  const guard = createLeaveGuard();
  const all = (value: string): number =>
    Array.from({ length: 40 }, (_, uid) => guard.mayLeave(cluster(value), `${value}${uid}`, 0)).filter(Boolean).length;
  expect([all("old"), all("new"), all("old")]).toEqual([30, 40, 40]);
});
