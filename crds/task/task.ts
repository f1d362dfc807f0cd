// The Task kind: one run of a command in an app's droplet, beside the app's processes. A TaskRun follows from it.
import { MAX_DETAILS } from "../details.ts";
import { z } from "zod";
import { immutable, readyStatus, withRules, type Resource } from "../../kube/api/resource.ts";
import { cfName } from "../cf-name.ts";
import { DEFAULT_DISK_MB, DEFAULT_LOG_RATE, DEFAULT_MEMORY_MB, MAX_TASK_SECONDS } from "../process/defaults.ts";
import { className, cpuQuantity, memoryMB, refTo } from "../schema-fields.ts";
import { CATEGORY, GROUP } from "../groups.ts";
import { defineKind, READ, WRITE } from "../kind.ts";
import { SPACE_READERS, APP_OPERATORS, SPACE_DEVELOPER, SPACE_SUPPORTER } from "../roles.ts";

export const Task = defineKind({
  group: GROUP,
  kind: "Task",
  plural: "tasks",
  namespaced: true,
  livesIn: ["space"],
  deletedWithSpace: "early",
  permissions: [
    { verbs: READ, roles: SPACE_READERS },
    { verbs: WRITE, roles: [SPACE_DEVELOPER] },
    // A supporter cancels tasks, but neither creates nor labels them.
    { verbs: ["update", "patch"], roles: [SPACE_SUPPORTER] },
    { subresource: "cancel", verbs: ["update"], roles: APP_OPERATORS },
    { subresource: "settings", verbs: ["update"], roles: [SPACE_DEVELOPER] },
  ],
  fieldPermissions: [
    { subresource: "cancel", fields: ["cancelled"] },
    { subresource: "settings", fields: [], metadata: true },
  ],
  audit: { outsideWrites: "changes" },
  shortNames: ["cftask"],
  categories: [CATEGORY],
  description:
    "One run of a command in an app's droplet, such as a migration. It runs once, as soon as it is created, whether or not the app is started. Only cancelled can change, from false to true.",
  columns: [
    { name: "App", jsonPath: ".spec.appRef.name" },
    { name: "ID", jsonPath: ".status.sequenceID", type: "integer" },
    { name: "CF-Name", jsonPath: ".spec.name" },
    { name: "State", jsonPath: ".status.state" },
    { name: "Reason", jsonPath: ".status.failureReason", wide: true },
  ],
  spec: withRules(
    immutable(
      z.object({
        appRef: refTo("App"),
        name: cfName.optional().describe("The name that cf shows and the log carries. Defaults to metadata.name."),
        command: z.string().min(1).max(4096).describe("The command; a shell runs it."),
        dropletRef: refTo("Droplet").optional().describe("The droplet to run in. Defaults to the app's current one."),
        memoryMB: memoryMB.default(DEFAULT_MEMORY_MB).describe("Memory, in MB."),
        diskMB: memoryMB.default(DEFAULT_DISK_MB).describe("Disk, in MB."),
        cpu: cpuQuantity.optional(),
        logRateLimitBytesPerSecond: z
          .int()
          .min(-1)
          .default(DEFAULT_LOG_RATE)
          .describe("Bytes of log per second; lines above it are dropped. -1 means unlimited."),
        timeoutSeconds: z
          .int()
          .min(1)
          .max(MAX_TASK_SECONDS)
          .optional()
          .describe("Seconds after which a run that has not ended fails. No limit when left out."),
        user: z.string().max(255).optional().describe("The user that the command runs as."),
        runner: className
          .optional()
          .describe("The BackendClass of role task-runner that runs it. Defaults to the default one."),
        cancelled: z.boolean().default(false).describe("Ends the run. It stays cancelled."),
      }),
      "appRef",
      "name",
      "command",
      "dropletRef",
      "memoryMB",
      "diskMB",
      "cpu",
      "logRateLimitBytesPerSecond",
      "timeoutSeconds",
      "user",
      "runner",
    ),
    [{ rule: "self.cancelled || !oldSelf.cancelled", message: "a cancelled task stays cancelled" }],
  ),
  status: readyStatus({
    state: z
      .enum(["Pending", "Running", "Succeeded", "Failed"])
      .optional()
      .describe("Progress of the run. Succeeded and Failed are final."),
    sequenceID: z.int().min(1).optional().describe("The number by which cf names the task, counted per app."),
    failureReason: z.string().max(MAX_DETAILS).optional().describe("Why it failed."),
    droplet: z.string().max(253).optional().describe("The Droplet that it runs in."),
    cluster: z
      .string()
      .max(63)
      .optional()
      .describe("The cluster that runs it, where its isolation segment has a placement. It stays the same."),
    startedAt: z.string().max(64).optional().describe("When the command was started (RFC 3339)."),
    finishedAt: z.string().max(64).optional(),
  }),
});
export type Task = Resource<typeof Task>;
