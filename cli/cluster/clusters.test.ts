// The table of clusters.
import { expect, test } from "vitest";
import { Cluster } from "../../crds/cluster/cluster.ts";
import { makeObject } from "../../crds/testing/objects.ts";
import { presentClusters } from "./clusters.ts";

test("it says how much memory is free and which Cupola runs there, where that is known", () => {
  const ready = { type: "Ready", status: "True", reason: "Reachable", message: "", lastTransitionTime: "" };
  const spec = { mode: "push", cordoned: false, drain: false };
  const { text, json } = presentClusters([
    makeObject(Cluster, "west", { spec }),
    makeObject(Cluster, "east", {
      spec,
      status: {
        lrps: 412,
        capacity: { memoryMB: 64_000, requestedMemoryMB: 21_000, freePercent: 67 },
        versions: { kubernetes: "v1.34.4", cupola: "1.6.0" },
        conditions: [ready],
      },
    }),
  ]);
  expect(text.map((line) => line.trim().split(/ {2,}/))).toEqual([
    ["name", "mode", "ready", "lrps", "free", "kubernetes", "cupola", "problem"],
    ["east", "push", "yes", "412", "67 %", "v1.34.4", "1.6.0"],
    ["west", "push", "no", "-", "-", "-", "-"],
  ]);
  expect(json).toMatchObject([
    { freePercent: 67, cupola: "1.6.0" },
    { freePercent: null, cupola: null },
  ]);
});
