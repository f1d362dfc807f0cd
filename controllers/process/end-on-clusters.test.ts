// LRPs on other clusters of a process that ends, or whose app is stopped.
import { describe, expect, test } from "vitest";
import { Cluster } from "../../crds/cluster/cluster.ts";
import { PlacementDecision } from "../../crds/placement-decision/placement-decision.ts";
import { anLRP, aProcess, makeObject } from "../../crds/testing/objects.ts";
import { Process } from "../../crds/process/process.ts";
import type { Reader } from "../../kube/cache/reader.ts";
import type { RemoteCluster, RemoteClusters } from "../../kube/controller/controller.ts";
import { CLUSTERS_FINALIZER, endElsewhere, planEnd } from "./end-on-clusters.ts";
import { processController } from "./process.ts";

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

test("a change of a cluster concerns each process that may have instances there, with a decision or without", () => {
  const named = { lost: [CLUSTERS_FINALIZER], placed: [CLUSTERS_FINALIZER], here: ["other"], plain: [] };
  const processes = Object.entries(named).map(([name, finalizers]) => aProcess({}, { metadata: { name, finalizers } }));
  const all = new Map<unknown, object[]>([
    [Process, processes],
    [PlacementDecision, ["placed", "new"].map((name) => ({ metadata: { name } }))],
  ]);
  const read = { list: (ref: unknown) => all.get(ref) ?? [] } as unknown as Reader;
  const concerned = processController({ apiURL: "https://api.example.org" }).remote?.mapCluster("west", read);
  expect(new Set((concerned as { name: string }[]).map(({ name }) => name))).toEqual(
    new Set(["placed", "new", "lost"]),
  );
});

describe("a process that is being deleted", () => {
  const cluster = (name: string, metadata: object = {}): Cluster => makeObject(Cluster, name, { spec: {}, metadata });
  const decision = makeObject(PlacementDecision, "shop.web", {
    spec: {
      segment: "shared",
      app: "g",
      processType: "web",
      assignments: [{ cluster: "west", indexes: [{ start: 0, end: 0 }], state: "Active", reason: "Chosen" }],
    },
  });

  function end(counts: Record<string, number | undefined>, found?: PlacementDecision, given: object = {}): unknown {
    const all = Object.keys(counts).map((name) => cluster(name, given));
    const read = { find: () => found, list: () => all } as unknown as Reader;
    return planEnd(aProcess(), "g", { read, clusters: clustersWith(counts) })?.ready.reason;
  }

  test("waits for a cluster of its decision that cannot be read, and for no other", () => {
    expect(end({ west: undefined, east: 0 }, decision)).toBe("ClusterUnreachable");
    expect(end({ west: 0, east: undefined }, decision)).toBeUndefined();
    expect(end({ west: 1 }, decision)).toBe("Stopping");
  });

  test("waits for each that cannot be read where its decision was lost, but for those that were given up", () => {
    expect(end({ west: 0, east: undefined })).toBe("ClusterUnreachable");
    expect(end({ west: 0, east: 0 })).toBeUndefined();
    expect(end({ west: undefined }, undefined, { deletionTimestamp: "2026-01-01T00:00:00Z" })).toBeUndefined();
  });
});
