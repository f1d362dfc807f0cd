// The PlacementDecision kind: on which clusters a process runs, and what its instances do there. It exists only where a segment asks for it.
import { z } from "zod";
import { listMap, readyStatus, type Resource } from "../../kube/api/resource.ts";
import { CATEGORY, GROUP } from "../groups.ts";
import { defineKind, READ } from "../kind.ts";
import { readinessCheck } from "../health-check.ts";
import { indexRanges, MAX_INSTANCES } from "../lrp/index-pool.ts";
import { instance } from "../lrp/lrp.ts";
import { SPACE_READERS } from "../roles.ts";

/** As many as a segment may choose. */
const MAX_CLUSTERS = 100;

const clusterName = z.string().min(1).max(63);

const assignment = z.object({
  cluster: clusterName,
  indexes: indexRanges.describe("The indexes of instances that run there, as many of them as the process wants."),
  state: z
    .enum(["Active", "Draining", "Lost"])
    .describe(
      "Draining: each instance ends when its successor on another cluster takes requests. Lost: as Draining, of a cluster that does not answer.",
    ),
  reason: z.string().max(63).describe("Why the cluster was chosen, one CamelCase word."),
});
export type Assignment = z.output<typeof assignment>;

const placedLRP = z.object({
  name: clusterName.describe("The cluster."),
  lrp: z.string().max(253).describe("Name of the LRP there."),
  revision: z.string().max(32),
  version: z.string().max(63).optional().describe("Identifies this version of the process."),
  readinessCheck: readinessCheck.shape.type.optional().describe("Type of its readiness check."),
  class: z.string().max(63),
  processGUID: z.string().max(63),
  memoryMB: z.int().min(0),
  diskMB: z.int().min(0),
  cpu: z.string().max(32).optional(),
  logRateLimitBytesPerSecond: z.int().min(-1),
  wanted: z.int().min(0).max(MAX_INSTANCES).describe("Number of instances that the LRP asks for."),
  indexes: indexRanges.optional(),
  deleting: z.boolean().optional().describe("Set while the LRP ends."),
  unreachableSince: z
    .string()
    .max(64)
    .optional()
    .describe("Set while the cluster does not answer: the states are those of that time."),
  instances: listMap(z.array(instance).max(MAX_INSTANCES), ["index"]).optional(),
});
export type PlacedLRP = z.output<typeof placedLRP>;

const rejection = z.object({
  reason: z.string().max(63),
  clusters: z.int().min(1).describe("Number of clusters."),
  example: clusterName,
});
export type Rejection = z.output<typeof rejection>;

export const PlacementDecision = defineKind({
  group: GROUP,
  kind: "PlacementDecision",
  plural: "placementdecisions",
  namespaced: true,
  livesIn: ["space"],
  deletedWithSpace: "last",
  permissions: [{ verbs: READ, roles: SPACE_READERS }],
  shortNames: ["cfplacement"],
  categories: [CATEGORY],
  description:
    "On which clusters the instances of a process run. It has the name of its Process and exists only while the process runs and its isolation segment has a placement. Controllers write it.",
  columns: [
    { name: "Segment", jsonPath: ".spec.segment" },
    { name: "Clusters", jsonPath: ".spec.assignments[*].cluster" },
    { name: "Running", jsonPath: ".status.runningInstances", type: "integer" },
  ],
  spec: z.object({
    segment: z.string().max(253).describe("Object name of the IsolationSegment."),
    revision: z
      .string()
      .max(253)
      .optional()
      .describe("Object name of the app's Revision at whose start the clusters were chosen."),
    app: z.string().max(63).describe("GUID of the app."),
    processType: z.string().max(255),
    assignments: listMap(z.array(assignment).max(MAX_CLUSTERS), ["cluster"]),
  }),
  status: readyStatus({
    clusters: listMap(z.array(placedLRP).max(2 * MAX_CLUSTERS), ["name", "lrp"])
      .optional()
      .describe("The LRPs of the process, with the states of their instances as the platform last saw them."),
    rejected: listMap(z.array(rejection).max(20), ["reason"])
      .optional()
      .describe("Clusters that were not chosen, by reason."),
    runningInstances: z.int().min(0).optional().describe("Number of instances that are Running and ready."),
  }),
});
export type PlacementDecision = Resource<typeof PlacementDecision>;
