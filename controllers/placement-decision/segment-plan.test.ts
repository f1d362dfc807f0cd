// Processes whose segment has no placement any more: they stay where they are, but for clusters that are left.
import { expect, test } from "vitest";
import { Cluster } from "../../crds/cluster/cluster.ts";
import { PlacementDecision, type Assignment } from "../../crds/placement-decision/placement-decision.ts";
import { anApp, aProcess, aRunner, makeObject } from "../../crds/testing/objects.ts";
import type { ResourceRef } from "../../kube/api/resource-ref.ts";
import type { Reader } from "../../kube/cache/reader.ts";
import { planFor } from "./segment-plan.ts";

const reachable = {
  conditions: [{ type: "Reachable", status: "True" }],
  classes: [{ role: "runner", name: "runner" }],
};
const west = (spec: object, metadata: object = {}): Cluster =>
  makeObject(Cluster, "west", { spec, metadata, status: reachable });
const on = (cluster: string, state: Assignment["state"] = "Active"): Assignment => ({
  cluster,
  indexes: [{ start: 0, end: 0 }],
  state,
  reason: "Chosen",
});

function planned(clusters: Cluster[], assignments: Assignment[], instances = 1): [string, string][] | undefined {
  const decision = makeObject(PlacementDecision, "shop.web", {
    spec: { segment: "shared", app: "g", processType: "web", assignments },
  });
  const runner = aRunner("runner", {}, instances > 1 ? { indexes: "any" } : {});
  const objects: Record<string, unknown[]> = { Cluster: clusters, BackendClass: [runner] };
  const read = {
    find: () => undefined,
    list: ({ kind }: ResourceRef) => objects[kind] ?? [],
    byIndex: () => [],
  } as unknown as Reader;
  const plan = planFor(aProcess({ instances }), anApp({ state: "Started" }), { read, now: new Date(0), decision });
  return plan?.assignments.map((one) => [one.cluster, one.state]);
}

test("it stays on a cluster that is not left", () => expect(planned([west({})], [on("west")])).toBeUndefined());

test("it moves home from a cluster that is drained", () =>
  expect(planned([west({ drain: true })], [on("west")])).toEqual([
    ["local", "Active"],
    ["west", "Draining"],
  ]));

test("it is home at once when a cluster is given up", () =>
  expect(planned([west({}, { deletionTimestamp: "2026-01-01T00:00:00Z" })], [on("west")])).toEqual([
    ["local", "Active"],
  ]));

test("one of two clusters is left, and the other keeps its part", () => {
  const east = makeObject(Cluster, "east", { spec: {}, status: reachable });
  const part = (cluster: string, index: number): Assignment => ({
    ...on(cluster),
    indexes: [{ start: index, end: index }],
  });
  expect(planned([west({ drain: true }), east], [part("east", 0), part("west", 1)], 2)).toEqual([
    ["east", "Active"],
    ["local", "Active"],
    ["west", "Draining"],
  ]);
});

test("a drain that is taken back leaves each index on one cluster", () => {
  const plan = planned([west({})], [on("local"), on("west", "Draining")]);
  expect(plan?.every(([, state]) => state === "Active")).toBe(true);
});
