// `cup target`: shows or changes org and space.
import { omitUndefined } from "../../kube/api/omit-undefined.ts";
import { getNamed, type Context } from "../context.ts";
import type { Result } from "../output.ts";
import { writeConfig } from "./config.ts";
import { describeTarget, toNamedResource } from "./login.ts";
import type { Target } from "./resolve-target.ts";

export interface TargetOptions {
  org?: string;
  space?: string;
}

export async function target(context: Context, options: TargetOptions): Promise<Result> {
  const asked = options.org !== undefined || options.space !== undefined;
  const after = asked ? await retarget(context, options) : context.target;
  if (asked) writeConfig(after);
  const me = await context.api.request<{ name: string }>("GET", "/whoami");
  return describeTarget(after, me.name);
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
