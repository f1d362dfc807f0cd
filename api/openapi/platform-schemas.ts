// Answers about the platform: what it is, its settings, its jobs and what happened on it.
import { z } from "zod";
import {
  anyObject,
  flag,
  guid,
  identity,
  integer,
  link,
  links,
  named,
  text,
  textMap,
  timestamp,
} from "./schema-parts.ts";

/** A URL; of `app_ssh` a host and a port. */
const rootLink = z.strictObject({ href: text, meta: textMap.optional() }).nullable();

export const globalRoot = named(
  "GlobalRoot",
  z.strictObject({ links: z.record(z.string(), rootLink), cf_on_k8s: flag.optional() }),
);

export const v3Root = named("V3Root", z.strictObject({ links: z.record(z.string(), link) }));

export const info = named(
  "Info",
  z.strictObject({
    build: text,
    cli_version: z.strictObject({ minimum: text, recommended: text }),
    custom: anyObject,
    description: text,
    name: text,
    version: integer,
    osbapi_version: text,
    rate_limits: z.strictObject({ enabled: flag, general_limit: integer, reset_interval_in_minutes: integer }),
    links: z.strictObject({ self: link, support: z.strictObject({ href: text }) }),
  }),
);

export const v2Info = named(
  "V2Info",
  z.strictObject({
    name: text,
    build: text,
    support: text,
    version: integer,
    description: text,
    authorization_endpoint: text,
    token_endpoint: text,
    min_cli_version: text,
    min_recommended_cli_version: text,
    app_ssh_endpoint: text.nullable(),
    app_ssh_host_key_fingerprint: text.nullable(),
    app_ssh_oauth_client: text.nullable(),
    doppler_logging_endpoint: text.nullable(),
    api_version: text,
    osbapi_version: text,
  }),
);

const error = z.strictObject({ code: integer, title: text, detail: text });

export const job = named(
  "Job",
  z.strictObject({
    guid: text,
    created_at: timestamp,
    updated_at: timestamp,
    operation: text,
    state: z.enum(["PROCESSING", "POLLING", "COMPLETE", "FAILED"]),
    errors: z.array(error),
    warnings: z.array(z.strictObject({ detail: text })),
    links: z.object({ self: link }).catchall(link),
  }),
);

const party = { guid: text, type: text, name: text.nullable() };

export const auditEvent = named(
  "AuditEvent",
  z.strictObject({
    ...identity,
    type: text,
    actor: z.strictObject(party).nullable(),
    target: z.strictObject(party).nullable(),
    data: anyObject,
    space: z.strictObject({ guid }).nullable(),
    organization: z.strictObject({ guid }).nullable(),
    links: links(["self"]),
  }),
);

export const featureFlag = named(
  "FeatureFlag",
  z.strictObject({
    name: text,
    enabled: flag,
    updated_at: timestamp.nullable(),
    custom_error_message: text.nullable(),
    links: links(["self"]),
  }),
);

export const environmentGroup = named(
  "EnvironmentVariableGroup",
  z.strictObject({
    updated_at: timestamp.nullable(),
    name: z.enum(["running", "staging"]),
    var: textMap,
    links: links(["self"]),
  }),
);

export const whoami = named("Whoami", z.strictObject({ name: text, kind: text }));

const noneOrName = text.nullable();
const current = z.strictObject({ current: integer.nullable(), previous: integer.nullable() });
const named_ = z.strictObject({ guid: noneOrName, name: noneOrName });

export const appUsageEvent = named(
  "AppUsageEvent",
  z.strictObject({
    ...identity,
    state: z.strictObject({ current: noneOrName, previous: noneOrName }),
    app: named_,
    process: z.strictObject({ guid: noneOrName, type: noneOrName }),
    space: named_,
    organization: z.strictObject({ guid: noneOrName }),
    buildpack: named_,
    task: named_,
    memory_in_mb_per_instance: current,
    instance_count: current,
    links: links(["self"]),
  }),
);

export const serviceUsageEvent = named(
  "ServiceUsageEvent",
  z.strictObject({
    ...identity,
    state: z.enum(["CREATED", "UPDATED", "DELETED"]).nullable(),
    space: named_,
    organization: z.strictObject({ guid: noneOrName }),
    service_instance: named_.extend({ type: noneOrName }),
    service_plan: named_,
    service_offering: named_,
    service_broker: named_,
    links: links(["self"]),
  }),
);
