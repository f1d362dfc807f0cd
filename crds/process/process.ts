// What a Process is: one kind of instance of an App (web, worker, …), how many of them and how big.
import { z } from "zod";
import { defineResource, immutable, readyStatus, type Resource } from "../../kube/api/resource.ts";
import { className, cpuQuantity, healthCheck, memoryMB, ports, readinessCheck, refTo } from "../schema-fields.ts";
import { CATEGORY, GROUP } from "../groups.ts";
import { PROCESS_NAME_RULE } from "./defaults.ts";

export const Process = defineResource({
  group: GROUP,
  kind: "Process",
  plural: "processes",
  namespaced: true,
  shortNames: ["cfprocess"],
  categories: [CATEGORY],
  description:
    "One type of process of an app: its command, size, health check and number of instances. Size, command and checks take effect at the next start; instances at once.",
  columns: [
    { name: "App", jsonPath: ".spec.appRef.name" },
    { name: "Type", jsonPath: ".spec.type" },
    { name: "Instances", jsonPath: ".spec.instances", type: "integer" },
    { name: "Running", jsonPath: ".status.runningInstances", type: "integer" },
    { name: "Memory", jsonPath: ".spec.memoryMB", type: "integer", description: "MB per instance" },
  ],
  rules: [PROCESS_NAME_RULE],
  scale: { specReplicasPath: ".spec.instances", statusReplicasPath: ".status.runningInstances" },
  spec: immutable(
    z.object({
      appRef: refTo("App"),
      type: z.string().min(1).max(255).default("web").describe("web is the one that routes reach."),
      instances: z
        .int()
        .min(0)
        .max(10000)
        .optional()
        .describe("How many instances should run. When left out: 1 for web, 0 for others."),
      memoryMB: memoryMB.default(1024).describe("Memory of an instance, in MB."),
      diskMB: memoryMB.default(1024).describe("Disk of an instance, in MB."),
      cpu: cpuQuantity.optional(),
      logRateLimitBytesPerSecond: z.int().min(-1).default(1048576).describe("-1: unlimited."),
      command: z.string().max(4096).optional().describe("The start command; the droplet's own when left out."),
      healthCheck: healthCheck.optional().describe("When left out: port for web, process for others."),
      readinessHealthCheck: readinessCheck
        .optional()
        .describe("Decides which instances routes reach. When left out: process."),
      ports: ports.optional().describe("Ports the process listens on; the droplet's own, else 8080, when left out."),
      user: z.string().max(255).optional().describe("The user it runs as."),
      runner: className.optional().describe("The BackendClass that runs it; the default runner when left out."),
      restartInstances: z
        .record(z.string().max(5), z.string().max(63))
        .meta({ maxProperties: 1000 })
        .optional()
        .describe("Index to any value: a new value restarts that instance."),
    }),
    "appRef",
    "type",
  ),
  status: readyStatus({
    runningInstances: z.int().min(0).optional().describe("How many instances run and are healthy."),
    lrp: z.string().max(253).optional().describe("The LRP that runs this process."),
    revision: z.string().max(253).optional().describe("The Revision that the LRP is made from, or is about to be."),
  }),
});
export type Process = Resource<typeof Process>;
