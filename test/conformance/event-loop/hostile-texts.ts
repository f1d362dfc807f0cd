// Queries and JSON patches that cost the most to read.
import type { Bodies } from "./hostile-bodies.ts";

/** Characters of a query; a request's head has at most 64 KiB. */
const MOST_QUERY = 60_000;

const long = (part: string): string =>
  encodeURIComponent(part.repeat(MOST_QUERY)).slice(0, MOST_QUERY).replace(/%.?$/, "");

const VALUES: Bodies = {
  "a list": long("a,"),
  commas: long(","),
  requirements: long("a=b,"),
  "requirements of sets": long("a in (b,c),"),
  "an open set": `a+in+(${long("b,")}`,
  brackets: long("("),
  "exclamation marks": long("!"),
  spaces: long(" "),
  "a long word": long("a"),
  dashes: long("a-"),
  dots: long("a."),
  slashes: long("a/"),
  numbers: long("1,"),
  times: long("2020-01-01T00:00:00Z,"),
  percents: long("%25"),
};

/** A query of each sort for each parameter, and queries of many parameters. */
export function longQueries(names: readonly string[]): Bodies {
  const queries: Bodies = {
    "many unknown parameters": Array.from({ length: 6_000 }, (_, at) => `p${at}=1`).join("&"),
    "one parameter often": `${names[0] ?? "page"}=1&`.repeat(3_000),
    ampersands: "&".repeat(MOST_QUERY),
  };
  for (const name of names)
    for (const [what, value] of Object.entries(VALUES))
      queries[`${name}: ${what}`] = `${encodeURIComponent(name)}=${value}`;
  return queries;
}

const MOST_OPERATIONS = 3_500;

const operations = (make: (at: number) => object, count = MOST_OPERATIONS): object[] =>
  Array.from({ length: count }, (_, at) => make(at));
const numbers = (count: number): number[] => Array.from({ length: count }, () => 1);
const list = (count: number): object => ({ op: "add", path: "/l", value: numbers(count) });

export const patches: Bodies = Object.fromEntries(
  Object.entries({
    "many labels": operations((at) => ({ op: "add", path: `/metadata/labels/k${at}`, value: "v" })),
    "many unknown fields": operations((at) => ({ op: "add", path: `/spec/k${at}`, value: "v" })),
    "a list from its front": [
      { op: "add", path: "/l", value: [] },
      ...operations(() => ({ op: "add", path: "/l/0", value: 1 })),
    ],
    "a long list, shifted": [list(9_000), ...operations(() => ({ op: "remove", path: "/l/0" }), 3_000)],
    "a long list, tested": [list(9_000), ...operations(() => ({ op: "test", path: "", value: 1 }))],
    "a long list, tested whole": [
      list(2_000),
      ...operations(() => ({ op: "test", path: "/l", value: numbers(2_000) }), 7),
    ],
    "the object, tested": operations(() => ({ op: "test", path: "/spec", value: {} })),
    "the object, copied": operations((at) => ({ op: "copy", from: "/metadata", path: `/spec/c${at}` })),
    "a long list, copied": [list(9_000), ...operations((at) => ({ op: "copy", from: "/l", path: `/m${at}` }))],
    "the object, moved": operations(() => ({ op: "move", from: "/spec", path: "/spec" })),
    "deep paths": operations(() => ({ op: "add", path: "/a".repeat(100), value: 1 })),
    "a long path": [{ op: "add", path: "/a".repeat(400_000), value: 1 }],
    "a path of escapes": [{ op: "add", path: "/~0~1".repeat(150_000), value: 1 }],
  }).map(([what, patch]) => [what, JSON.stringify(patch)]),
);
