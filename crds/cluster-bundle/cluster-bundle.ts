// The ClusterBundle kind: base set-up that the platform keeps on clusters that join.
import { z } from "zod";
import { listMap, readyStatus, type Resource } from "../../kube/api/resource.ts";
import { CATEGORY, GROUP } from "../groups.ts";
import { defineKind } from "../kind.ts";

/** Objects of a bundle. */
export const MAX_BUNDLE_OBJECTS = 50;
/** Objects that it has on a cluster, with those of earlier manifests which the newest have not replaced yet. */
export const MAX_KEPT_OBJECTS = 2 * MAX_BUNDLE_OBJECTS;
const MAX_CLUSTERS = 100;

const values = z
  .record(
    z
      .string()
      .max(63)
      .regex(/^[A-Z][A-Z0-9_]*$/),
    z.string().max(1024),
  )
  .meta({ maxProperties: 50 })
  .default({});

const keptCluster = z.object({
  name: z.string().min(1).max(63),
  content: z.string().max(64).optional().describe("Digest of the manifests that it has, with its values."),
  since: z.string().max(64).optional().describe("When it got them (RFC 3339)."),
  objects: z
    .array(z.string().max(400))
    .max(MAX_KEPT_OBJECTS)
    .describe("Kind, namespace and name of each object there that the bundle keeps."),
  refused: z
    .string()
    .max(64)
    .optional()
    .describe("Digest of the manifests that it refused, with its values. No other cluster gets a change meanwhile."),
  problem: z.string().max(1024).optional().describe("Why it does not have the newest manifests."),
});
export type KeptCluster = z.output<typeof keptCluster>;

export const ClusterBundle = defineKind({
  group: GROUP,
  kind: "ClusterBundle",
  plural: "clusterbundles",
  namespaced: true,
  livesIn: ["system"],
  isReadByAPI: false,
  shortNames: ["cfbundle"],
  categories: [CATEGORY],
  description:
    "Base set-up that the platform keeps on other clusters, in the system namespace: objects of a few kinds in namespaces that the cluster's own operator names (hub.bundles.namespaces of the spoke's chart).",
  columns: [
    { name: "Clusters", jsonPath: ".status.wanted", type: "integer" },
    { name: "Applied", jsonPath: ".status.applied", type: "integer" },
  ],
  spec: z.object({
    clusters: z.object({
      matchLabels: z
        .record(z.string().max(316), z.string().max(63))
        .meta({ maxProperties: 20 })
        .default({})
        .describe(
          "Labels of Clusters. None: all of them. Every cluster has the label cupola.dev/cluster with its name.",
        ),
    }),
    manifestsFrom: z.object({
      configMap: z
        .string()
        .min(1)
        .max(253)
        .describe("ConfigMap in the system namespace. Each of its values is YAML with one manifest or several."),
    }),
    values: values.describe("Texts for ${NAME} in the manifests. $${NAME} stays as ${NAME}."),
    overrides: listMap(z.array(z.object({ cluster: z.string().min(1).max(63), values })).max(MAX_CLUSTERS), ["cluster"])
      .default([])
      .describe("Values of single clusters, which win."),
    soakSeconds: z
      .int()
      .min(0)
      .max(86_400)
      .default(0)
      .describe(
        "A change goes to one cluster after the other, by name, and waits so long after each. A cluster that refuses it stops it; one that does not answer is passed over, and gets it later.",
      ),
    deletion: z
      .enum(["Orphan", "Delete"])
      .default("Orphan")
      .describe(
        "What becomes of the objects when the bundle is deleted, or a cluster has the labels no more: they stay, or go.",
      ),
  }),
  status: readyStatus({
    wanted: z.int().min(0).optional().describe("Number of clusters that are to have it."),
    applied: z.int().min(0).optional().describe("Number of those that have its newest manifests."),
    clusters: listMap(z.array(keptCluster).max(2 * MAX_CLUSTERS), ["name"]).optional(),
  }),
});
export type ClusterBundle = Resource<typeof ClusterBundle>;
