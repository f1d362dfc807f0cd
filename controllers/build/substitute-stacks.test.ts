// Which stacks a build is planned with.
import { expect, test } from "vitest";
import { Buildpack } from "../../crds/buildpack/buildpack.ts";
import { Stack } from "../../crds/stack/stack.ts";
import { SYSTEM_NAMESPACE } from "../../crds/groups.ts";
import { planBuildpacks } from "./plan.ts";
import { substituteStacks } from "./substitute-stacks.ts";

const aStack = (name: string, spec: object): Stack =>
  ({ metadata: { name, namespace: SYSTEM_NAMESPACE }, spec: Stack.spec.parse({ name, ...spec }) }) as Stack;
const aBuildpack = (name: string, stack?: string): Buildpack =>
  ({
    metadata: { name, namespace: SYSTEM_NAMESPACE },
    spec: Buildpack.spec.parse({ name, path: name, stack }),
  }) as Buildpack;

const stacks = [aStack("host", { default: true }), aStack("cflinuxfs4", { substitute: "host" })];
const all = [
  aBuildpack("any"),
  aBuildpack("for-host", "host"),
  aBuildpack("moved", "cflinuxfs4"),
  aBuildpack("other", "windows"),
];

test.each([undefined, "host", "cflinuxfs4"])("an app of stack %s is built on host", (stack) => {
  const { lifecycle, buildpacks, defaultStack } = substituteStacks(stacks, {
    lifecycle: { type: "buildpack", buildpacks: [], ...(stack && { stack }) },
    buildpacks: all,
  });
  expect(lifecycle.stack ?? defaultStack).toBe("host");
  const plan = planBuildpacks(lifecycle, buildpacks);
  const names = "code" in plan ? [] : plan.buildpacks.map(({ name }) => name);
  expect(names).toEqual(stack ? ["any", "for-host", "moved"] : ["any", "for-host", "moved", "other"]);
});
