// Accepted and rejected YAML bodies, none of which takes time quadratic in its length.
import { expect, test } from "vitest";
import { cpuMilliseconds } from "../../kube/testing/cpu-time.ts";
import { parseYaml } from "./body.ts";

const unread = "Request invalid due to parse error: invalid request body";

test.each<[string, unknown]>([
  ["a: 1\nb: {a: [x, y]}", { a: 1, b: { a: ["x", "y"] } }],
  ['a: 1\n"b": 2', { a: 1, b: 2 }],
  ["1: x\n'1': y", { 1: "y" }],
  ["a: {b: 1}\nc: {b: 2}", { a: { b: 1 }, c: { b: 2 } }],
  ["<<: {a: 1}", { "<<": { a: 1 } }],
  ["a: !!str 1", { a: "1" }],
  ["a: !!set {x, y}", { a: { x: null, y: null } }],
])("%j is read", (text, value) => {
  expect(parseYaml(Buffer.from(text))).toEqual(value);
});

test.each([
  ["a: 1\na: 2", unread],
  ["a: {b: 1, 'b': 2}", unread],
  ["- {a: 1, a: 1}", unread],
  ["{? [a] : 1}", unread],
  ["- a", unread],
  ["a: b: c", unread],
  ["a: 1\n---\na: 1", unread],
  ["a: &x 1\nb: *x", "Bad request: Manifest does not support Anchors and Aliases"],
  ["&x a: 1\n*x : 2", "Bad request: Manifest does not support Anchors and Aliases"],
  ["a: &x {b: 1}", "Bad request: Manifest does not support Anchors and Aliases"],
  ["a: !ruby/object {b: 1}", "Bad request: Manifest does not support custom tags"],
])("%j is refused", (text, message) => {
  expect(() => parseYaml(Buffer.from(text))).toThrow(message);
});

const keys = Array.from({ length: 50_000 }, (_, index) => `k${index}`);

/** A parser that compares each key with all earlier ones takes twice this for the fastest of these; ours takes a tenth. */
const MOST_MS = 5_000;
const TIMEOUT_MS = 60_000;

test.each([
  ["a mapping", `{${keys.join(",")}}`],
  ["a block mapping", keys.join(":\n").concat(":")],
  ["a set", `a: !!set {${keys.join(",")}}`],
])(
  "%s with very many keys is read",
  (_name, text) => {
    const read = (): void => expect(JSON.stringify(parseYaml(Buffer.from(text)))).toContain(`"${keys.at(-1)}":null`);
    expect(cpuMilliseconds(read)).toBeLessThan(MOST_MS);
  },
  TIMEOUT_MS,
);

test.each([
  ["errors on one line", `a: '${"b' '\n ".repeat(50_000)}'`],
  ["unknown tags on one line", `[${"!<tag:yaml.org,2002:q> a,".repeat(40_000)}]`],
  ["mappings as keys of mappings", "{".repeat(500) + "a".repeat(10_000) + ": 1}".repeat(500)],
])(
  "very many %s are refused",
  (_name, text) => {
    const read = (): void => expect(() => parseYaml(Buffer.from(text))).toThrow(unread);
    expect(cpuMilliseconds(read)).toBeLessThan(MOST_MS);
  },
  TIMEOUT_MS,
);
