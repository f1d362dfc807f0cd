// For which clusters a first decision waits.
import { expect, test } from "vitest";
import { Cluster } from "../../crds/cluster/cluster.ts";
import { makeObject } from "../../crds/testing/objects.ts";
import type { Reader } from "../../kube/cache/reader.ts";
import type { RemoteCluster, RemoteClusters } from "../../kube/controller/controller.ts";
import { hasUnread } from "./clusters.ts";

const cluster = (status: "True" | "False", metadata: object = {}): Cluster => {
  const reachable = {
    type: "Reachable",
    status,
    reason: "Any",
    message: "",
    lastTransitionTime: "2026-01-01T12:00:00Z",
  };
  return makeObject(Cluster, "west", { spec: {}, status: { conditions: [reachable] }, metadata });
};

test.each<[string, Cluster, boolean, boolean]>([
  ["answers and has not been read", cluster("True"), false, true],
  ["answers and has been read", cluster("True"), true, false],
  ["does not answer", cluster("False"), false, false],
  ["is given up", cluster("True", { deletionTimestamp: "2026-01-01T12:00:00Z" }), false, false],
])("a cluster that %s", (_what, one, isRead, expected) => {
  const read = { list: () => [one] } as unknown as Reader;
  const found = isRead ? ({} as RemoteCluster) : undefined;
  const clusters: RemoteClusters = { markers: undefined, names: () => ["west"], find: () => found };
  expect(hasUnread({ read, clusters })).toBe(expected);
});
