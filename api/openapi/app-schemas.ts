// Answers about apps and what runs of them.
import { z } from "zod";
import {
  anyObject,
  flag,
  guid,
  guidOrNull,
  identity,
  integer,
  link,
  links,
  metadata,
  named,
  postLink,
  text,
  textMap,
  timestamp,
  toApp,
  toOne,
  toOneOrNone,
} from "./schema-parts.ts";

export const lifecycleType = z.enum(["buildpack", "cnb", "docker"]);

export const lifecycle = named(
  "Lifecycle",
  z.strictObject({
    type: lifecycleType,
    data: z.strictObject({
      buildpacks: z.array(text).optional(),
      stack: text.nullable().optional(),
      credentials: z.union([anyObject, z.literal("***")]).optional(),
    }),
  }),
);

export const app = named(
  "App",
  z.strictObject({
    ...identity,
    name: text,
    state: z.enum(["STOPPED", "STARTED"]),
    lifecycle,
    relationships: z.strictObject({ space: toOne, current_droplet: z.strictObject({ data: guidOrNull }) }),
    metadata,
    links: links(
      [
        "self",
        "environment_variables",
        "space",
        "processes",
        "packages",
        "current_droplet",
        "droplets",
        "tasks",
        "revisions",
        "deployed_revisions",
        "features",
      ],
      { start: postLink, stop: postLink, clear_buildpack_cache: postLink },
    ),
  }),
);

export const appEnvironment = named(
  "AppEnvironment",
  z.strictObject({
    staging_env_json: anyObject,
    running_env_json: anyObject,
    environment_variables: anyObject,
    system_env_json: anyObject,
    application_env_json: anyObject,
  }),
);

export const appVariables = named(
  "AppEnvironmentVariables",
  z.strictObject({ var: textMap, links: links(["self", "app"]) }),
);

export const appPermissions = named(
  "AppPermissions",
  z.strictObject({ read_basic_data: flag, read_sensitive_data: flag }),
);

export const sshEnabled = named("AppSSHEnabled", z.strictObject({ enabled: flag, reason: text }));

export const policyViolations = named(
  "PolicyViolations",
  z.strictObject({
    resources: z.array(
      z.strictObject({
        constraint: text,
        action: z.enum(["deny", "warn", "dryrun"]),
        kind: text,
        name: text,
        namespace: text.optional(),
        message: text,
      }),
    ),
  }),
);

export const feature = named("Feature", z.strictObject({ name: text, description: text, enabled: flag }));
export const spaceFeatures = named("SpaceFeatures", z.strictObject({ resources: z.array(feature) }));

/** Always a single page, whose addresses are paths. */
const wholeList = z.strictObject({ href: z.string().startsWith("/v3/") });
export const appFeatures = named(
  "AppFeatures",
  z.strictObject({
    resources: z.array(feature),
    pagination: z.strictObject({
      total_results: integer,
      total_pages: z.literal(1),
      first: wholeList,
      last: wholeList,
      next: z.null(),
      previous: z.null(),
    }),
  }),
);

/** A start command may be hidden. */
const command = text.nullable();

const healthCheckType = z.enum(["port", "process", "http"]);
const readinessData = {
  invocation_timeout: integer.nullable(),
  interval: integer.nullable(),
  endpoint: text.nullable().optional(),
};

const instance = z.strictObject({ index: integer.min(0), state: text, since: integer.min(0) });

export const process = named(
  "Process",
  z.strictObject({
    ...identity,
    version: guid,
    type: text,
    command,
    user: text,
    instances: integer.min(0),
    memory_in_mb: integer,
    disk_in_mb: integer,
    log_rate_limit_in_bytes_per_second: integer.min(-1),
    health_check: z.strictObject({
      type: healthCheckType,
      data: z.strictObject({ timeout: integer.nullable(), ...readinessData }),
    }),
    readiness_health_check: z.strictObject({ type: healthCheckType, data: z.strictObject(readinessData) }),
    relationships: z.strictObject({ app: toApp, revision: toOne.nullable() }),
    process_instances: z.array(instance).optional(),
    metadata,
    links: links(["self", "app", "space", "stats", "process_instances"], { scale: postLink }),
  }),
);

export const processInstances = named(
  "ProcessInstances",
  z.strictObject({ resources: z.array(instance), links: links(["self", "process"]) }),
);

