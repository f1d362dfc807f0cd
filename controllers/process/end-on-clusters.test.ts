// LRPs on other clusters of a process that ends, or whose app is stopped.
import { expect, test } from "vitest";
import { anLRP } from "../../crds/testing/objects.ts";
import type { RemoteCluster, RemoteClusters } from "../../kube/controller/controller.ts";
import { endElsewhere } from "./end-on-clusters.ts";

/** Clusters by name with their numbers of LRPs; undefined for one that cannot be read. */
function clustersWith(counts: Record<string, number | undefined>): RemoteClusters {
  return {
    markers: undefined,
    names: () => Object.keys(counts),
    find(name) {
      const count = counts[name];
      if (count === undefined) return undefined;
      return { listOwned: () => Array.from({ length: count }, () => anLRP({})) } as unknown as RemoteCluster;
    },
  };
}

test("an LRP that came after the app was stopped ends, without a decision that names its cluster", () =>
  expect(endElsewhere({ children: [] }, { guid: "g", clusters: clustersWith({ east: 0, west: 1 }) })).toEqual({
    children: [],
    remote: { owner: "g", children: { west: [] } },
  }));

test("a cluster that cannot be read is left alone", () =>
  expect(endElsewhere({ children: [] }, { guid: "g", clusters: clustersWith({ west: undefined }) })).toEqual({
    children: [],
  }));
