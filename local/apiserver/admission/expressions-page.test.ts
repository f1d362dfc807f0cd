// docs/expressions.md is true: every function and method that expressions may call is on its list.
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { functionNames } from "../../../kube/cel/functions/registry.ts";
import "./authorizer-value.ts"; // declares the authorizer's methods

const page = readFileSync(new URL("../../../docs/expressions.md", import.meta.url), "utf8");

describe("the list of functions", () => {
  it.each(functionNames())("has %s", (name) => {
    expect(page).toContain(`\`${name}\``);
  });
});
