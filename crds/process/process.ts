// The Process kind: one process type of an App (web, worker, …), with its size and number of instances.
import { MAX_DETAILS } from "../details.ts";
import { z } from "zod";
import { immutable, readyStatus, withRules, type CelRule, type Resource } from "../../kube/api/resource.ts";
import { healthCheck, readinessCheck } from "../health-check.ts";
import { className, cpuQuantity, memoryMB, ports, refTo } from "../schema-fields.ts";
import { CATEGORY, GROUP } from "../groups.ts";
import { DEFAULT_DISK_MB, DEFAULT_LOG_RATE, DEFAULT_MEMORY_MB, DEFAULT_PORT, PROCESS_NAME_RULE } from "./defaults.ts";
import { defineKind, READ, WRITE } from "../kind.ts";
import { SPACE_READERS, APP_OPERATORS, SPACE_DEVELOPER, SPACE_NATIVE, SPACE_SUPPORTER } from "../roles.ts";

/** Its Deployment says how many there are, or an autoscaler. */
const DETACHED_RULE: CelRule = {
  rule: "!(has(self.detached) && self.detached && has(oldSelf.detached) && oldSelf.detached) || (has(self.instances) == has(oldSelf.instances) && (!has(self.instances) || self.instances == oldSelf.instances))",
  message: "the process is detached: scale its workload in Kubernetes, or take it back with cup attach",
  fieldPath: ".instances",
};

export const Process = defineKind({
  group: GROUP,
  kind: "Process",
  plural: "processes",
  namespaced: true,
  livesIn: ["space"],
  deletedWithSpace: "early",
  permissions: [
    { verbs: READ, roles: SPACE_READERS },
    { verbs: WRITE, roles: [SPACE_DEVELOPER] },
    // Setting a droplet creates Processes for its process types.
    { verbs: ["create", "update", "patch"], roles: [SPACE_SUPPORTER] },
    { subresource: "scale", verbs: ["get", "update", "patch"], roles: APP_OPERATORS },
    { subresource: "settings", verbs: ["update"], roles: [SPACE_DEVELOPER] },
    { subresource: "detach", verbs: ["update"], roles: [SPACE_NATIVE] },
  ],
  fieldPermissions: [
    { subresource: "scale", fields: ["instances", "memoryMB", "diskMB", "cpu", "logRateLimitBytesPerSecond"] },
    { subresource: "settings", fields: ["runner", "ports"] },
    { subresource: "detach", fields: ["detached"] },
  ],
  audit: { outsideWrites: "changes" },
  shortNames: ["cfprocess"],
  categories: [CATEGORY],
  description:
    "One process type of an app: its command, size, health check and number of instances. A new number of instances takes effect at once; other changes take effect at the next start.",
  columns: [
    { name: "App", jsonPath: ".spec.appRef.name" },
    { name: "Type", jsonPath: ".spec.type" },
    { name: "Instances", jsonPath: ".spec.instances", type: "integer" },
    { name: "Running", jsonPath: ".status.runningInstances", type: "integer" },
    { name: "Memory", jsonPath: ".spec.memoryMB", type: "integer", description: "MB per instance" },
  ],
  rules: [PROCESS_NAME_RULE],
  scale: { specReplicasPath: ".spec.instances", statusReplicasPath: ".status.runningInstances" },
  spec: withRules(
    immutable(
      z.object({
        appRef: refTo("App"),
        type: z.string().min(1).max(255).default("web").describe("Process type. Routes lead to web by default."),
        instances: z
          .int()
          .min(0)
          .max(10000)
          .optional()
          .describe("Desired number of instances. Defaults to 1 for web and 0 for others."),
        memoryMB: memoryMB.default(DEFAULT_MEMORY_MB).describe("Memory per instance, in MB."),
        diskMB: memoryMB.default(DEFAULT_DISK_MB).describe("Disk per instance, in MB."),
        cpu: cpuQuantity.optional(),
        logRateLimitBytesPerSecond: z
          .int()
          .min(-1)
          .default(DEFAULT_LOG_RATE)
          .describe("Log rate limit per instance; -1 means unlimited."),
        command: z.string().max(4096).optional().describe("The start command. Defaults to the droplet's."),
        healthCheck: healthCheck
          .optional()
          .describe("Health check of instances. Defaults to port for web and process for others."),
        readinessHealthCheck: readinessCheck
          .optional()
          .describe("Decides which instances receive requests from routes. Defaults to process."),
        ports: ports
          .optional()
          .describe(`Ports that the process listens on. Defaults to the droplet's, else to ${DEFAULT_PORT}.`),
        user: z.string().max(255).optional().describe("The user that the process runs as."),
        runner: className.optional().describe("The BackendClass that runs it. Defaults to the default runner."),
        detached: z
          .boolean()
          .optional()
          .describe("Hands what runs over to people: the platform changes and ends none of it until this is unset."),
        restartInstances: z
          .record(z.string().max(5), z.string().max(63))
          .meta({ maxProperties: 1000 })
          .optional()
          .describe("Map from instance index to any value. A new value restarts that instance."),
      }),
      "appRef",
      "type",
    ),
    [DETACHED_RULE],
  ),
  status: readyStatus({
    runningInstances: z.int().min(0).optional().describe("Number of instances that run and are healthy."),
    quota: z
      .object({
        instances: z.int().min(0).describe("Number of instances that the quotas allow."),
        memoryMB: z.int().min(0).describe("Their size, in MB."),
        logRateLimitBytesPerSecond: z.int().min(-1).describe("Their log rate; -1 means unlimited."),
        problem: z.string().max(MAX_DETAILS).optional().describe("Why it is not what the spec asks for."),
      })
      .optional()
      .describe("What the quotas of org and space allow, where one limits processes. One replica writes it."),
    lrp: z.string().max(253).optional().describe("The LRP that runs this process."),
    revision: z.string().max(253).optional().describe("The Revision that the current or next LRP is made from."),
    refused: z
      .object({
        revision: z.string().max(32).describe("Version number of the Revision."),
        message: z.string().max(MAX_DETAILS),
      })
      .optional()
      .describe("Why a cluster cannot start the version that a Rollout brings."),
  }),
});
export type Process = Resource<typeof Process>;
