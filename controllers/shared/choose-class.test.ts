// Which class is chosen, and which references are refused.
import { expect, test } from "vitest";
import { chooseClass } from "./choose-class.ts";
import { aRunner } from "../../crds/testing/objects.ts";

const able = { capability: "dropletKinds", word: "host" };
const process = aRunner("process", {}, { dropletKinds: "host" });
const deployment = aRunner("deployment", { default: false }, { dropletKinds: "docker, cnb" });
const silent = aRunner("silent", { default: false });

test.each<[string, string | undefined, string]>([
  ["the default", undefined, "process"],
  ["the named one", "silent", "silent"],
])("chooses %s", (_what, named, expected) => {
  expect(
    chooseClass([deployment, silent, process], { role: "runner", className: named, requires: able }).metadata.name,
  ).toBe(expected);
});

test.each<[string, ReturnType<typeof aRunner>[], string]>([
  ["the only class of a role, though it is not marked", [silent], "silent"],
  ["the marked one of several", [silent, process], "process"],
])("the default is %s", (_what, classes, expected) => {
  expect(chooseClass(classes, { role: "runner", className: undefined }).metadata.name).toBe(expected);
});

test("of several classes without a default mark none is the default", () => {
  expect(() => chooseClass([silent, deployment], { role: "runner", className: undefined })).toThrow(
    expect.objectContaining({ reason: "NoDefaultClass" }),
  );
});

test.each([
  ["a missing one", { role: "runner", className: "nowhere" }, "ClassMissing"],
  ["one of another role", { role: "router", className: "process" }, "ClassMissing"],
  ["one that cannot", { role: "runner", className: "deployment", requires: able }, "NotSupported"],
  ["no default", { role: "builder", className: undefined }, "NoDefaultClass"],
] as const)("refuses %s", (_what, choice, reason) => {
  expect(() => chooseClass([process, deployment], choice)).toThrow(expect.objectContaining({ reason }));
});
