// The route and domain commands.
import type { ApiClient, Resource } from "../api/client.ts";
import { getNamed, type Context } from "../context.ts";
import { confirm } from "../confirm.ts";
import { Failure } from "../failure.ts";
import { table, type Result } from "../output.ts";
import { toAddress } from "../app/process-state.ts";

export interface RouteOptions {
  hostname?: string;
  path?: string;
}

export interface DeleteRouteOptions extends RouteOptions {
  force?: boolean;
}

interface Destination {
  app: { guid: string };
}

export async function listRoutes(context: Context): Promise<Result> {
  const { api } = context;
  const space = await context.space();
  const [routes, apps] = await Promise.all([
    api.list("/v3/routes", { space_guids: space.guid }),
    api.list("/v3/apps", { space_guids: space.guid }),
  ]);
  const names = new Map(apps.map((app) => [app.guid, app.name]));
  const addressOf = toAddress(api);
  const rows = routes.map((route) => [
    addressOf(route),
    ((route["destinations"] ?? []) as Destination[]).map(({ app }) => names.get(app.guid) ?? app.guid).join(", "),
  ]);
  return {
    json: routes,
    text: rows.length === 0 ? [`No routes in space ${space.name}.`] : table(["url", "apps"], rows),
  };
}

export async function listDomains({ api, org }: Context): Promise<Result> {
  const domains = await api.list(`/v3/organizations/${(await org()).guid}/domains`);
  return {
    json: domains,
    text: table(
      ["name", "internal"],
      domains.map((domain) => [domain.name, String(domain["internal"])]),
    ),
  };
}

export async function createRoute(context: Context, domainName: string, options: RouteOptions): Promise<Result> {
  const route = await makeRoute(context, domainName, options);
  return { json: route, text: [`Route ${toAddress(context.api)(route)} is there.`] };
}

/** Makes the route; the one that is there already when the space has it. */
export async function makeRoute(context: Context, domainName: string, options: RouteOptions): Promise<Resource> {
  const { api } = context;
  const [space, domain] = await Promise.all([context.space(), getNamed(api, "/v3/domains", domainName)]);
  const known = await findRoute(api, domain.guid, options);
  if (known) return known;
  const relationships = { space: { data: { guid: space.guid } }, domain: { data: { guid: domain.guid } } };
  return api.request<Resource>("POST", "/v3/routes", {
    body: {
      ...(options.hostname && { host: options.hostname }),
      ...(options.path && { path: toPath(options.path) }),
      relationships,
    },
  });
}

export async function deleteRoute(context: Context, domainName: string, options: DeleteRouteOptions): Promise<Result> {
  const route = await getRoute(context, domainName, options);
  await confirm(`Delete route ${String(route["url"])}?`, options.force);
  await context.api.waitForJob((await context.api.start("DELETE", `/v3/routes/${route.guid}`)).job);
  return { json: { deleted: route.guid }, text: [`Route ${String(route["url"])} is gone.`] };
}

/** @throws Failure when there is none. */
export async function getRoute({ api }: Context, domainName: string, options: RouteOptions): Promise<Resource> {
  const domain = await getNamed(api, "/v3/domains", domainName);
  const route = await findRoute(api, domain.guid, options);
  if (!route) throw new Failure(`there is no such route in ${domainName}`, { next: "cup routes" });
  return route;
}

async function findRoute(api: ApiClient, domain: string, options: RouteOptions): Promise<Resource | undefined> {
  return (
    await api.list("/v3/routes", {
      domain_guids: domain,
      hosts: options.hostname ?? "",
      paths: options.path ? toPath(options.path) : "",
    })
  )[0];
}

function toPath(path: string): string {
  return path.startsWith("/") ? path : `/${path}`;
}
