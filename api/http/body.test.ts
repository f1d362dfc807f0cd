// Accepted and rejected bodies.
import { expect, test } from "vitest";
import { parseForm, parseJson, parseYaml } from "./body.ts";

const unread = "Request invalid due to parse error: invalid request body";

test.each<[string, unknown]>([
  ["a: 1\nb: {a: [x, y]}", { a: 1, b: { a: ["x", "y"] } }],
  ['a: 1\n"b": 2', { a: 1, b: 2 }],
  ["1: x\n'1': y", { 1: "y" }],
  ["a: {b: 1}\nc: {b: 2}", { a: { b: 1 }, c: { b: 2 } }],
  ["<<: {a: 1}", { "<<": { a: 1 } }],
  ["a: !!str 1", { a: "1" }],
  ["a: !!set {x, y}", { a: { x: null, y: null } }],
])("%j is read", async (text, value) => {
  expect(await parseYaml(Buffer.from(text), "ann")).toEqual(value);
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
])("%j is refused", async (text, message) => {
  await expect(parseYaml(Buffer.from(text), "ann")).rejects.toThrow(message);
});

test("a large manifest is read, too", async () => {
  const keys = Array.from({ length: 9_000 }, (_, index) => `k${index}`);
  const value = await parseYaml(Buffer.from(keys.map((key) => `${key}: 1\n`).join("")), "ann");
  expect(Object.keys(value)).toEqual(keys);
});

const times = (count: number, text: string): string => Array.from({ length: count }, () => text).join(",");

test.each([
  ["deep lists", `{"a":${"[".repeat(100_000)}`, "the body has more than 64 levels"],
  ["very many values", `{"a":[${times(50_000, "1")}]}`, "the body has more than 40000 values"],
  [
    "very many members",
    `{${Array.from({ length: 11_000 }, (_, at) => `"${at}":1`).join()}}`,
    "the body has an object with more than 10000 members",
  ],
])("JSON of %s is refused", (_what, text, problem) => {
  expect(() => parseJson(Buffer.from(text))).toThrow(`Request invalid due to parse error: ${problem}`);
});

test("marks of JSON in a text count for nothing", () => {
  const text = `${times(50_000, '{"[')}\\`;
  expect(parseJson(Buffer.from(JSON.stringify({ text })))).toEqual({ text });
});

test("a form has a bound on its size and its fields", () => {
  expect(parseForm(Buffer.from("a=1&b=%20&a=2"))).toEqual({ a: "2", b: " " });
  expect(() => parseForm(Buffer.from("a=1&".repeat(101)))).toThrow(unread);
  expect(() => parseForm(Buffer.from(`a=${"x".repeat(128 * 1024)}`))).toThrow(unread);
});
