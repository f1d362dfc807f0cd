// The next step of a user whose role does not allow what a command asked for.
import type { Context } from "./context.ts";
import { Failure, type Refusal } from "./failure.ts";
import { quoteForShell } from "./shell-words.ts";

/** CF-NotAuthorized. */
const NOT_AUTHORIZED = 10_003;

/** Requests that developers of a space may make. */
const OF_A_SPACE =
  /^\/v3\/(?:apps|builds|deployments|droplets|packages|processes|revisions|routes|service_credential_bindings|service_instances|spaces\/[^/]+\/actions|tasks)(?:\/|$)/;

/** The same failure with the command that a manager runs; any other failure as it is. */
export async function withRole(context: Context, error: unknown): Promise<unknown> {
  if (!(error instanceof Failure) || error.next !== undefined || !lacksRole(error)) return error;
  const next = await adviseRole(context, error.refusal).catch(() => undefined); // what it lacks is told without it
  if (next === undefined) return error;
  const { kind, log, message, refusal } = error;
  return new Failure(message, { kind, log, refusal, next, cause: error });
}

export function lacksRole(error: Failure): error is Failure & { refusal: Refusal } {
  return error.refusal?.code === NOT_AUTHORIZED;
}

async function adviseRole(context: Context, { method, path }: Refusal): Promise<string | undefined> {
  const isOfSpace = OF_A_SPACE.test(path);
  if (!isOfSpace && !(method === "POST" && path === "/v3/spaces")) return undefined;
  const [{ name: user }, org] = await Promise.all([
    context.api.request<{ name: string }>("GET", "/whoami"),
    context.org(),
  ]);
  const names = [user, org.name].map(quoteForShell).join(" ");
  if (!isOfSpace) return `ask a manager of org ${org.name}: cf set-org-role ${names} OrgManager`;
  const space = await context.space();
  return `ask a manager of space ${space.name}: cf set-space-role ${names} ${quoteForShell(space.name)} SpaceDeveloper`;
}
