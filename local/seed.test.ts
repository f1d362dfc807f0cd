// Additions of a version's first start to a home that is older than it.
import { expect, test } from "vitest";
import type { Stack } from "../crds/stack/stack.ts";
import { seedSubstituteStacks } from "./seed.ts";

const stack = (object: string, name: string): Stack => ({ metadata: { name: object }, spec: { name } }) as Stack;

test.each<[string, Stack[], string[]]>([
  ["none of that name", [stack("host", "host")], ["cflinuxfs4"]],
  ["a person's", [stack("host", "host"), stack("cflinuxfs4", "cflinuxfs4")], []],
  ["a person's under another object's name", [stack("mine", "cflinuxfs4")], []],
  ["a person's object of that name for another stack", [stack("cflinuxfs4", "old")], []],
])("substitute stacks beside %s", (_what, known, added) => {
  expect(seedSubstituteStacks(known).map(({ metadata }) => metadata.name)).toEqual(added);
});
