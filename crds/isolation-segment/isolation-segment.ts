// The IsolationSegment kind: a name for a place where apps run. Orgs are entitled to segments; spaces are assigned one.
import { z } from "zod";
import { listAtomic, listMap, readyStatus, withRules, type Resource } from "../../kube/api/resource.ts";
import { displayName } from "../schema-fields.ts";
import { CATEGORY, GROUP } from "../groups.ts";
import { defineKind, READ } from "../kind.ts";
import { GLOBAL_AUDITOR_CLUSTER_ROLE, SYSTEM_READER } from "../roles.ts";

const toleration = z.object({ key: z.string().min(1).max(253) });

const placement = z.object({
  clusters: z.object({
    matchLabels: z
      .record(z.string().max(316), z.string().max(63))
      .meta({ maxProperties: 20 })
      .default({})
      .describe(
        "Labels of Clusters. None: all, the platform's own included. Every cluster has the label cupola.dev/cluster with its name; the platform's own is named local and has no other.",
      ),
  }),
  count: z.int().min(1).max(100).optional().describe("Number of clusters of each process. All that match when unset."),
  spreadBy: z
    .string()
    .max(316)
    .optional()
    .describe("A label of Clusters: a process gets one cluster for each value, while values last."),
  tolerations: listMap(z.array(toleration).max(50), ["key"])
    .default([])
    .describe("Taints that its apps tolerate, by key."),
});
export type Placement = z.output<typeof placement>;

const failover = z.object({
  mode: z
    .enum(["never", "manual", "auto"])
    .default("manual")
    .describe(
      "never: instances stay with a cluster that does not answer. manual: an operator moves them by a drain of the Cluster. auto: they start on other clusters after a time, unless many clusters of the segment are silent at once. None moves back by itself.",
    ),
  afterSeconds: z
    .int()
    .min(10)
    .max(86_400)
    .default(300)
    .describe("For auto: how long a cluster does not answer before its instances start on others."),
});
export type Failover = z.output<typeof failover>;
export const DEFAULT_FAILOVER: Failover = failover.parse({});

const stage = withRules(
  z.object({
    clusters: z.int().min(1).max(100).optional().describe("Number of clusters that have the new version afterwards."),
    percent: z.int().min(1).max(100).optional().describe("The same in percent of the clusters, rounded up."),
  }),
  [{ rule: "has(self.clusters) != has(self.percent)", message: "a stage has clusters or percent" }],
);

const stagedRollout = z.object({
  stages: listAtomic(z.array(stage).min(1).max(100)).describe(
    "How many clusters of an app have the new version after each stage, in the order of their names. Clusters that are left make a last stage.",
  ),
  soakSeconds: z
    .int()
    .min(0)
    .max(86_400)
    .default(0)
    .describe("How long all instances of a stage take requests without a break before the next one begins."),
  deadlineSeconds: z
    .int()
    .min(10)
    .max(86_400)
    .default(600)
    .describe(
      "After this time a stage whose instances are not ready has failed, and a cluster that does not answer is skipped.",
    ),
  maxFailures: z
    .int()
    .min(0)
    .max(10_000)
    .default(0)
    .describe("Number of instances of a stage that may crash without stopping the rollout."),
  approval: z
    .enum(["none", "stage"])
    .default("none")
    .describe("stage: pauses after each stage until someone continues."),
});
export type StagedRollout = z.output<typeof stagedRollout>;

export const IsolationSegment = defineKind({
  group: GROUP,
  kind: "IsolationSegment",
  plural: "isolationsegments",
  namespaced: true,
  permissions: [{ verbs: READ, roles: [SYSTEM_READER, GLOBAL_AUDITOR_CLUSTER_ROLE] }],
  shortNames: ["cfisoseg"],
  categories: [CATEGORY],
  description:
    "A name for a place where apps run, in the system namespace. Org.spec.isolationSegments entitles an org; Org.spec.defaultIsolationSegment and Space.spec.isolationSegment choose one. spec.placement says on which clusters its apps run.",
  columns: [{ name: "CF-Name", jsonPath: ".spec.name" }],
  spec: z.object({
    name: displayName,
    placement: placement
      .optional()
      .describe("The clusters on which apps of this segment run. Without it they run on the platform's own cluster."),
    failover: failover
      .optional()
      .describe("What becomes of instances on a cluster that does not answer: manual when unset."),
    rollout: stagedRollout
      .optional()
      .describe("Stages in which a Rollout replaces the instances of an app. Without it all clusters are one stage."),
  }),
  status: readyStatus({}),
});
export type IsolationSegment = Resource<typeof IsolationSegment>;
