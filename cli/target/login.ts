// `cup login`: remembers an API and a kubeconfig user, and checks both with a request.
import { resolve } from "node:path";
import { omitUndefined } from "../../kube/api/omit-undefined.ts";
import { apiClient } from "../api/client.ts";
import { contextFor, getNamed } from "../context.ts";
import { Failure } from "../failure.ts";
import type { Progress, Result } from "../output.ts";
import { writeConfig } from "./config.ts";
import { describeTarget } from "./describe-target.ts";
import { toNamedResource } from "./named-resource.ts";
import { describeInUse } from "./target.ts";
import { authorizationOf, findLocal, trustOf, type Target } from "./resolve-target.ts";

export interface LoginOptions {
  api?: string;
  user?: string;
  kubeconfig?: string;
  ca?: string;
  skipSslValidation?: boolean;
  org?: string;
  space?: string;
}

/** Without --api: the Cupola of this laptop. */
export async function login(progress: Progress, options: LoginOptions): Promise<Result> {
  const config = chooseAccess(options);
  const client = apiClient(config.api, await authorizationOf(config), { trust: trustOf(config) });
  const me = await client.request<{ name: string }>("GET", "/whoami");
  const org = await pick(client, "/v3/organizations", options.org);
  const space = org && (await pick(client, "/v3/spaces", options.space, { organization_guids: org.guid }));
  const chosen = { ...config, ...omitUndefined({ org, space }) };
  writeConfig(chosen);
  return describeTarget(await describeInUse(contextFor(chosen, client, progress)), me.name);
}

/** The API and the user. The laptop's own API comes with its own kubeconfig. */
function chooseAccess(options: LoginOptions): Target {
  const local = findLocal();
  const api = (options.api ?? local?.url)?.replace(/\/+$/, "");
  if (!api)
    throw new Failure("no API is given, and no Cupola runs on this machine", {
      kind: "usage",
      next: "cup login --api URL",
    });
  const own = api === local?.url ? { kubeconfig: local.kubeconfig, user: "admin" } : {};
  const { kubeconfig, user, ca, skipSslValidation } = options;
  return {
    ...own,
    ...omitUndefined({ api, kubeconfig, user, ca: ca === undefined ? undefined : resolve(ca), skipSslValidation }),
  } as Target;
}

/** The one named, else the only one there is. */
async function pick(
  client: ReturnType<typeof apiClient>,
  path: string,
  name: string | undefined,
  query: Record<string, string> = {},
): Promise<{ guid: string; name: string } | undefined> {
  if (name) return toNamedResource(await getNamed(client, path, name, query));
  const all = await client.list(path, query);
  return all.length === 1 && all[0] ? toNamedResource(all[0]) : undefined;
}
