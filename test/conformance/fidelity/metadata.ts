// Random metadata, good and bad, for objects and for patches of them.
import type { Json } from "../kubernetes/api.ts";
import type { Random } from "./random.ts";

const LABELS: Record<string, (random: Random) => string> = {
  app: (random) => random.pick(["a", "b", "c"]),
  tier: (random) => random.pick(["web", "db"]),
  "example.com/x": () => "1",
  empty: () => "",
};
const badLabels: Json[] = [
  { "bad key": "1" },
  { a: "not ok!" },
  { "a/b/c": "1" },
  { ["k".repeat(64)]: "1" },
  { long: "v".repeat(64) },
  { "/x": "1" },
  { "UPPER.com/x": "1" },
  { n: 5 },
  { n: null },
];
const badFinalizers = [["no-domain"], ["Bad/Name!"], ["a/b/c"], [""]];
/** How often metadata has something refused in it. */
const BAD = 0.03;

export function labels(random: Random): Json {
  if (random.chance(BAD)) return random.pick(badLabels);
  return Object.fromEntries(random.some(Object.keys(LABELS), 0.45).map((key) => [key, LABELS[key]?.(random)]));
}

const annotations = (random: Random): Json =>
  random.chance(BAD)
    ? random.pick<Json>([{ "bad key": "x" }, { "a/b/c": "1" }, { n: 1 }, { UPPER: "ok" }])
    : Object.fromEntries(random.some(["note", "example.com/by"], 0.6).map((key) => [key, random.pick(["x", "y", ""])]));

const finalizers = (random: Random): Json =>
  random.chance(BAD) ? random.pick(badFinalizers) : random.some(["example.com/a", "example.com/b"], 0.5);

/** Metadata of a body, without the name. */
export function metadata(random: Random): Json {
  return {
    ...(random.chance(0.4) && { labels: labels(random) }),
    ...(random.chance(0.25) && { annotations: annotations(random) }),
    ...(random.chance(0.12) && { finalizers: finalizers(random) }),
    ...(random.chance(0.03) &&
      random.pick<Json>([
        { uid: "<uid>" },
        { uid: "00000000-0000-0000-0000-000000000000" },
        { generation: 7 },
        { creationTimestamp: null },
        { creationTimestamp: "2020-01-01T00:00:00Z" },
        { deletionTimestamp: "2020-01-01T00:00:00Z" },
        { selfLink: "x" },
        { unknown: 1 },
        { namespace: "other" },
        { managedFields: [] },
        { managedFields: [{}] },
        { ownerReferences: [] },
        { labels: null },
        { name: "other" },
        { deletionGracePeriodSeconds: 5 },
        { generateName: "g-" },
      ])),
  };
}

/** Names that a create tries now and then instead of a good one. */
export const oddNames = [
  "",
  "UPPER",
  "a_b",
  "x".repeat(64),
  "x".repeat(254),
  "a..b",
  "-a",
  "a.",
  "1a",
  "a/b",
  "..",
  "a%b",
  "é",
];
