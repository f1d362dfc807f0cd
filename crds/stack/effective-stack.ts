// The stack that an app is really built and run on. Pure.
import type { Stack } from "./stack.ts";

/**
 * The name of the stack that stands in for the named one, else the name itself. A substitute of a substitute is not followed. Where two objects have the
 * name, one without a substitute counts: an operator's own beside the seeded one.
 */
export function effectiveStack(name: string, stacks: readonly Pick<Stack, "spec">[]): string {
  const substitutes = stacks.filter(({ spec }) => spec.name === name).map(({ spec }) => spec.substitute);
  return substitutes.includes(undefined) ? name : (substitutes[0] ?? name);
}
