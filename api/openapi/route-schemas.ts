// Answers about domains, routes and their destinations.
import { z } from "zod";
import {
  flag,
  guid,
  identity,
  integer,
  link,
  links,
  metadata,
  named,
  text,
  timestamp,
  toMany,
  toOne,
  toOneOrNone,
} from "./schema-parts.ts";

export const domain = named(
  "Domain",
  z.strictObject({
    ...identity,
    name: text,
    internal: flag,
    router_group: z.strictObject({ guid }).nullable(),
    enforce_route_policies: flag.optional(),
    route_policies_scope: z.enum(["any", "org", "space"]).optional(),
    supported_protocols: z.array(z.enum(["http", "tcp"])),
    relationships: z.strictObject({ organization: toOneOrNone, shared_organizations: toMany }),
    metadata,
    links: links(["self", "route_reservations"], {
      organization: link.optional(),
      shared_organizations: link.optional(),
      router_group: link.optional(),
    }),
  }),
);

const destinationFields = {
  guid,
  app: z.strictObject({ guid, process: z.strictObject({ type: text }) }),
  weight: integer.nullable(),
  port: integer,
  protocol: z.enum(["http1", "http2", "tcp"]),
  created_at: timestamp,
  updated_at: timestamp,
};
const destination = named("Destination", z.strictObject(destinationFields));

export const oneDestination = named(
  "UpdatedDestination",
  z.strictObject({ ...destinationFields, links: links(["destinations", "route"]) }),
);

export const destinations = named(
  "Destinations",
  z.strictObject({ destinations: z.array(destination), links: links(["self", "route"]) }),
);

export const route = named(
  "Route",
  z.strictObject({
    ...identity,
    protocol: z.enum(["http", "tcp"]),
    host: text,
    path: text,
    port: integer.nullable(),
    url: text,
    destinations: z.array(destination),
    options: z.strictObject({ loadbalancing: text, hash_header: text, hash_balance: text }).partial().optional(),
    relationships: z.strictObject({ space: toOne, domain: toOne }),
    metadata,
    links: links(["self", "space", "destinations", "domain"]),
  }),
);

export const routePolicy = named(
  "RoutePolicy",
  z.strictObject({
    ...identity,
    source: text,
    relationships: z.strictObject({ route: toOne, app: toOneOrNone, space: toOneOrNone, organization: toOneOrNone }),
    metadata,
    links: links(["self", "route"], {
      app: link.optional(),
      space: link.optional(),
      organization: link.optional(),
    }),
  }),
);

/** Answer to the transfer of a route. */
export const transferred = named("RouteTransfer", z.strictObject({ status: z.literal("ok") }));
export const routeReservation = named("RouteReservation", z.strictObject({ matching_route: flag }));
