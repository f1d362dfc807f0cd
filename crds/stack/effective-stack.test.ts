// Which stack stands in for which.
import { expect, test } from "vitest";
import { effectiveStack } from "./effective-stack.ts";
import { Stack } from "./stack.ts";

const stacks = [
  { spec: Stack.spec.parse({ name: "host", default: true }) },
  { spec: Stack.spec.parse({ name: "cflinuxfs4", substitute: "host" }) },
  { spec: Stack.spec.parse({ name: "cflinuxfs3", substitute: "cflinuxfs4" }) },
  // The chart's, beside an operator's own, which is an object of another name.
  { spec: Stack.spec.parse({ name: "mine", substitute: "host" }) },
  { spec: Stack.spec.parse({ name: "mine" }) },
];

test.each([
  ["host", "host"],
  ["cflinuxfs4", "host"],
  ["cflinuxfs3", "cflinuxfs4"],
  ["unknown", "unknown"],
  ["mine", "mine"],
])("%s is %s", (name, expected) => expect(effectiveStack(name, stacks)).toBe(expected));
