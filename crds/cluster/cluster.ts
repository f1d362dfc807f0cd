// The Cluster kind: a Kubernetes cluster besides the platform's own, on which apps may run.
import { z } from "zod";
import { immutable, listMap, listSet, readyStatus, withRules, type Resource } from "../../kube/api/resource.ts";
import { CATEGORY, GROUP } from "../groups.ts";
import { defineKind } from "../kind.ts";
import { refTo } from "../schema-fields.ts";

/** Orphans that the status lists; more wait until these are gone. */
export const MAX_ORPHANS = 100;

const orphan = z.object({
  kind: z.string().max(63),
  namespace: z.string().max(63),
  name: z.string().max(253),
  uid: z.string().max(63),
  since: z.string().max(64).describe("When it was first seen without its owner (RFC 3339)."),
});
export type Orphan = z.output<typeof orphan>;

/** BackendClasses of a cluster that its status lists. */
export const MAX_CLASSES = 50;

const agentReport = z.object({
  clusterUID: z.string().max(63).describe("The uid of the cluster's namespace kube-system."),
  kubernetes: z.string().max(63).optional().describe("Version of Kubernetes."),
  cupola: z.string().max(63).optional().describe("Version of Cupola."),
  capacity: z
    .object({ memoryMB: z.int().min(0), requestedMemoryMB: z.int().min(0) })
    .optional()
    .describe("Memory that its nodes have for pods, and memory that pods there have asked for."),
  classes: listMap(
    z
      .array(
        z.object({
          role: z.string().max(63),
          name: z.string().max(63),
          capabilities: z.record(z.string().max(63), z.string().max(1024)).meta({ maxProperties: 50 }).optional(),
        }),
      )
      .max(MAX_CLASSES),
    ["role", "name"],
  ).describe("The cluster's BackendClasses."),
  orphans: z
    .object({ count: z.int().min(1), example: z.string().max(400) })
    .optional()
    .describe("Objects of the platform there without a Work. They stay."),
  uncounted: z
    .boolean()
    .optional()
    .describe(
      "The agent cannot count these now: orphans is what it counted before. No unused content is removed meanwhile.",
    ),
});
export type AgentReport = z.output<typeof agentReport>;

const taint = z.object({
  key: z.string().min(1).max(253),
  value: z.string().max(63).optional(),
});

const ipAddress = withRules(z.string().min(2).max(45), [{ rule: "isIP(self)", message: "must be an IP address" }]);

export const Cluster = defineKind({
  group: GROUP,
  kind: "Cluster",
  plural: "clusters",
  namespaced: true,
  livesIn: ["system"],
  isReadByAPI: false,
  shortNames: ["cfcluster"],
  categories: [CATEGORY],
  description:
    "A Kubernetes cluster besides the platform's own, on which apps may run, in the system namespace. IsolationSegment.spec.placement chooses clusters by their labels. The platform's own cluster is `local` and needs no object.",
  columns: [
    { name: "Mode", jsonPath: ".spec.mode" },
    { name: "Reachable", jsonPath: '.status.conditions[?(@.type=="Reachable")].status' },
    { name: "LRPs", jsonPath: ".status.lrps", type: "integer" },
    { name: "Cordoned", jsonPath: ".spec.cordoned", type: "boolean" },
    { name: "Free", jsonPath: ".status.capacity.freePercent", type: "integer" },
    { name: "Kubernetes", jsonPath: ".status.versions.kubernetes" },
    { name: "Cupola", jsonPath: ".status.versions.cupola" },
  ],
  rules: [
    { rule: "self.metadata.name != 'local'", message: "local is the platform's own cluster and needs no object" },
    { rule: "size(self.metadata.name) <= 40", message: "a Cluster's name has at most 40 characters" },
  ],
  spec: immutable(
    z.object({
      mode: z
        .enum(["push", "pull"])
        .default("push")
        .describe("push: the platform calls the cluster's API server. pull: the cluster's agent calls the platform's."),
      server: z
        .string()
        .max(1024)
        .regex(/^https?:\/\//)
        .optional()
        .describe("The URL of its API server. Nothing is called before it is set."),
      credentialsRef: refTo("Secret")
        .optional()
        .describe(
          "Secret in the system namespace with the keys token and ca.crt, for a ServiceAccount of the cluster.",
        ),
      taints: listMap(z.array(taint).max(50), ["key"])
        .default([])
        .describe("Segments without a toleration for each of these place nothing new here."),
      cordoned: z.boolean().default(false).describe("Takes nothing new. Processes that it holds may grow."),
      drain: z
        .boolean()
        .default(false)
        .describe(
          "Takes nothing new, and its instances move to other clusters: each ends here when its successor takes requests.",
        ),
      routerAddresses: listSet(z.array(ipAddress).max(10))
        .default([])
        .describe(
          "IP addresses at which clients reach its routers, for the DNS records of apps there. Those of the platform's own cluster are the parameter addresses of its router's BackendClass.",
        ),
      weight: z.int().min(1).max(1000).default(100).describe("Share of new processes, beside those of others."),
      allowDeletes: z
        .string()
        .max(63)
        .default("")
        .describe(
          "Any text. A new one lets the deletions that are held now pass, once: see the conditions Orphans and DeletesHeld.",
        ),
    }),
    "mode",
  ),
  status: readyStatus({
    hub: z.string().max(63).optional().describe("The id by which the platform marks what it makes there."),
    clusterUID: z
      .string()
      .max(63)
      .optional()
      .describe(
        "The uid of its namespace kube-system, written once. Nothing is written to a cluster with another one.",
      ),
    versions: z.object({ kubernetes: z.string().max(63).optional(), cupola: z.string().max(63).optional() }).optional(),
    capacity: z
      .object({
        memoryMB: z.int().min(0).describe("Memory that its nodes have for pods."),
        requestedMemoryMB: z.int().min(0).describe("Memory that pods there have asked for."),
        freePercent: z.int().min(0).max(100).describe("The share of the memory that no pod has asked for."),
      })
      .optional()
      .describe("As its agent counts it every two minutes. Unset where there are no nodes, as on a laptop."),
    classes: listMap(
      z
        .array(
          z.object({
            role: z.string().max(63),
            name: z.string().max(63),
            indexes: z.string().max(63).optional().describe("Capability of a runner: which pools of indexes it takes."),
          }),
        )
        .max(MAX_CLASSES),
      ["role", "name"],
    )
      .optional()
      .describe("Its BackendClasses."),
    lrps: z.int().min(0).optional().describe("Number of LRPs that this platform keeps there."),
    silentSince: z
      .string()
      .max(64)
      .optional()
      .describe(
        "Since when it gives no answer at all (RFC 3339). A refusal is an answer. An automatic failover counts from then on.",
      ),
    orphans: listMap(z.array(orphan).max(MAX_ORPHANS), ["kind", "namespace", "name"])
      .optional()
      .describe(
        "Objects of this platform there whose owners it does not have. Nobody told to delete them, so they wait.",
      ),
    orphansDeleted: z
      .object({ since: z.string().max(64), count: z.int().min(0) })
      .optional()
      .describe("Number of orphans that were deleted in the ten minutes from then on."),
    agent: agentReport.optional().describe("The report of a pull cluster's agent. Only the agent writes it."),
    allowedDeletes: z.string().max(63).optional().describe("The last value of spec.allowDeletes that was taken."),
  }),
});
export type Cluster = Resource<typeof Cluster>;
