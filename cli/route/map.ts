// `cup map-route` and `unmap-route`.
import type { Context } from "../context.ts";
import { toAddress } from "../app/process-state.ts";
import { Failure } from "../failure.ts";
import type { Result } from "../output.ts";
import { getRoute, makeRoute, type RouteOptions } from "./route.ts";

interface Mapping extends RouteOptions {
  app: string;
  domain: string;
}

export async function mapRoute(context: Context, mapping: Mapping): Promise<Result> {
  const app = await context.app(mapping.app);
  const route = await makeRoute(context, mapping.domain, mapping);
  const after = await context.api.request("POST", `/v3/routes/${route.guid}/destinations`, {
    body: { destinations: [{ app: { guid: app.guid } }] },
  });
  return { json: after, text: [`${mapping.app} answers at ${toAddress(context.api)(route)}`] };
}

export async function unmapRoute(context: Context, mapping: Mapping): Promise<Result> {
  const [app, route] = await Promise.all([context.app(mapping.app), getRoute(context, mapping.domain, mapping)]);
  const { destinations } = await context.api.request<{ destinations: { guid: string; app: { guid: string } }[] }>(
    "GET",
    `/v3/routes/${route.guid}/destinations`,
  );
  const mine = destinations.filter((destination) => destination.app.guid === app.guid);
  if (mine.length === 0)
    throw new Failure(`${mapping.app} does not answer at ${String(route["url"])}`, { next: "cup routes" });
  for (const { guid } of mine) await context.api.request("DELETE", `/v3/routes/${route.guid}/destinations/${guid}`);
  return { json: { unmapped: mine.length }, text: [`${mapping.app} answers there no more.`] };
}
