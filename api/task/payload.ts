// Request bodies and queries of tasks.
import { z } from "zod";
import type { Process } from "../../crds/process/process.ts";
import { metadataSchema } from "../http/metadata.ts";
import { processUserSchema } from "../cf/process/process-schemas.ts";
import { withoutNulls } from "../cf/without-nulls.ts";
import { csv, csvIntegers, listQuery } from "../http/query.ts";
import { guidOf, nameSchema } from "../http/shared-schemas.ts";

const MAX_MB = 4_194_304;
const megabytes = z
  .int()
  .min(1, "must be greater than 0")
  .max(MAX_MB, `must be less than or equal to ${MAX_MB}`)
  .nullish();

const NO_GUID = "guid must be a string, Template process guid must be between 1 and 200 characters";
const absent = (text: string) => ({
  error: ({ code }: { code?: string }) => (code === "invalid_type" ? text : undefined),
});
const NO_PROCESS = absent(NO_GUID);
const NO_TEMPLATE = absent(`process ${NO_GUID}`);

export const createTaskBody = z
  .strictObject({
    command: z.string().min(1).max(4096, "must be shorter than 4097 characters").nullish(),
    name: nameSchema.optional(),
    user: processUserSchema.nullish(),
    memory_in_mb: megabytes,
    disk_in_mb: megabytes,
    log_rate_limit_in_bytes_per_second: z
      .int()
      .min(-1, "must be greater than -2")
      .max(Number.MAX_SAFE_INTEGER)
      .nullish(),
    droplet_guid: guidOf("Droplet guid", { isRequired: false }).nullish(),
    template: z
      .strictObject(
        { process: z.strictObject({ guid: guidOf("Template process guid", { isRequired: false }) }, NO_PROCESS) },
        NO_TEMPLATE,
      )
      .optional(),
    metadata: metadataSchema.optional(),
  })
  .superRefine(({ command, template }, context) => {
    if (!command && !template)
      context.addIssue({ code: "custom", path: ["command"], message: "No command or template provided" });
  });
export type CreateTaskBody = z.output<typeof createTaskBody>;

const ownFilters = { names: csv.optional(), states: csv.optional() };
export const taskListQuery = listQuery({
  ...ownFilters,
  app_guids: csv.optional(),
  space_guids: csv.optional(),
  organization_guids: csv.optional(),
});
export const appTaskListQuery = listQuery({ ...ownFilters, sequence_ids: csvIntegers.optional() });

/** The process whose command and sizes a task takes where the body gives none. `command`: specified or detected. */
export type TaskTemplate = Pick<Process, "spec"> & { command: string | undefined };

/** The part of a new task's spec that follows from the body; the template has the rest. */
export function toTaskSpec(body: CreateTaskBody, template: TaskTemplate | undefined): Record<string, unknown> {
  const given = {
    command: body.command,
    memoryMB: body.memory_in_mb,
    diskMB: body.disk_in_mb,
    logRateLimitBytesPerSecond: body.log_rate_limit_in_bytes_per_second,
    user: body.user,
  };
  return { ...(template && fromTemplate(template)), ...withoutNulls(given) };
}

function fromTemplate({ spec, command }: TaskTemplate): Record<string, unknown> {
  const { memoryMB, diskMB, logRateLimitBytesPerSecond, cpu, user } = spec;
  return withoutNulls({ command, memoryMB, diskMB, logRateLimitBytesPerSecond, cpu, user });
}
