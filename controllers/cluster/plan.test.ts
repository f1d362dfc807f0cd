// Conditions of a Cluster from what the platform has seen of it.
import { expect, test } from "vitest";
import type { Cluster } from "../../crds/cluster/cluster.ts";
import { planConditions, type ClusterObservation } from "./plan.ts";

const cluster = { metadata: { name: "east" }, spec: { server: "https://east" } } as Cluster;
const since = new Date(0);

test.each<[ClusterObservation | undefined, string, string, string]>([
  [undefined, "False", "Engaging", "has not answered yet"],
  [{ state: { phase: "engaging" } }, "False", "Engaging", "has not answered yet"],
  [{ state: { phase: "engaged" } }, "True", "Answers", "answers"],
  [{ state: { phase: "engaged" }, isRead: false }, "False", "Reading", "answers and is being read"],
  [{ state: { phase: "silent", since, reason: "no route" } }, "False", "Silent", "does not answer (no route)"],
  [{ state: { phase: "failed", reason: "no Secret" } }, "False", "NotEngaged", "no Secret"],
  [
    { state: { phase: "refused", since, reason: "Unauthorized" } },
    "False",
    "CredentialRefused",
    "Renew the credential: cup clusters add east",
  ],
  [
    { state: { phase: "engaged" }, refused: ["lrps.workloads.cupola.dev"] },
    "False",
    "RightMissing",
    "cannot list and watch lrps.workloads.cupola.dev",
  ],
])("%j is %s/%s", (seen, status, reason, words) => {
  const { reachable, ready } = planConditions(cluster, seen);
  expect(reachable).toMatchObject({ status, reason, message: expect.stringContaining(words) as string });
  expect(ready).toMatchObject({ status, reason: status === "True" ? "Reachable" : reason });
});
