// Additions of a version's first start to a home that is older than it.
import { expect, test } from "vitest";
import type { Stack } from "../crds/stack/stack.ts";
import type { BackendClass } from "../crds/backend-class/backend-class.ts";
import { planTCPPorts, seedSubstituteStacks } from "./seed.ts";

const stack = (object: string, name: string): Stack => ({ metadata: { name: object }, spec: { name } }) as Stack;

test.each<[string, Stack[], string[]]>([
  ["none of that name", [stack("host", "host")], ["cflinuxfs4"]],
  ["a person's", [stack("host", "host"), stack("cflinuxfs4", "cflinuxfs4")], []],
  ["a person's under another object's name", [stack("mine", "cflinuxfs4")], []],
  ["a person's object of that name for another stack", [stack("cflinuxfs4", "old")], []],
])("substitute stacks beside %s", (_what, known, added) => {
  expect(seedSubstituteStacks(known).map(({ metadata }) => metadata.name)).toEqual(added);
});

test.each<[string, Record<string, string> | undefined, boolean]>([
  ["none", undefined, true],
  ["others", { other: "x" }, true],
  ["ports of a person's own", { tcpPorts: "3000" }, false],
  ["no ports, as a person wishes", { tcpPorts: "" }, false],
])("TCP ports for a router with the parameters: %s", (_what, parameters, isAdded) => {
  const router = { spec: { role: "router", parameters } } as unknown as BackendClass;
  expect(planTCPPorts(router)).toEqual(isAdded ? { tcpPorts: "20000-20099", tcpGroup: "default-tcp" } : undefined);
});
