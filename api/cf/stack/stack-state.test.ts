// Each state of a stack and what it allows.
import { expect, test } from "vitest";
import { Stack } from "../../../crds/stack/stack.ts";
import { judgeStack, type StackUse } from "./stack-state.ts";

type State = Stack["spec"]["state"];
const REFUSED = /^ERROR: Staging failed\. The stack 'base' is '\w+' and cannot be used for staging\. Use next\.$/;
const WARNED = /^WARNING: The stack 'base' is '\w+' and will be removed in the future\. Use next\.$/;
const substituted = "WARNING: The stack 'cflinuxfs4' is not available here. The app is built and runs on 'base'.";

test.each<[State, StackUse, "error" | "warning" | undefined]>([
  ["Active", "new", undefined],
  ["Active", "restage", undefined],
  ["Deprecated", "new", "warning"],
  ["Deprecated", "restage", "warning"],
  ["Restricted", "new", "error"],
  ["Restricted", "restage", "warning"],
  ["Disabled", "new", "error"],
  ["Disabled", "restage", "error"],
])("%s, %s: %s", (state, use, expected) => {
  const spec = Stack.spec.parse({ name: "base", state, stateReason: "Use next." });
  const verdict = judgeStack({ spec }, use);
  expect(Object.keys(verdict)).toEqual(expected ? [expected] : []);
  if (verdict.error) expect(verdict.error).toMatch(REFUSED);
  if (verdict.warning) expect(verdict.warning).toMatch(WARNED);
});

test.each<[State, StackUse, object]>([
  [undefined, "new", { warning: substituted }],
  ["Active", "restage", { warning: substituted }],
  ["Disabled", "new", { error: expect.stringMatching(/^ERROR: Staging failed\./) }],
])("%s with a substitute, %s", (state, use, expected) => {
  const spec = Stack.spec.parse({ name: "cflinuxfs4", state, substitute: "base" });
  expect(judgeStack({ spec }, use)).toEqual(expected);
});
