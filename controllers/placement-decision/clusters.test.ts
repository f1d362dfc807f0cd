// For which clusters a first decision waits.
import { expect, test } from "vitest";
import { Cluster } from "../../crds/cluster/cluster.ts";
import { makeObject } from "../../crds/testing/objects.ts";
import type { Reader } from "../../kube/cache/reader.ts";
import type { RemoteCluster, RemoteClusters } from "../../kube/controller/controller.ts";
import { hasUnread } from "./clusters.ts";

test.each<[string, "True" | "False", boolean, object, boolean]>([
  ["answers and has not been read", "True", false, {}, true],
  ["answers and has been read", "True", true, {}, false],
  ["does not answer", "False", false, {}, false],
  ["is given up", "True", false, { deletionTimestamp: "2026-01-01T12:00:00Z" }, false],
])("a cluster that %s", (_what, status, isRead, metadata, expected) => {
  const conditions = [
    { type: "Reachable", status, reason: "Any", message: "", lastTransitionTime: "2026-01-01T12:00:00Z" },
  ];
  const read = { list: () => [makeObject(Cluster, "west", { spec: {}, status: { conditions }, metadata })] };
  const clusters: RemoteClusters = {
    markers: undefined,
    names: () => ["west"],
    find: () => (isRead ? ({} as RemoteCluster) : undefined),
  };
  expect(hasUnread({ read: read as unknown as Reader, clusters })).toBe(expected);
});
