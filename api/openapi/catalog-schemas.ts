// Answers about service brokers, and the offerings and plans of their catalogs.
import { z } from "zod";
import {
  anyObject,
  flag,
  guid,
  identity,
  integer,
  link,
  links,
  metadata,
  named,
  text,
  toApp,
  toOne,
} from "./schema-parts.ts";

/** Set for a space's own broker only. */
const ofSpace = { space: toOne.optional() };

export const serviceBroker = named(
  "ServiceBroker",
  z.strictObject({
    ...identity,
    name: text,
    url: text,
    // Not in Cloud Foundry.
    ca_bundle: text.optional(),
    relationships: z.strictObject(ofSpace),
    metadata,
    links: links(["self", "service_offerings"], { space: link.optional() }),
  }),
);

export const serviceOffering = named(
  "ServiceOffering",
  z.strictObject({
    ...identity,
    name: text,
    description: text,
    available: flag,
    tags: z.array(text),
    requires: z.array(z.enum(["syslog_drain", "route_forwarding", "volume_mount"])),
    shareable: flag,
    documentation_url: text,
    broker_catalog: z.strictObject({
      id: text,
      metadata: anyObject,
      features: z.strictObject({
        plan_updateable: flag,
        bindable: flag,
        instances_retrievable: flag,
        bindings_retrievable: flag,
        allow_context_updates: flag,
      }),
    }),
    // The GUID is empty for an object that kubectl made and whose broker is not there.
    relationships: z.strictObject({ service_broker: toApp }),
    metadata,
    links: links(["self", "service_plans", "service_broker"]),
  }),
);

/** Members that `fields` can add. */
export const offeringIncludes = { service_brokers: z.array(anyObject) };

const schema = z.strictObject({ parameters: anyObject });

export const servicePlan = named(
  "ServicePlan",
  z.strictObject({
    ...identity,
    name: text,
    description: text,
    visibility_type: z.enum(["public", "admin", "organization", "space"]),
    available: flag,
    free: flag,
    costs: z.array(anyObject),
    maintenance_info: z.strictObject({ version: text.optional(), description: text.optional() }),
    broker_catalog: z.strictObject({
      id: text,
      metadata: anyObject,
      maximum_polling_duration: integer.nullable(),
      features: z.strictObject({ bindable: flag, plan_updateable: flag }),
    }),
    schemas: z.strictObject({
      service_instance: z.strictObject({ create: schema, update: schema }),
      service_binding: z.strictObject({ create: schema }),
    }),
    relationships: z.strictObject({ service_offering: toApp, ...ofSpace }),
    metadata,
    links: links(["self", "service_offering", "visibility"], { space: link.optional() }),
  }),
);

const place = z.strictObject({ guid, name: text });

export const planVisibility = named(
  "ServicePlanVisibility",
  z.strictObject({
    type: z.enum(["public", "admin", "organization", "space"]),
    space: place.optional(),
    organizations: z.array(place).optional(),
  }),
);
