// Which bodies are read.
import { expect, test } from "vitest";
import { parseBody } from "./body.ts";

const ann = { caller: "ann", values: 200_000 };

test.each<[string, unknown]>([
  ["a: 1\nb: [x, {c: true}]", { a: 1, b: ["x", { c: true }] }],
  ["a: 1\na: 2", { a: 2 }],
  ["1: x", { 1: "x" }],
  ["a: &x {b: 1}\nc: *x", { a: { b: 1 }, c: { b: 1 } }],
  ["a: &x {b: 1}\nc: {<<: *x, d: 2}", { a: { b: 1 }, c: { b: 1, d: 2 } }],
])("%j is read", async (text, value) => {
  expect(await parseBody(text, ann)).toEqual(value);
});

test.each([
  ["a map in itself", "a: &x {b: *x}"],
  ["a list in itself", "&x [*x]"],
  ["a map in itself by a merge", "a: &x {<<: {b: *x}}"],
  ["one in itself with an escape", 'a: &x {b: *x, c: "\\u005f"}'],
])("%s is refused", async (_what, text) => {
  await expect(parseBody(text, ann)).rejects.toThrow(/contains itself|json parse error/);
});

test("aliases that write out to very much are refused", async () => {
  const levels = Array.from(
    { length: 12 },
    (_, i) =>
      `a${i}: &a${i} [${Array(9)
        .fill(i ? `*a${i - 1}` : "x")
        .join(",")}]`,
  );
  await expect(parseBody(levels.join("\n"), ann)).rejects.toThrow(/excessive/i);
  const wide = `a: &a [${Array(20_000).fill("x").join(",")}]\nb: [${Array(60).fill("*a").join(",")}]`;
  await expect(parseBody(wide, ann)).rejects.toThrow(/excessive/i);
}, 60_000);

test("an alias is a copy", async () => {
  const body = (await parseBody("a: &x {b: 1}\nc: *x", ann)) as { a: object; c: object };
  expect(body.a).not.toBe(body.c);
});

test.each(["a: b: c", "{? [a] : 1}", "a: *x"])("%j is refused", async (text) => {
  await expect(parseBody(text, ann)).rejects.toThrow("json parse error");
});

test.each([
  ["deep lists", `[${"[".repeat(100_000)}`, "more than 512 levels"],
  ["very many values", `[${"1,".repeat(300_000)}1]`, "more than 200000 values"],
])("JSON of %s is refused before it is parsed", async (_what, text, problem) => {
  await expect(parseBody(text, ann)).rejects.toThrow(problem);
});
