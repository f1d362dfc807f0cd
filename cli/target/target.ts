// `cup target`: shows or changes org and space.
import { omitUndefined } from "../../kube/api/omit-undefined.ts";
import { contextFor, getNamed, type Context } from "../context.ts";
import { Failure } from "../failure.ts";
import type { Result } from "../output.ts";
import { writeOrgAndSpace } from "./config.ts";
import { describeTarget, type NameOrReason, type TargetInUse } from "./describe-target.ts";
import { toNamedResource } from "./named-resource.ts";
import type { Target } from "./resolve-target.ts";

export interface TargetOptions {
  org?: string;
  space?: string;
}

/** Without options: what the next command would use. */
export async function target(context: Context, options: TargetOptions): Promise<Result> {
  const isChange = options.org !== undefined || options.space !== undefined;
  const after = isChange ? await retarget(context, options) : context.target;
  if (isChange) writeOrgAndSpace(after);
  const me = await context.api.request<{ name: string }>("GET", "/whoami");
  return describeTarget(await describeInUse(contextFor(after, context.api, context.progress)), me.name);
}

/** The org and space in use, or why there is none. */
export async function describeInUse({ target: { api }, org, space }: Context): Promise<TargetInUse> {
  const inUse = { api, org: await nameOrReason(org) };
  return { ...inUse, space: inUse.org.name === undefined ? {} : await nameOrReason(space) };
}

async function nameOrReason(find: () => Promise<{ name: string }>): Promise<NameOrReason> {
  try {
    return { name: (await find()).name };
  } catch (error) {
    if (error instanceof Failure && error.kind === "target") return { reason: `${error.message}. ${error.next}` };
    throw error;
  }
}

/** Another org leaves the space behind. */
async function retarget({ target: before, api }: Context, options: TargetOptions): Promise<Target> {
  const { org: oldOrg, space: oldSpace, ...rest } = before;
  const org =
    options.org === undefined ? oldOrg : toNamedResource(await getNamed(api, "/v3/organizations", options.org));
  const within: Record<string, string> = org ? { organization_guids: org.guid } : {};
  if (options.space !== undefined)
    return {
      ...rest,
      ...omitUndefined({ org, space: toNamedResource(await getNamed(api, "/v3/spaces", options.space, within)) }),
    };
  return { ...rest, ...omitUndefined({ org, space: org?.guid === oldOrg?.guid ? oldSpace : undefined }) };
}
