// Which YAML bodies are read, and that none of them costs the square of its length.
import { expect, test } from "vitest";
import { cpuMilliseconds } from "../../../kube/testing/cpu-time.ts";
import { parseBody } from "./body.ts";

test.each<[string, unknown]>([
  ["a: 1\nb: [x, {c: true}]", { a: 1, b: ["x", { c: true }] }],
  ["a: 1\na: 2", { a: 2 }],
  ["1: x", { 1: "x" }],
  ["a: &x {b: 1}\nc: *x", { a: { b: 1 }, c: { b: 1 } }],
  ["a: &x {b: 1}\nc: {<<: *x, d: 2}", { a: { b: 1 }, c: { b: 1, d: 2 } }],
])("%j is read", (text, value) => {
  expect(parseBody(text)).toEqual(value);
});

test.each([
  ["a map in itself", "a: &x {b: *x}"],
  ["a list in itself", "&x [*x]"],
  ["a map in itself by a merge", "a: &x {<<: {b: *x}}"],
  ["one in itself with an escape", 'a: &x {b: *x, c: "\\u005f"}'],
])("%s is refused", (_what, text) => {
  expect(() => parseBody(text)).toThrow(/contains itself|json parse error/);
});

test("aliases that write out to very much are refused", () => {
  const levels = Array.from(
    { length: 12 },
    (_, i) =>
      `a${i}: &a${i} [${Array(9)
        .fill(i ? `*a${i - 1}` : "x")
        .join(",")}]`,
  );
  expect(() => parseBody(levels.join("\n"))).toThrow(/excessive/i);
  const wide = `a: &a [${Array(20_000).fill("x").join(",")}]\nb: [${Array(60).fill("*a").join(",")}]`;
  expect(() => parseBody(wide)).toThrow(/excessive/i);
}, 60_000);

test("an alias is a copy", () => {
  const body = parseBody("a: &x {b: 1}\nc: *x") as { a: object; c: object };
  expect(body.a).not.toBe(body.c);
});

test.each(["a: b: c", "{? [a] : 1}", "a: *x"])("%j is refused", (text) => {
  expect(() => parseBody(text)).toThrow("json parse error");
});

const keys = Array.from({ length: 50_000 }, (_, index) => `k${index}`);

/** Each of these took twice this while keys were compared, or lines copied. */
const MOST_MS = 5_000;
const TIMEOUT_MS = 60_000;

test.each([
  ["many keys", keys.map((key) => `${key}: 1`).join("\n")],
  ["many keys of a set", `a: !!set {${keys.join(", ")}}`],
])(
  "%s",
  (_what, text) => {
    expect(cpuMilliseconds(() => expect(parseBody(text)).toBeInstanceOf(Object))).toBeLessThan(MOST_MS);
  },
  TIMEOUT_MS,
);

test(
  "many errors on one line",
  () => {
    const read = (): void => expect(() => parseBody(`a: ${"b: ".repeat(20_000)}c`)).toThrow("json parse error");
    expect(cpuMilliseconds(read)).toBeLessThan(MOST_MS);
  },
  TIMEOUT_MS,
);
