// The stack that an app is really built and run on. Pure.
import type { Stack } from "./stack.ts";

/** The name of the stack that stands in for the named one, else the name itself. A substitute of a substitute is not followed. */
export function effectiveStack(name: string, stacks: readonly Pick<Stack, "spec">[]): string {
  return stacks.find(({ spec }) => spec.name === name)?.spec.substitute ?? name;
}
