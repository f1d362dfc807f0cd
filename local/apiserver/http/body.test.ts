// Which YAML bodies are read, and that none of them costs the square of its length.
import { expect, test } from "vitest";
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

test.each(["a: b: c", "{? [a] : 1}", "a: *x"])("%j is refused", (text) => {
  expect(() => parseBody(text)).toThrow("json parse error");
});

const keys = Array.from({ length: 50_000 }, (_, index) => `k${index}`);

// Each took more than ten seconds while keys were compared, or lines copied.
test.each([
  ["many keys", keys.map((key) => `${key}: 1`).join("\n")],
  ["many keys of a set", `a: !!set {${keys.join(", ")}}`],
])(
  "%s",
  (_what, text) => {
    expect(parseBody(text)).toBeInstanceOf(Object);
  },
  5_000,
);

test("many errors on one line", () => {
  expect(() => parseBody(`a: ${"b: ".repeat(20_000)}c`)).toThrow("json parse error");
}, 5_000);
