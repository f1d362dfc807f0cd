// The TaskRun kind: a self-contained one-off run of a command in an app's droplet, for one class. The contract between platform and runners of tasks.
import { MAX_DETAILS } from "../details.ts";
import { MAX_TASK_SECONDS } from "../process/defaults.ts";
import { z } from "zod";
import { immutable, readyStatus, withRules, type Resource } from "../../kube/api/resource.ts";
import { dropletArtifact } from "../droplet/droplet.ts";
import { mountedClaims } from "../mounted-claim.ts";
import { mountedFiles } from "../mounted-files.ts";
import { className, cpuQuantity, envVars, identity, memoryMB } from "../schema-fields.ts";
import { CATEGORY, WORKLOADS_GROUP } from "../groups.ts";
import { defineKind, READ } from "../kind.ts";
import { SPACE_READERS } from "../roles.ts";

export const TaskRun = defineKind({
  group: WORKLOADS_GROUP,
  kind: "TaskRun",
  plural: "taskruns",
  namespaced: true,
  livesIn: ["space"],
  deletedWithSpace: "last",
  permissions: [{ verbs: READ, roles: SPACE_READERS }],
  isReadByAPI: false,
  shortNames: ["cftaskrun"],
  categories: [CATEGORY],
  description:
    "One run of a command in an app's droplet, for one class. It runs at most once. Only cancelled can change, from false to true.",
  columns: [
    { name: "App", jsonPath: ".spec.app.name" },
    { name: "Task", jsonPath: ".spec.taskName" },
    { name: "Class", jsonPath: ".spec.class" },
    { name: "State", jsonPath: ".status.state" },
  ],
  spec: withRules(
    immutable(
      z.object({
        class: className.describe("The BackendClass that runs it, of role task-runner."),
        app: identity,
        space: identity,
        org: identity,
        taskGUID: z.string().max(63),
        taskName: z.string().min(1).max(255).describe("Names the task in the app's log: APP/TASK/<name>."),
        droplet: z.object({ guid: z.string().max(63), ...dropletArtifact }),
        command: z.string().min(1).max(65536),
        env: envVars.default([]),
        serviceFiles: mountedFiles.optional(),
        volumes: mountedClaims.optional(),
        memoryMB,
        diskMB: memoryMB,
        cpu: cpuQuantity.optional(),
        logRateLimitBytesPerSecond: z.int().min(-1).default(-1),
        timeoutSeconds: z
          .int()
          .min(1)
          .max(MAX_TASK_SECONDS)
          .optional()
          .describe("Seconds after which a run that has not ended fails. No limit when left out."),
        user: z.string().max(255).optional(),
        cancelled: z.boolean().default(false).describe("Ends the run. It stays cancelled."),
      }),
      "class",
      "app",
      "space",
      "org",
      "taskGUID",
      "taskName",
      "droplet",
      "command",
      "env",
      "serviceFiles",
      "volumes",
      "memoryMB",
      "diskMB",
      "cpu",
      "logRateLimitBytesPerSecond",
      "timeoutSeconds",
      "user",
    ),
    [{ rule: "self.cancelled || !oldSelf.cancelled", message: "a cancelled task stays cancelled" }],
  ),
  status: readyStatus({
    state: z.enum(["Pending", "Running", "Succeeded", "Failed"]).optional(),
    exitCode: z.int().optional().describe("Of the command, once it has ended by itself."),
    details: z.string().max(MAX_DETAILS).optional().describe("Why it failed, or why it has not started yet."),
    startedAt: z.string().max(64).optional().describe("When the command was started (RFC 3339)."),
    finishedAt: z.string().max(64).optional(),
  }),
});
export type TaskRun = Resource<typeof TaskRun>;
