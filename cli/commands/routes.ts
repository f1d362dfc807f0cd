// The commands about routes and domains.
import type { Command } from "commander";
import { withContext } from "../action.ts";
import { example } from "../help.ts";
import type { DeleteRouteOptions, RouteOptions } from "../route/route.ts";

const address = (command: Command): Command =>
  command.option("-n, --hostname <host>", "host").option("--path <path>", "path");

/** Routes and domains. */
export function addRoutes(program: Command): void {
  program
    .command("routes")
    .description("list routes of the space")
    .addHelpText("after", example("cup routes"))
    .action(withContext(async (context) => (await import("../route/route.ts")).listRoutes(context)));
  program
    .command("domains")
    .description("list domains")
    .addHelpText("after", example("cup domains"))
    .action(withContext(async (context) => (await import("../route/route.ts")).listDomains(context)));
  address(
    program
      .command("create-route <domain>")
      .description("create a route")
      .addHelpText("after", example("cup create-route apps.localhost --hostname shop")),
  ).action(
    withContext(async (context, domain: string, options: RouteOptions) =>
      (await import("../route/route.ts")).createRoute(context, domain, options),
    ),
  );
  address(
    program
      .command("delete-route <domain>")
      .option("-f, --force", "do not ask")
      .description("delete a route")
      .addHelpText("after", example("cup delete-route apps.localhost --hostname shop")),
  ).action(
    withContext(async (context, domain: string, options: DeleteRouteOptions) =>
      (await import("../route/route.ts")).deleteRoute(context, domain, options),
    ),
  );
}

/** Which apps get the requests of a route. */
export function addMappings(program: Command): void {
  address(
    program
      .command("map-route <app> <domain>")
      .description("route requests to an app")
      .addHelpText("after", example("cup map-route shop apps.localhost --hostname www")),
  ).action(
    withContext(async (context, app: string, domain: string, options: RouteOptions) =>
      (await import("../route/map.ts")).mapRoute(context, { app, domain, ...options }),
    ),
  );
  address(
    program
      .command("unmap-route <app> <domain>")
      .description("remove an app from a route")
      .addHelpText("after", example("cup unmap-route shop apps.localhost --hostname www")),
  ).action(
    withContext(async (context, app: string, domain: string, options: RouteOptions) =>
      (await import("../route/map.ts")).unmapRoute(context, { app, domain, ...options }),
    ),
  );
}
