// Switches that forbid `cf ssh` into an app, whoever asks. Pure.
import { displayNameOf } from "../object-names.ts";
import type { Space } from "../space/space.ts";
import type { App } from "./app.ts";

/** The client of /oauth/authorize that asks for codes of `cf ssh`. */
export const SSH_CLIENT = "ssh-proxy";

/** The reason, in CF's words; undefined when it is allowed. */
export function findSSHProblem(
  app: Pick<App, "spec">,
  space: Space | undefined,
  { isServed }: { isServed: boolean },
): string | undefined {
  if (!isServed) return "ssh is disabled globally";
  if (!space?.spec.allowSSH) return `ssh is disabled for space '${space ? displayNameOf(space) : ""}'`;
  return app.spec.features?.ssh === false ? "ssh is disabled for app" : undefined;
}
