// Request bodies and queries of routes and their destinations.
import { z } from "zod";
import type { Destination, Route } from "../../crds/route/route.ts";
import { unprocessable } from "../http/errors.ts";
import { metadataSchema } from "../http/metadata.ts";
import { toOneSchema } from "../http/shared-schemas.ts";
import { shownAs } from "../http/shown-as.ts";
import { csv, csvIntegers, include, listQuery } from "../http/query.ts";

const host = z
  .string()
  .max(63, "is too long (maximum is 63 characters)")
  .regex(/^(|\*|[\w-]+)$/, 'must be either "*" or contain only alphanumeric characters, "_", or "-"');
const routePath = z
  .string()
  .max(128, "is too long (maximum is 128 characters)")
  .regex(/^(|\/.*)$/s, "must begin with /")
  .refine((text) => text !== "/", "cannot be exactly /")
  .refine((text) => !text.includes("?"), "cannot contain ?")
  .refine((text) => !/[\s\p{Cc}]/u.test(text), "must be a valid URI path");

/** Any values: what is valid depends on a feature flag (route-options.ts). */
const options = z.strictObject(
  { loadbalancing: z.unknown().optional(), hash_header: z.unknown().optional(), hash_balance: z.unknown().optional() },
  { error: ({ code }) => (code === "invalid_type" ? "'options' is not a valid object" : undefined) },
);

export const createRouteBody = z.strictObject({
  host: host.nullish(),
  path: routePath.nullish(),
  port: z.int().min(0).max(65535).nullish(),
  relationships: z.strictObject({ space: toOneSchema, domain: toOneSchema }),
  options: options.optional(),
  metadata: metadataSchema.optional(),
});
export const updateRouteBody = z.strictObject({ options: options.optional(), metadata: metadataSchema.optional() });

const destination = z.strictObject({
  guid: z.string().optional(),
  app: z.strictObject({
    guid: z.string().min(1),
    process: z.strictObject({ type: z.string().min(1).max(255) }).nullish(),
  }),
  port: z.int().min(1).max(65535).nullish(),
  protocol: z.enum(["http1", "http2", "tcp"], { error: "must be 'http1', 'http2' or 'tcp'" }).nullish(),
  weight: z.int().min(1).max(100).nullish(),
});
export type DestinationInput = z.output<typeof destination>;
const destinationsFrom = (least: number) => {
  const problem = `must be an array containing between ${least} and 100 destination objects.`;
  return z.array(destination, problem).min(least, problem).max(100, problem);
};
export const insertDestinationsBody = z.strictObject({ destinations: destinationsFrom(1) });
export const replaceDestinationsBody = z.strictObject({ destinations: destinationsFrom(0) });
const protocol = z.enum(["http1", "http2", "tcp"]).nullish();
/** As in CF, an empty body changes nothing. */
export const updateDestinationBody = z.strictObject({
  protocol: shownAs(
    z.unknown().transform((value, context): z.output<typeof protocol> => {
      const parsed = protocol.safeParse(value);
      if (parsed.success) return parsed.data;
      const message = "Destination protocol must be 'http1', 'http2' or 'tcp'.";
      context.addIssue({ code: "custom", message, params: { whole: true } });
      return z.NEVER;
    }),
    protocol,
  ).optional(),
});

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
export const destinationListQuery = z.strictObject({ guids: csv.optional(), app_guids: csv.optional() });

/** Identifies a destination within its route. */
export type DestinationKey = (destination: Destination) => string;

const MAX_DESTINATIONS = 100;

/**
 * Adds the new destinations and leaves existing ones unchanged.
 * `describe` names one in an error. @throws CFError 422 when one is given twice, or exists with another protocol
 */
export function addDestinations(
  current: readonly Destination[],
  added: readonly Destination[],
  { key, describe }: { key: DestinationKey; describe: (destination: Destination) => string },
): Destination[] {
  checkDistinct(added, key);
  if (current.some((one) => one.weight !== undefined))
    throw unprocessable("Destinations cannot be inserted when there are weighted destinations already configured.");
  const known = new Map(current.map((one) => [key(one), one]));
  for (const one of added) {
    const before = known.get(key(one));
    if (before && before.protocol !== one.protocol)
      throw unprocessable(
        `Cannot add destination with protocol: ${one.protocol}. Destination already exists for ${describe(one)}, and protocol: ${before.protocol}.`,
      );
  }
  const destinations = [...current, ...added.filter((one) => !known.has(key(one)))];
  if (destinations.length > MAX_DESTINATIONS)
    throw unprocessable(`Routes can be mapped to at most ${MAX_DESTINATIONS} destinations.`);
  return destinations;
}

/** @throws CFError 422 when one is given twice, only some have weights, or the weights do not add up to 100 */
export function checkReplacement(destinations: readonly Destination[], key: DestinationKey): void {
  checkDistinct(destinations, key);
  const weights = destinations.flatMap(({ weight }) => weight ?? []);
  if (weights.length === 0) return;
  if (weights.length < destinations.length)
    throw unprocessable("Destinations cannot contain both weighted and unweighted destinations.");
  if (weights.reduce((sum, weight) => sum + weight, 0) !== 100)
    throw unprocessable("Destinations must have weights that sum to 100.");
}

function checkDistinct(destinations: readonly Destination[], key: DestinationKey): void {
  if (new Set(destinations.map(key)).size < destinations.length)
    throw unprocessable("Destinations cannot contain duplicate entries");
}

/** Whether a patch of destinations would change anything. */
export function sameDestinations(route: Route, destinations: readonly Destination[]): boolean {
  return JSON.stringify(route.spec.destinations) === JSON.stringify(destinations);
}
