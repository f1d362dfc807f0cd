// `cup target`: shows or changes org and space.
import { named, type Context } from "../context.ts";
import { fields, type Result } from "../output.ts";
import { writeConfig } from "./config.ts";
import { toPlace } from "./login.ts";

export async function target(context: Context, options: { org?: string; space?: string }): Promise<Result> {
  const { target: before, api } = context;
  const org = options.org ? toPlace(await named(api, "/v3/organizations", options.org)) : before.org;
  const stays = options.org === undefined || options.org === before.org?.name;
  const inOrg: Record<string, string> = org ? { organization_guids: org.guid } : {};
  const space = options.space ? toPlace(await named(api, "/v3/spaces", options.space, inOrg)) : stays ? before.space : undefined;
  if (options.org !== undefined || options.space !== undefined) {
    const { org: _org, space: _space, ...rest } = before;
    writeConfig({ ...rest, ...(org && { org }), ...(space && { space }) });
  }
  const me = await api.request<{ name: string }>("GET", "/whoami");
  return {
    json: { api: api.base, user: me.name, org: org?.name, space: space?.name },
    text: fields([["API", api.base], ["user", me.name], ["org", org?.name ?? "none targeted"], ["space", space?.name ?? "none targeted"]]),
  };
}
