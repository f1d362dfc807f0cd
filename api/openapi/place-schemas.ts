// Answers about orgs, spaces, who is in them and what they are allowed.
import { z } from "zod";
import { CF_ROLES } from "../../crds/roles.ts";
import {
  flag,
  identity,
  integer,
  link,
  links,
  metadata,
  named,
  postLink,
  text,
  timestamp,
  toMany,
  toOne,
  toOneOrNone,
} from "./schema-parts.ts";

export const organization = named(
  "Organization",
  z.strictObject({
    ...identity,
    name: text,
    suspended: flag,
    relationships: z.strictObject({ quota: toOneOrNone }),
    metadata,
    links: links(["self", "domains", "default_domain"], { quota: link.optional() }),
  }),
);

export const space = named(
  "Space",
  z.strictObject({
    ...identity,
    name: text,
    suspended: flag,
    relationships: z.strictObject({ organization: toOne, quota: toOneOrNone }),
    metadata,
    links: links(["self", "organization", "features"], { apply_manifest: postLink, quota: link.optional() }),
  }),
);

const limit = integer.nullable();
const limits = {
  apps: z.strictObject({
    total_memory_in_mb: limit,
    per_process_memory_in_mb: limit,
    total_instances: limit,
    per_app_tasks: limit,
    log_rate_limit_in_bytes_per_second: limit,
  }),
  services: z.strictObject({
    paid_services_allowed: flag,
    total_service_instances: limit,
    total_service_keys: limit,
  }),
  routes: z.strictObject({ total_routes: limit, total_reserved_ports: limit }),
};

export const organizationQuota = named(
  "OrganizationQuota",
  z.strictObject({
    ...identity,
    name: text,
    ...limits,
    domains: z.strictObject({ total_domains: limit }),
    relationships: z.strictObject({ organizations: toMany }),
    links: links(["self"]),
  }),
);

export const spaceQuota = named(
  "SpaceQuota",
  z.strictObject({
    ...identity,
    name: text,
    ...limits,
    relationships: z.strictObject({ organization: toOne, spaces: toMany }),
    links: links(["self", "organization"]),
  }),
);

/** A user's GUID is the Kubernetes user name. */
const toUser = named("UserRelationship", z.strictObject({ data: z.strictObject({ guid: text }) }));

export const role = named(
  "Role",
  z.strictObject({
    ...identity,
    type: z.enum(Object.keys(CF_ROLES)),
    relationships: z.strictObject({ user: toUser, space: toOneOrNone, organization: toOneOrNone }),
    links: links(["self", "user"], { space: link.optional(), organization: link.optional() }),
  }),
);

export const user = named(
  "User",
  z.strictObject({
    guid: text,
    created_at: timestamp,
    updated_at: timestamp,
    username: text.nullable(),
    presentation_name: text,
    origin: text.nullable(),
    metadata,
    links: links(["self"]),
  }),
);

export const isolationSegment = named(
  "IsolationSegment",
  z.strictObject({ ...identity, name: text, metadata, links: links(["self", "organizations"]) }),
);

export const securityGroup = named(
  "SecurityGroup",
  z.strictObject({
    ...identity,
    name: text,
    rules: z.array(
      z.strictObject({
        protocol: text,
        destination: text,
        ports: text.optional(),
        type: integer.optional(),
        code: integer.optional(),
        description: text.optional(),
        log: flag.optional(),
      }),
    ),
    globally_enabled: z.strictObject({ running: flag, staging: flag }),
    relationships: z.strictObject({ running_spaces: toMany, staging_spaces: toMany }),
    links: links(["self"]),
  }),
);

/** The usage of the platform, an org or a space: the address of what it is about is among the links. */
export function usageSummary(name: string, about?: string): z.ZodType {
  return named(
    name,
    z.strictObject({
      usage_summary: z.strictObject({
        started_instances: integer,
        memory_in_mb: integer,
        routes: integer,
        service_instances: integer,
        reserved_ports: integer,
        domains: integer,
        per_app_tasks: integer,
        service_keys: integer,
      }),
      links: links(["self", ...(about ? [about] : [])]),
    }),
  );
}

export const networkPolicies = named(
  "NetworkPolicies",
  z.strictObject({
    total_policies: integer,
    policies: z.array(
      z.strictObject({
        source: z.strictObject({ id: text }),
        destination: z.strictObject({
          id: text,
          protocol: text,
          ports: z.strictObject({ start: integer, end: integer }),
        }),
      }),
    ),
  }),
);
