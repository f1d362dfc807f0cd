// Sentences of `cup placement explain`.
import { expect, test } from "vitest";
import type { ClusterFacts, PlacementRequest } from "../../controllers/placement-decision/plan.ts";
import type { PlacementDecision } from "../../crds/placement-decision/placement-decision.ts";
import { presentExplanation } from "./explain.ts";

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

test("each cluster has a reason, in words that name the next step", () => {
  const spec = {
    segment: "shared",
    app: "guid",
    processType: "web",
    assignments: [{ cluster: "east", indexes: [{ start: 0, end: 1 }], state: "Active", reason: "Chosen" }],
  } satisfies PlacementDecision["spec"];
  const request: PlacementRequest = {
    guid: "g",
    instances: 2,
    runner: "deployment",
    memoryMB: 64,
    hasVolumes: false,
    placement: { clusters: { matchLabels: {} }, count: 2, tolerations: [] },
    previous: spec.assignments,
    isNewStart: false,
    kept: new Set(),
    failover: { mode: "manual", afterSeconds: 300 },
    now: 0,
    mayBegin: () => true,
    isServing: () => false,
  };
  const facts = [
    cluster("east"),
    cluster("gpu", { taints: ["gpu"] }),
    cluster("old", { runners: new Map() }),
    cluster("shut", { cordoned: true }),
    cluster("west"),
    cluster("far", { weight: 1 }),
  ];
  const { json } = presentExplanation({ spec }, { request, facts });
  const { clusters } = json as { clusters: { cluster: string; indexes: number[]; why: string }[] };
  expect(clusters.map((one) => [one.cluster, one.indexes.length, one.why])).toEqual([
    ["east", 2, "holds them, and takes new ones"],
    ["gpu", 0, "rejected: taint gpu, which the segment does not tolerate"],
    ["old", 0, "rejected: it has no runner deployment"],
    ["shut", 0, "rejected: it is cordoned (cup clusters uncordon)"],
    ["west", 0, "takes new instances"],
    ["far", 0, "would take it, and the segment has enough clusters without it"],
  ]);
});
