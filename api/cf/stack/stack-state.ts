// Effect of a stack's state on a build, in CF's words.
import type { Stack } from "../../../crds/stack/stack.ts";

/** `new`: an app that was never built. `restage`: any other. */
export type StackUse = "new" | "restage";

/** Why the stack cannot be used, or what its users should know; neither for an active stack. Pure. */
export function judgeStack({ spec }: Pick<Stack, "spec">, use: StackUse): { error?: string; warning?: string } {
  const { name, state = "Active", stateReason } = spec;
  const reason = stateReason ? ` ${stateReason}` : "";
  const shown = `The stack '${name}' is '${state.toUpperCase()}'`;
  if (state === "Disabled" || (state === "Restricted" && use === "new"))
    return { error: `ERROR: Staging failed. ${shown} and cannot be used for staging.${reason}` };
  const { substitute } = spec;
  if (state === "Active")
    return substitute
      ? {
          warning: `WARNING: The stack '${name}' is not available here. The app is built and runs on '${substitute}'.${reason}`,
        }
      : {};
  return { warning: `WARNING: ${shown} and will be removed in the future.${reason}` };
}
