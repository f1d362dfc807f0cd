// Stacks that others stand in for, in what a build is planned from. Pure.
import type { Build } from "../../crds/build/build.ts";
import type { Buildpack } from "../../crds/buildpack/buildpack.ts";
import { effectiveStack } from "../../crds/stack/effective-stack.ts";
import type { Stack } from "../../crds/stack/stack.ts";

interface Stacked {
  lifecycle: NonNullable<Build["spec"]["lifecycle"]>;
  buildpacks: readonly Buildpack[];
}

/** The lifecycle and the buildpacks with the stacks that are really used, and the name of the stack of apps that name none. */
export function substituteStacks(
  stacks: readonly Stack[],
  { lifecycle, buildpacks }: Stacked,
): Stacked & { defaultStack: string | undefined } {
  const replace = <T extends { stack?: string | undefined }>(spec: T): T =>
    spec.stack === undefined ? spec : { ...spec, stack: effectiveStack(spec.stack, stacks) };
  const named = stacks.find(({ spec }) => spec.default)?.spec.name;
  return {
    lifecycle: replace(lifecycle),
    buildpacks: buildpacks.map((buildpack) => ({ ...buildpack, spec: replace(buildpack.spec) })),
    defaultStack: named && effectiveStack(named, stacks),
  };
}
