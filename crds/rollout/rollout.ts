// The Rollout kind: replaces an app's running web instances without a gap. CF calls it a deployment.
import { MAX_DETAILS } from "../details.ts";
import { z } from "zod";
import { immutable, listAtomic, listMap, readyStatus, type Resource } from "../../kube/api/resource.ts";
import { memoryMB, refTo } from "../schema-fields.ts";
import { CATEGORY, GROUP } from "../groups.ts";
import { defineKind, READ, WRITE } from "../kind.ts";
import { SPACE_READERS, SPACE_DEVELOPER, SPACE_SUPPORTER } from "../roles.ts";

const canaryStep = z.object({
  instanceWeight: z.int().min(1).max(100).describe("Share of the instances that run the new version, in percent."),
});

const clusterNames = listAtomic(z.array(z.string().min(1).max(63)).max(100));

const webVersion = z.object({
  lrp: z.string().max(253).describe("The LRP of this version."),
  guid: z.string().max(63).describe("GUID of the process that cf shows for it."),
  revision: z.string().max(32).describe("Version number of its Revision."),
  instances: z.int().min(0).describe("Number of instances that it should have now."),
  running: z.int().min(0).describe("Number of instances that take requests."),
});

export const Rollout = defineKind({
  group: GROUP,
  kind: "Rollout",
  plural: "rollouts",
  namespaced: true,
  livesIn: ["space"],
  deletedWithSpace: "first",
  permissions: [
    { verbs: READ, roles: SPACE_READERS },
    { verbs: WRITE, roles: [SPACE_DEVELOPER] },
    { verbs: ["create", "update", "patch"], roles: [SPACE_SUPPORTER] },
    { subresource: "settings", verbs: ["update"], roles: [SPACE_DEVELOPER] },
  ],
  fieldPermissions: [
    // Metadata of an existing one; a supporter may give a new one its labels, as in CF.
    { subresource: "settings", fields: [], metadata: true },
  ],
  audit: { outsideWrites: "changes" },
  shortNames: ["cfrollout"],
  categories: [CATEGORY],
  description:
    "Replaces the running web instances of an app one after another, with no gap in service. An old instance ends only when a new one takes requests. The newest Rollout of an app counts; older ones are superseded.",
  columns: [
    { name: "App", jsonPath: ".spec.appRef.name" },
    { name: "Strategy", jsonPath: ".spec.strategy" },
    { name: "State", jsonPath: ".status.state" },
    { name: "Revision", jsonPath: ".status.revision" },
  ],
  spec: immutable(
    z.object({
      appRef: refTo("App"),
      strategy: z
        .enum(["rolling", "canary"])
        .default("rolling")
        .describe("rolling: replaces all instances. canary: pauses after each step until someone continues."),
      droplet: refTo("Droplet")
        .optional()
        .describe("The droplet to run; it becomes the app's droplet. Defaults to the app's."),
      revision: refTo("Revision")
        .optional()
        .describe("The Revision to return to: its droplet, environment and commands are deployed again."),
      previousDroplet: refTo("Droplet")
        .optional()
        .describe("The app's droplet after a cancellation. Defaults to that of the running Revision."),
      maxInFlight: z
        .int()
        .min(1)
        .max(10000)
        .default(1)
        .describe("Number of new instances that may start at the same time."),
      canarySteps: listAtomic(z.array(canaryStep).max(100))
        .optional()
        .describe("Steps of a canary. Defaults to one step with one instance."),
      instances: z.int().min(0).max(10000).optional().describe("Number of web instances afterwards."),
      memoryMB: memoryMB.optional().describe("Memory of new web instances, in MB."),
      diskMB: memoryMB.optional().describe("Disk of new web instances, in MB."),
      logRateLimitBytesPerSecond: z.int().min(-1).optional().describe("Log rate limit of new web instances."),
      startsApp: z
        .boolean()
        .optional()
        .describe("The app was stopped and starts with this Rollout, so there is nothing to replace."),
      paused: z.boolean().optional().describe("true: no instance is started or ended. false: goes on."),
      continuedSteps: z
        .int()
        .min(0)
        .max(100)
        .optional()
        .describe("Number of canary steps that are passed. Set it to the current step to continue."),
      continuedStages: z
        .int()
        .min(0)
        .max(10_000)
        .optional()
        .describe("Number of pauses between stages that are over. Set it to status.stagePauses to continue."),
      cancelled: z.boolean().optional().describe("true: returns to the version that ran before."),
    }),
    "appRef",
    "strategy",
    "droplet",
    "revision",
    "previousDroplet",
    "maxInFlight",
    "canarySteps",
    "instances",
    "memoryMB",
    "diskMB",
    "logRateLimitBytesPerSecond",
    "startsApp",
  ),
  status: readyStatus({
    state: z
      .enum(["Deploying", "Prepaused", "Paused", "Finishing", "Canceling", "Deployed", "Canceled"])
      .optional()
      .describe("Deployed and Canceled are final. Prepaused: on the way to the next step of a canary."),
    superseded: z.boolean().optional().describe("Whether a newer Rollout ended this one."),
    stateTime: z.string().max(64).optional().describe("When state last changed (RFC 3339)."),
    revision: z.string().max(253).optional().describe("The Revision that this Rollout made."),
    finalRevision: z.string().max(253).optional().describe("The Revision that the app runs since this Rollout ended."),
    pausedStep: z.int().min(0).optional().describe("The last canary step that was reached."),
    lastHealthyTime: z.string().max(64).optional().describe("When a new instance last became ready (RFC 3339)."),
    stages: listAtomic(z.array(clusterNames).max(101))
      .optional()
      .describe("The clusters of each stage, chosen at the start. Only for an app that is placed on clusters."),
    stageRules: z
      .object({
        soakSeconds: z.int().min(0),
        deadlineSeconds: z.int().min(0),
        maxFailures: z.int().min(0),
        approval: z.enum(["none", "stage"]),
      })
      .optional()
      .describe("The rules of its isolation segment at the start, where it has stages."),
    stage: z.int().min(1).optional().describe("The stage that is under way, from 1."),
    stageTime: z.string().max(64).optional().describe("When it began, or went on after a pause (RFC 3339)."),
    stageReadyTime: z
      .string()
      .max(64)
      .optional()
      .describe("Since when all instances of the stage take requests (RFC 3339)."),
    stageLostTime: z
      .string()
      .max(64)
      .optional()
      .describe("Since when instances of this stage or an earlier one do not, which did before (RFC 3339)."),
    stagePauses: z.int().min(0).optional().describe("How often it has paused after a stage, or halted in one."),
    stageProblem: z.string().max(MAX_DETAILS).optional().describe("Why the stage has failed: it halts there."),
    error: z.string().max(MAX_DETAILS).optional().describe("Why the instances of the newest version do not run."),
    web: listMap(z.array(webVersion).max(100), ["lrp"])
      .optional()
      .describe("The versions of the web process that run side by side, oldest first."),
  }),
});
export type Rollout = Resource<typeof Rollout>;
