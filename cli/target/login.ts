// `cup login`: remembers an API and a kubeconfig user, and proves both by asking who we are.
import { apiClient, type Resource } from "../api/client.ts";
import { named } from "../context.ts";
import { Failure } from "../failure.ts";
import { fields, type Result } from "../output.ts";
import { writeConfig, type Config } from "./config.ts";
import { authorizationOf, findLocal } from "./resolve.ts";

export interface LoginOptions {
  api?: string;
  user?: string;
  kubeconfig?: string;
  org?: string;
  space?: string;
}

/** Without --api: the Cupola of this laptop. */
export async function login(options: LoginOptions): Promise<Result> {
  const local = findLocal();
  const api = (options.api ?? local?.url)?.replace(/\/+$/, "");
  if (!api) throw new Failure("which API?", { kind: "usage", next: "cup login --api URL" });
  const ownKubeconfig = api === local?.url ? local.kubeconfig : undefined;
  const kubeconfig = options.kubeconfig ?? ownKubeconfig;
  const user = options.user ?? (ownKubeconfig ? "admin" : undefined);
  const config: Config = { api, ...(kubeconfig && { kubeconfig }), ...(user && { user }) };
  const client = apiClient(api, await authorizationOf(config));
  const me = await client.request<{ name: string }>("GET", "/whoami");
  const org = await pick(client, "/v3/organizations", options.org);
  const space = org && (await pick(client, "/v3/spaces", options.space, { organization_guids: org.guid }));
  writeConfig({ ...config, ...(org && { org }), ...(space && { space }) });
  return {
    json: { api, user: me.name, org: org?.name, space: space?.name },
    text: fields([["API", api], ["user", me.name], ["org", org?.name ?? "none: cup target --org NAME"], ["space", space?.name ?? "none: cup target --space NAME"]]),
  };
}

/** The one named, else the only one there is. */
async function pick(client: ReturnType<typeof apiClient>, path: string, name: string | undefined, query: Record<string, string> = {}): Promise<{ guid: string; name: string } | undefined> {
  if (name) return toPlace(await named(client, path, name, query));
  const all = await client.list(path, query);
  return all.length === 1 && all[0] ? toPlace(all[0]) : undefined;
}

export function toPlace(resource: Resource): { guid: string; name: string } {
  return { guid: resource.guid, name: resource.name };
}
