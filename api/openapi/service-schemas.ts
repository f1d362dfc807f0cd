// Answers about service instances and their bindings.
import { z } from "zod";
import {
  anyObject,
  flag,
  identity,
  link,
  links,
  metadata,
  named,
  text,
  timestamp,
  toApp,
  toOne,
} from "./schema-parts.ts";

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
    type: z.enum(["user-provided"]),
    syslog_drain_url: text.nullable(),
    route_service_url: text.nullable(),
    last_operation: lastOperation,
    relationships: z.strictObject({ space: toOne }),
    metadata,
    links: links(["self", "space", "credentials", "service_credential_bindings", "service_route_bindings"]),
  }),
);

/** What `fields` can add. */
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
    type: z.enum(["app"]),
    last_operation: lastOperation,
    // An object that kubectl made may name an app or instance that is not there: the GUID is empty then.
    relationships: z.strictObject({ app: toApp, service_instance: toApp }),
    metadata,
    links: z.strictObject({ self: link, details: link, app: link, service_instance: link }),
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
