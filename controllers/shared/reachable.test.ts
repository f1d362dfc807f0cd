// Since when a cluster is silent.
import { expect, test } from "vitest";
import { Cluster } from "../../crds/cluster/cluster.ts";
import { makeObject } from "../../crds/testing/objects.ts";
import { silentSince } from "./reachable.ts";

test.each<[string, string | undefined, string | undefined, number | undefined]>([
  ["False", "Silent", "2026-01-01T13:00:00Z", Date.parse("2026-01-01T13:00:00Z")],
  ["False", "Silent", undefined, undefined],
  ["False", "Engaging", "2026-01-01T13:00:00Z", undefined],
  ["True", "Answers", undefined, undefined],
])("%s/%s with a silence since %s", (status, reason, since, expected) => {
  // It may have refused the platform for an hour before.
  const conditions = [{ type: "Reachable", status, reason, message: "", lastTransitionTime: "2026-01-01T12:00:00Z" }];
  const cluster = makeObject(Cluster, "east", {
    spec: {},
    status: { conditions, ...(since !== undefined && { silentSince: since }) },
  });
  expect(silentSince(cluster)).toBe(expected);
});
