// Clusters that are to have a bundle, and what its condition says of the others.
import { expect, test } from "vitest";
import { Cluster } from "../../crds/cluster/cluster.ts";
import { ClusterBundle } from "../../crds/cluster-bundle/cluster-bundle.ts";
import { makeObject } from "../../crds/testing/objects.ts";
import { chooseClusters, mustWait, planHold, toReady, type Candidate } from "./plan.ts";

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

const NOW = new Date("2026-11-28T10:00:00Z");
const slow = makeObject(ClusterBundle, "base", {
  spec: { clusters: {}, manifestsFrom: { configMap: "base" }, soakSeconds: 600 },
});
const candidate = (name: string, known: object = {}, content: string | undefined = "new"): Candidate => ({
  known: { name, objects: [], ...known },
  ...(content && { content }),
});
/** Names of those that wait. */
const waiting = (...candidates: Candidate[]): string[] => {
  const hold = planHold(slow, candidates, NOW);
  return candidates.filter((one) => mustWait(one, hold)).map(({ known }) => known.name);
};

const HAS_IT = { content: "new", since: "2026-11-28T09:00:00Z" };

test.each<[string, object, string?]>([
  ["got them a moment ago", { content: "new", since: "2026-11-28T09:59:00Z" }],
  ["refused them", { content: "old", refused: "new", problem: "no" }],
  ["has them, and refuses to have them put right", { ...HAS_IT, refused: "new", problem: "no" }],
  ["lacks a value", {}, ""],
])("a cluster that joins waits, whatever its name, for one that %s", (_name, known, content) =>
  expect(waiting(candidate("a"), candidate("b", known, content), candidate("c"))).toEqual(["a", "c"]),
);

test.each<[string, object]>([
  ["has had them for long", HAS_IT],
  ["refused others", { content: "old", refused: "old", problem: "no" }],
  ["does not answer", { content: "old", since: "2026-11-28T09:59:00Z", problem: "no answer" }],
])("nobody waits for one that %s", (_name, known) =>
  expect(waiting(candidate("a"), candidate("b", known))).toEqual([]),
);