const downInstance = {
  type: text,
  index: integer.min(0),
  state: z.literal("DOWN"),
  routable: flag.nullable(),
  uptime: integer.nullable(),
  isolation_segment: text.nullable(),
  details: text.nullable(),
};
const instanceStats = z.strictObject({
  ...downInstance,
  state: z.enum(["RUNNING", "CRASHED", "STARTING", "STOPPING"]),
  uptime: integer.min(0),
  instance_guid: text,
  host: text,
  instance_internal_ip: text,
  mem_quota: integer.nullable(),
  disk_quota: integer.nullable(),
  log_rate_limit: integer.nullable(),
  fds_quota: integer,
  instance_ports: z.array(
    z.strictObject({
      external: integer.nullable(),
      internal: integer,
      external_tls_proxy_port: integer.nullable(),
      internal_tls_proxy_port: integer.nullable(),
    }),
  ),
  usage: z
    .strictObject({
      time: timestamp,
      cpu: z.number(),
      cpu_entitlement: z.number().nullable(),
      mem: integer,
      disk: integer,
      log_rate: integer,
    })
    .partial(),
});

export const processStats = named(
  "ProcessStats",
  z.strictObject({ resources: z.array(z.union([z.strictObject(downInstance), instanceStats])) }),
);

export const sidecar = named(
  "Sidecar",
  z.strictObject({
    guid,
    name: text,
    command: text,
    process_types: z.array(text),
    memory_in_mb: integer.nullable(),
    origin: z.enum(["user", "buildpack"]),
    relationships: z.strictObject({ app: toApp }),
    created_at: timestamp,
    updated_at: timestamp,
  }),
);

export const revision = named(
  "Revision",
  z.strictObject({
    ...identity,
    version: integer.min(1),
    droplet: guidOrNull,
    processes: z.record(z.string(), z.strictObject({ command })),
    sidecars: z.array(
      z.strictObject({ name: text, command: text, process_types: z.array(text), memory_in_mb: integer.nullable() }),
    ),
    description: text,
    deployable: flag,
    relationships: z.strictObject({ app: toApp }),
    metadata,
    links: links(["self", "app", "environment_variables"]),
  }),
);

export const revisionVariables = named(
  "RevisionEnvironmentVariables",
  z.strictObject({ var: textMap, links: links(["self", "revision", "app"]) }),
);

export const deployment = named(
  "Deployment",
  z.strictObject({
    ...identity,
    status: z.strictObject({
      value: z.enum(["ACTIVE", "FINALIZED"]),
      reason: z.enum(["DEPLOYING", "PAUSED", "CANCELING", "DEPLOYED", "CANCELED", "SUPERSEDED"]),
      details: z.strictObject({
        last_successful_healthcheck: timestamp.nullable(),
        last_status_change: timestamp.nullable(),
        error: text.optional(),
      }),
      canary: z.strictObject({ steps: z.strictObject({ current: integer, total: integer }) }).optional(),
    }),
    strategy: z.enum(["rolling", "canary"]),
    options: z.strictObject({
      max_in_flight: integer.min(1),
      web_instances: integer.optional(),
      memory_in_mb: integer.optional(),
      disk_in_mb: integer.optional(),
      log_rate_limit_in_bytes_per_second: integer.optional(),
      canary: z.strictObject({ steps: z.array(z.strictObject({ instance_weight: integer })) }).optional(),
    }),
    droplet: guidOrNull,
    previous_droplet: guidOrNull,
    new_processes: z.array(z.strictObject({ guid, type: text })),
    revision: z.strictObject({ guid, version: integer }).nullable(),
    relationships: z.strictObject({ app: toApp }),
    metadata,
    links: links(["self", "app"], { cancel: postLink.optional(), continue: postLink.optional() }),
  }),
);

export const task = named(
  "Task",
  z.strictObject({
    ...identity,
    sequence_id: integer,
    name: text,
    command: text.optional(),
    user: text,
    state: z.enum(["PENDING", "RUNNING", "SUCCEEDED", "CANCELING", "FAILED"]),
    memory_in_mb: integer,
    disk_in_mb: integer,
    log_rate_limit_in_bytes_per_second: integer,
    result: z.strictObject({ failure_reason: text.nullable() }),
    droplet_guid: text,
    relationships: z.strictObject({ app: toApp }),
    metadata,
    links: links(["self", "app", "droplet"], { cancel: postLink }),
  }),
);

export const currentDropletRelationship = named(
  "CurrentDropletRelationship",
  toOneOrNone.extend({ links: links(["self"], { related: link.optional() }) }),
);

export const manifestDiff = named(
  "ManifestDiff",
  z.strictObject({
    diff: z.array(
      z.strictObject({
        op: z.enum(["add", "remove", "replace"]),
        path: text,
        was: z.unknown().optional(),
        value: z.unknown().optional(),
      }),
    ),
  }),
);
