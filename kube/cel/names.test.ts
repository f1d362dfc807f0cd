// Names that expressions mention.
import { describe, expect, it } from "vitest";
import { namesIn } from "./names.ts";
import { compileExpression } from "./program.ts";

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
