// Conditions of a Cluster from what the platform has seen of it.
import { expect, test } from "vitest";
import type { Cluster } from "../../crds/cluster/cluster.ts";
import { HERE_LABEL } from "../../crds/cluster/local-cluster.ts";
import {
  isStillAsking,
  planConditions,
  planSilence,
  staysReachable,
  toCapacity,
  toHints,
  type ClusterObservation,
} from "./plan.ts";

const cluster = { metadata: { name: "east" }, spec: { server: "https://east" } } as Cluster;
const since = new Date(0);

test.each<[ClusterObservation | undefined, string, string, string]>([
  [undefined, "False", "Engaging", "has not answered yet"],
  [{ state: { phase: "engaging" } }, "False", "Engaging", "has not answered yet"],
  [{ state: { phase: "engaged" } }, "True", "Answers", "answers"],
  [{ state: { phase: "engaged" }, isRead: false }, "False", "Reading", "answers and is being read"],
  [{ state: { phase: "silent", since, reason: "no route" } }, "False", "Silent", "does not answer (no route)"],
  [{ state: { phase: "failed", reason: "no Secret", isSilent: false } }, "False", "NotEngaged", "no Secret"],
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
  [{ state: { phase: "failed", reason: "no route", isSilent: true } }, "False", "NotEngaged", "no route"],
])("%j is %s/%s", (seen, status, reason, words) => {
  const { reachable, ready } = planConditions(cluster, seen);
  expect(reachable).toMatchObject({ status, reason, message: expect.stringContaining(words) as string });
  expect(ready).toMatchObject({ status, reason: status === "True" ? "Reachable" : reason });
});

test("a cluster whose logs nobody can read says so, until its token has come", () => {
  const seen = (hasLogToken?: boolean): ClusterObservation => ({
    state: { phase: "engaged" },
    ...(hasLogToken !== undefined && { hasLogToken }),
  });
  const [missing] = toHints(cluster, seen(false));
  expect(missing).toMatchObject({
    type: "LogsReadable",
    status: "False",
    message: expect.stringContaining("cup clusters add east --context") as string,
  });
  expect(toHints(cluster, seen(true))).toEqual([]);
  const said = { ...cluster, status: { conditions: [missing] } } as unknown as Cluster;
  expect(toHints(said, seen(true))).toMatchObject([{ type: "LogsReadable", status: "True" }]);
  expect(toHints({ ...cluster, spec: { ...cluster.spec, mode: "pull" } }, seen(false))).toEqual([]);
  const here = { ...cluster, metadata: { name: "east", labels: { [HERE_LABEL]: "running" } } } as unknown as Cluster;
  expect(toHints(here, seen(false))).toEqual([]);
  expect(toHints(cluster, undefined)).toEqual([]);
});

test("a cluster that was known is silent, too, where the platform has started since", () => {
  const known = { ...cluster, status: { clusterUID: "uid" } } as Cluster;
  const seen = (isSilent: boolean): ClusterObservation => ({
    state: { phase: "failed", reason: "no route", isSilent },
  });
  expect([true, false].map((one) => planConditions(known, seen(one)).reachable.reason)).toEqual([
    "Silent",
    "NotEngaged",
  ]);
});

test("a silence begins when a cluster stops to answer, not when it refuses, and lasts while it is asked anew", () => {
  const [first, later] = [new Date("2026-01-01T12:00:00Z"), new Date("2026-01-01T13:00:00Z")];
  const silent: ClusterObservation = { state: { phase: "silent", since, reason: "no route" } };
  const others: (ClusterObservation | undefined)[] = [
    undefined,
    { state: { phase: "engaging" } },
    { state: { phase: "engaged" } },
    { state: { phase: "engaged" }, isRead: false },
    { state: { phase: "engaged" }, refused: ["lrps"] },
    { state: { phase: "refused", since, reason: "Unauthorized" } },
    { state: { phase: "failed", reason: "no Secret", isSilent: false } },
  ];
  const sinceOf = (before: string | undefined, seen: ClusterObservation | undefined): string | undefined => {
    const conditions = [{ type: "Reachable", status: "False", reason: "Any", lastTransitionTime: first.toISOString() }];
    const known = {
      ...cluster,
      status: { conditions, ...(before !== undefined && { silentSince: before }) },
    } as Cluster;
    return planSilence(known, planConditions(known, seen).reachable, later).silentSince;
  };
  const [before, after] = [first.toISOString(), later.toISOString()];
  expect([sinceOf(undefined, silent), sinceOf(before, silent)]).toEqual([after, before]);
  expect(others.map((one) => sinceOf(before, one))).toEqual([before, before, ...Array<undefined>(5).fill(undefined)]);
  expect(others.map((one) => sinceOf(undefined, one))).toEqual(others.map(() => undefined));
});

test("a new leader takes a cluster for one that answers while it asks it, and no longer", () => {
  const answered = { ...cluster, status: { conditions: [{ type: "Reachable", status: "True" }] } } as Cluster;
  expect([0, 14_999, 15_000].map((ms) => staysReachable(answered, ms))).toEqual([true, true, false]);
  expect(staysReachable(cluster, 0)).toBe(false);
  const asking: (ClusterObservation | undefined)[] = [
    undefined,
    { state: { phase: "engaging" } },
    { state: { phase: "engaged" }, isRead: false },
  ];
  expect(asking.map(isStillAsking)).toEqual([true, true, true]);
  const known: ClusterObservation[] = [
    { state: { phase: "engaged" }, isRead: true },
    { state: { phase: "engaged" }, isRead: false, refused: ["lrps"] },
    { state: { phase: "silent", since, reason: "no route" } },
  ];
  expect(known.map(isStillAsking)).toEqual([false, false, false]);
});

test.each([
  [{ memoryMB: 1000, requestedMemoryMB: 333 }, 66],
  [{ memoryMB: 1000, requestedMemoryMB: 2000 }, 0],
  [{ memoryMB: 0, requestedMemoryMB: 0 }, 0],
])("of %j so many percent are free", (capacity, freePercent) =>
  expect(toCapacity(capacity)).toEqual({ ...capacity, freePercent }),
);
