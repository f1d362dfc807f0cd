// The LRP kind: a self-contained long-running process for one runner class. The contract between platform and runners.
import { MAX_DETAILS } from "../details.ts";
import { z } from "zod";
import { immutable, listMap, readyStatus, type Resource } from "../../kube/api/resource.ts";
import { dropletArtifact } from "../droplet/droplet.ts";
import { healthCheck, readinessCheck } from "../health-check.ts";
import { mountedClaims } from "../mounted-claim.ts";
import { mountedFiles } from "../mounted-files.ts";
import { adjustmentText, className, cpuQuantity, envVars, identity, memoryMB, ports } from "../schema-fields.ts";
import { CATEGORY, WORKLOADS_GROUP } from "../groups.ts";
import { processSidecars } from "../sidecar.ts";
import { defineKind, READ } from "../kind.ts";
import { indexRanges, MAX_INSTANCES } from "./index-pool.ts";
import { SPACE_READERS } from "../roles.ts";

/** As `cf app` shows them. */
export const INSTANCE_STATES = ["Starting", "Running", "Crashed", "Down"] as const;

export const instance = z.object({
  index: z.int().min(0).max(10000),
  state: z.enum(INSTANCE_STATES).describe("State of the instance, as cf shows it."),
  ready: z.boolean().describe("Whether routes may send requests to it."),
  since: z.string().max(64).optional().describe("When it entered this state (RFC 3339)."),
  host: z.string().max(253).optional().describe("Address at which the router reaches the instance."),
  ports: listMap(z.array(z.object({ port: z.int(), hostPort: z.int() })).max(10), ["port"])
    .optional()
    .describe("Ports of the process and the host ports that lead to them."),
  guid: z.string().max(63).optional().describe("Identifies one start of the instance; a restart changes it."),
  crashCount: z.int().min(0).optional(),
  details: z.string().max(MAX_DETAILS).optional().describe("Why it crashed or cannot start."),
  restart: z
    .string()
    .max(63)
    .optional()
    .describe("The value of spec.restartInstances with which this instance was started."),
});
export type LrpInstance = z.output<typeof instance>;

export const LRP = defineKind({
  group: WORKLOADS_GROUP,
  kind: "LRP",
  plural: "lrps",
  namespaced: true,
  livesIn: ["space"],
  deletedWithSpace: "last",
  permissions: [{ verbs: READ, roles: SPACE_READERS }],
  shortNames: ["cflrp"],
  categories: [CATEGORY],
  description:
    "A long-running process for one runner class: the instances of one version of an app's process. Only instances, indexes and restartInstances can change.",
  columns: [
    { name: "App", jsonPath: ".spec.app.name" },
    { name: "Process", jsonPath: ".spec.processType" },
    { name: "Revision", jsonPath: ".spec.revision" },
    { name: "Class", jsonPath: ".spec.class" },
    { name: "Instances", jsonPath: ".spec.instances", type: "integer" },
    { name: "Running", jsonPath: ".status.runningInstances", type: "integer" },
  ],
  scale: { specReplicasPath: ".spec.instances", statusReplicasPath: ".status.runningInstances" },
  spec: immutable(
    z.object({
      class: className.describe("The BackendClass that runs it."),
      rendering: z
        .string()
        .max(32)
        .describe("Version of the runner's renderer. Stays the same until the app's next restart."),
      app: identity,
      space: identity,
      org: identity,
      processGUID: z.string().max(63),
      processType: z.string().min(1).max(255),
      revision: z.string().max(32).describe("Version number of the app's Revision."),
      version: z.string().max(63).describe("Identifies this version of the process; also in VCAP_APPLICATION."),
      droplet: z.object({ guid: z.string().max(63), ...dropletArtifact }),
      command: z.string().max(65536).optional().describe("The start command. Defaults to the droplet's."),
      env: envVars.default([]),
      serviceFiles: mountedFiles.optional(),
      volumes: mountedClaims.optional(),
      ports,
      instances: z.int().min(0).max(MAX_INSTANCES),
      indexes: indexRanges
        .optional()
        .describe(
          "The pool of indexes of its instances, where several LRPs share those of a process: the first spec.instances of it are wanted. All from 0 when unset.",
        ),
      memoryMB,
      diskMB: memoryMB,
      cpu: cpuQuantity.optional(),
      logRateLimitBytesPerSecond: z.int().min(-1).default(-1),
      healthCheck,
      readinessHealthCheck: readinessCheck,
      user: z.string().max(255).optional(),
      sidecars: processSidecars
        .optional()
        .describe("Programs that run beside each instance; the instance ends when one of them ends."),
      adjustment: adjustmentText.optional(),
      detached: z
        .boolean()
        .optional()
        .describe("The runner leaves what runs to people: it writes the status and nothing else."),
      restartInstances: z.record(z.string().max(5), z.string().max(63)).meta({ maxProperties: 1000 }).optional(),
    }),
    "class",
    "rendering",
    "app",
    "space",
    "org",
    "processGUID",
    "processType",
    "revision",
    "version",
    "droplet",
    "command",
    "env",
    "serviceFiles",
    "volumes",
    "ports",
    "memoryMB",
    "diskMB",
    "cpu",
    "healthCheck",
    "readinessHealthCheck",
    "user",
    "sidecars",
    "adjustment",
  ),
  status: readyStatus({
    runningInstances: z.int().min(0).optional().describe("Number of instances that are Running and ready."),
    instances: listMap(z.array(instance).max(10000), ["index"]).optional(),
  }),
});
export type LRP = Resource<typeof LRP>;
