// Answers about service instances and their bindings.
import { z } from "zod";
import { anyObject, flag, identity, link, metadata, named, text, timestamp, toApp, toOne } from "./schema-parts.ts";

const lastOperation = z.strictObject({
  type: z.enum(["create", "update", "delete"]),
  state: z.enum(["initial", "in progress", "succeeded", "failed"]),
  description: text,
  created_at: timestamp,
  updated_at: timestamp,
});

export const serviceInstance = named(
  "ServiceInstance",
  z.strictObject({
    ...identity,
    name: text,
    tags: z.array(text),
    type: z.enum(["user-provided", "managed"]),
    // User-provided instances only.
    syslog_drain_url: text.nullable().optional(),
    route_service_url: text.nullable().optional(),
    // Managed instances only.
    maintenance_info: z.strictObject({ version: text.optional(), description: text.optional() }).optional(),
    upgrade_available: flag.optional(),
    dashboard_url: text.nullable().optional(),
    last_operation: lastOperation,
    relationships: z.strictObject({ space: toOne, service_plan: toOne.optional() }),
    metadata,
    links: z.strictObject({
      self: link,
      space: link,
      credentials: link.optional(),
      parameters: link.optional(),
      shared_spaces: link.optional(),
      service_plan: link.optional(),
      service_credential_bindings: link,
      service_route_bindings: link,
    }),
  }),
);

/** Members that `fields` can add. */
export const instanceIncludes = {
  spaces: z.array(anyObject),
  organizations: z.array(anyObject),
  service_plans: z.array(anyObject),
  service_offerings: z.array(anyObject),
  service_brokers: z.array(anyObject),
};

export const instancePermissions = named("ServiceInstancePermissions", z.strictObject({ manage: flag, read: flag }));

export const serviceBinding = named(
  "ServiceCredentialBinding",
  z.strictObject({
    ...identity,
    name: text.nullable(),
    type: z.enum(["app", "key"]),
    last_operation: lastOperation,
    // An object that kubectl made may name an app or instance that is not there: the GUID is empty then.
    relationships: z.strictObject({ app: toApp.optional(), service_instance: toApp }),
    metadata,
    links: z.strictObject({
      self: link,
      details: link,
      parameters: link.optional(),
      app: link.optional(),
      service_instance: link,
    }),
  }),
);

export const routeBinding = named(
  "ServiceRouteBinding",
  z.strictObject({
    ...identity,
    route_service_url: text.nullable(),
    last_operation: lastOperation,
    relationships: z.strictObject({ service_instance: toApp, route: toApp }),
    metadata,
    links: z.strictObject({ self: link, service_instance: link, route: link, parameters: link.optional() }),
  }),
);

export const bindingDetails = named(
  "ServiceCredentialBindingDetails",
  z.strictObject({
    credentials: anyObject,
    syslog_drain_url: text.optional(),
    volume_mounts: z.array(anyObject),
  }),
);

const guid = z.strictObject({ guid: text });

export const sharedSpaces = named(
  "SharedSpaces",
  z.strictObject({
    data: z.array(guid),
    links: z.strictObject({ self: link }),
    included: z
      .strictObject({ spaces: z.array(anyObject), organizations: z.array(anyObject) })
      .partial()
      .optional(),
  }),
);

export const sharedUsage = named(
  "SharedSpacesUsage",
  z.strictObject({
    usage_summary: z.array(z.strictObject({ space: guid, bound_app_count: z.int() })),
    links: z.strictObject({ self: link, shared_spaces: link, service_instance: link }),
  }),
);
