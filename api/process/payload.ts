// Request bodies and queries of processes.
import { z } from "zod";
import { csv, embed, listQuery } from "../http/query.ts";
import { metadataSchema } from "../http/metadata.ts";
import { commandSchema, MAX_START_SECONDS, processUserSchema } from "../cf/process/process-schemas.ts";
import type { Process } from "../../crds/process/process.ts";

const seconds = z.int().min(1, "must be greater than or equal to 1").max(3600).nullable().optional();
const NO_PATH = "must be a valid URI path";
const endpointPath = z.string(NO_PATH).max(255).regex(/^\//, NO_PATH).nullable().optional();
const checkType = z.enum(["port", "process", "http"], { error: 'must be "port", "process", or "http"' });

const healthCheck = z.strictObject({
  type: checkType.optional(),
  data: z
    .strictObject({
      timeout: z
        .int()
        .min(1, "must be greater than or equal to 1")
        .max(MAX_START_SECONDS, `Maximum exceeded: max ${MAX_START_SECONDS}s`)
        .nullable()
        .optional(),
      invocation_timeout: seconds,
      interval: seconds,
      endpoint: endpointPath,
    })
    .nullable()
    .optional(),
});
const readinessCheck = z.strictObject({
  type: checkType.optional(),
  data: z
    .strictObject({ invocation_timeout: seconds, interval: seconds, endpoint: endpointPath })
    .nullable()
    .optional(),
});

export const updateProcessBody = z.strictObject({
  command: commandSchema.nullable().optional(),
  user: processUserSchema.nullable().optional(),
  health_check: healthCheck.nullish(),
  readiness_health_check: readinessCheck.nullish(),
  metadata: metadataSchema.optional(),
});

const megabytes = z
  .int()
  .min(1, "must be greater than 0")
  .max(4_194_304, "must be less than or equal to 4194304")
  .nullable()
  .optional();

export const scaleBody = z.strictObject({
  instances: z
    .int()
    .min(0, "must be greater than or equal to 0")
    .max(10_000, "must be less than or equal to 10000")
    .nullable()
    .optional(),
  memory_in_mb: megabytes,
  disk_in_mb: megabytes,
  log_rate_limit_in_bytes_per_second: z.int().min(-1, "must be greater than or equal to -1").nullable().optional(),
});

const embedded = embed("process_instances").optional();
const ownFilters = { types: csv.optional(), embed: embedded };
export const processListQuery = listQuery({
  ...ownFilters,
  app_guids: csv.optional(),
  space_guids: csv.optional(),
  organization_guids: csv.optional(),
});
export const appProcessListQuery = listQuery(ownFilters);
export const processGetQuery = z.strictObject({ embed: embedded });

type Check = NonNullable<z.output<typeof updateProcessBody>["health_check"]>;

/** The spec part of the patch for an update. */
export function toProcessSpec(body: z.output<typeof updateProcessBody>, process: Process): Record<string, unknown> {
  const isWeb = process.spec.type === "web";
  return {
    ...(body.command !== undefined && { command: body.command }),
    ...(body.user !== undefined && { user: body.user }),
    ...(body.health_check && {
      healthCheck: toCheck(body.health_check, process.spec.healthCheck?.type ?? (isWeb ? "port" : "process")),
    }),
    ...(body.readiness_health_check && {
      readinessHealthCheck: toCheck(body.readiness_health_check, process.spec.readinessHealthCheck?.type ?? "process"),
    }),
  };
}

/** Merge patch of a health check: null removes a value; changing the type from http removes the endpoint. */
function toCheck(check: Check, currentType: string): Record<string, unknown> {
  const type = check.type ?? currentType;
  const { timeout, invocation_timeout, interval, endpoint } = check.data ?? {};
  return {
    type,
    ...(timeout !== undefined && { timeoutSeconds: timeout }),
    ...(invocation_timeout !== undefined && { invocationTimeoutSeconds: invocation_timeout }),
    ...(interval !== undefined && { intervalSeconds: interval }),
    ...(type !== "http" ? { endpoint: null } : endpoint !== undefined && { endpoint }),
  };
}

/** The spec part of the patch for scaling. */
export function toScaleSpec(body: z.output<typeof scaleBody>): Record<string, unknown> {
  const {
    instances,
    memory_in_mb: memoryMB,
    disk_in_mb: diskMB,
    log_rate_limit_in_bytes_per_second: logRateLimitBytesPerSecond,
  } = body;
  return Object.fromEntries(
    Object.entries({ instances, memoryMB, diskMB, logRateLimitBytesPerSecond }).filter(
      ([, value]) => typeof value === "number",
    ),
  );
}
