// What comes in for routes and their destinations.
import { z } from "zod";
import type { Route, Destination } from "../../crds/route/route.ts";
import { metadataSchema } from "../lib/metadata.ts";
import { toOneSchema } from "../lib/payload.ts";
import { csv, csvIntegers, include, listQuery } from "../lib/query.ts";

const host = z
  .string()
  .max(63, "is too long (maximum is 63 characters)")
  .regex(/^(|\*|[\w-]+)$/, 'must be either "*" or contain only alphanumeric characters, "_", or "-"')
  .transform((text) => text.toLowerCase());
const routePath = z
  .string()
  .max(128, "is too long (maximum is 128 characters)")
  .regex(/^(|\/.*)$/s, "must begin with /")
  .refine((text) => text !== "/", "cannot be exactly /")
  .refine((text) => !text.includes("?"), "cannot contain ?")
  .refine((text) => !/[\s\p{Cc}]/u.test(text), "must be a valid URI path");

const options = z.strictObject({ loadbalancing: z.string().nullish(), hash_header: z.string().nullish(), hash_balance: z.union([z.string(), z.number()]).nullish() });

export const createRouteBody = z.strictObject({
  host: host.nullish(),
  path: routePath.nullish(),
  port: z.int().min(0).max(65535).nullish(),
  relationships: z.strictObject({ space: toOneSchema, domain: toOneSchema }),
  options: options.nullish(),
  metadata: metadataSchema.optional(),
});
export const updateRouteBody = z.strictObject({ options: options.nullish(), metadata: metadataSchema.optional() });

const destination = z.strictObject({
  guid: z.string().optional(),
  app: z.strictObject({ guid: z.string().min(1), process: z.strictObject({ type: z.string().min(1).max(255) }).nullish() }),
  port: z.int().min(1).max(65535).nullish(),
  protocol: z.enum(["http1", "http2", "tcp"], { error: "must be 'http1', 'http2' or 'tcp'" }).nullish(),
  weight: z.int().min(1).max(100).nullish(),
});
export type DestinationInput = z.output<typeof destination>;
export const insertDestinationsBody = z.strictObject({ destinations: z.array(destination).min(1).max(100) });
export const replaceDestinationsBody = z.strictObject({ destinations: z.array(destination).max(100) });
export const updateDestinationBody = z.strictObject({ protocol: z.enum(["http1", "http2", "tcp"]).nullable() });

const filters = {
  hosts: csv.optional(),
  paths: csv.optional(),
  ports: csvIntegers.optional(),
  domain_guids: csv.optional(),
  space_guids: csv.optional(),
  organization_guids: csv.optional(),
  service_instance_guids: csv.optional(),
  include: include("domain", "space", "space.organization", "route_policies").optional(),
};
export const routeListQuery = listQuery({ ...filters, app_guids: csv.optional() });
export const appRouteListQuery = listQuery(filters);
export const routeGetQuery = z.strictObject({ include: filters.include });

/** Adds to, or replaces, what is there under the same app, process and port. */
export function mergeDestinations(current: readonly Destination[], added: readonly Destination[]): Destination[] {
  const key = (one: Destination): string => `${one.app}\n${one.process}\n${one.port}`;
  return [...new Map([...current, ...added].map((one) => [key(one), one])).values()];
}

/** Is this patch of destinations worth a write? */
export function sameDestinations(route: Route, destinations: readonly Destination[]): boolean {
  return JSON.stringify(route.spec.destinations) === JSON.stringify(destinations);
}
