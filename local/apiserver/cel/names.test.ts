// docs/expressions.md is true: every function and method that expressions may call is on its list.
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import "../admission/authorizer-value.ts"; // declares the authorizer's methods
import { functionNames } from "./functions/registry.ts";
import { namesIn } from "./names.ts";
import { compileExpression } from "./program.ts";

const page = readFileSync(new URL("../../../docs/expressions.md", import.meta.url), "utf8");

describe("the list of functions", () => {
  it.each(functionNames())("has %s", (name) => {
    expect(page).toContain(`\`${name}\``);
  });
});

describe("names in an expression", () => {
  it.each([
    ["self.a == oldSelf.a", ["self", "oldSelf"]],
    ["self.l.all(i, i in other)", ["self", "i", "other"]],
    ["{'a': b}[c] ? d : [e]", ["b", "c", "d", "e"]],
    ["'oldSelf' == x", ["x"]],
    ["f(y)", ["y"]],
  ])("%s", (text, names) => {
    expect([...namesIn(compileExpression(text).ast)].sort()).toEqual(names.sort());
  });
});
