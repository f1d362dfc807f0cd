// Clusters that are to have a bundle, and what its condition says of the others.
import { expect, test } from "vitest";
import { Cluster } from "../../crds/cluster/cluster.ts";
import { ClusterBundle } from "../../crds/cluster-bundle/cluster-bundle.ts";
import { makeObject } from "../../crds/testing/objects.ts";
import { chooseClusters, toReady } from "./plan.ts";

const bundle = makeObject(ClusterBundle, "base", {
  spec: { clusters: { matchLabels: { tier: "prod" } }, manifestsFrom: { configMap: "base" } },
});
const cluster = (name: string, mode: "push" | "pull", tier = "prod"): Cluster =>
  makeObject(Cluster, name, { metadata: { labels: { tier } }, spec: { mode } });

test("a cluster of mode pull takes no bundle, holds nothing up, and is named", () => {
  const clusters = [cluster("west", "pull"), cluster("east", "push"), cluster("south", "push", "test")];
  const chosen = chooseClusters(bundle, clusters);
  expect(chosen).toEqual({ wanted: ["east"], pulled: ["west"] });
  expect(toReady(chosen, 1, [{ name: "east", objects: [] }])).toEqual({
    status: "True",
    reason: "Applied",
    message: "applied on east; clusters of mode pull take no bundles: west",
  });
});
