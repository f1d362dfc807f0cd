// The Space kind: a place for apps. It owns or adopts one namespace.
import { z } from "zod";
import { immutable, listSet, readyStatus, type Resource } from "../../kube/api/resource.ts";
import { displayName, noDotInName, objectName, refTo } from "../schema-fields.ts";
import { CATEGORY, GROUP } from "../groups.ts";
import { defineKind, READ, WRITE } from "../kind.ts";
import { shownViolations } from "../policy-template/shown-violation.ts";
import { GLOBAL_AUDITOR_CLUSTER_ROLE, ORG_MANAGER, ORG_MANAGER_IN_SPACE } from "../roles.ts";

const groupNames = listSet(z.array(objectName).max(100)).default([]);

export const Space = defineKind({
  group: GROUP,
  kind: "Space",
  plural: "spaces",
  namespaced: true,
  livesIn: ["org"],
  permissions: [
    { verbs: [...READ, ...WRITE], roles: [ORG_MANAGER] },
    // In the org's namespace: suspend a space, choose its quota and its segment. In the space's: work in it while it is suspended.
    { subresource: "limits", verbs: ["update"], roles: [ORG_MANAGER, ORG_MANAGER_IN_SPACE] },
    { verbs: READ, roles: [GLOBAL_AUDITOR_CLUSTER_ROLE] },
  ],
  fieldPermissions: [{ subresource: "limits", fields: ["suspended", "quotaRef", "isolationSegment"] }],
  audit: { lifecycle: { noun: "space", deletion: "delete-request" }, outsideWrites: "changes and deletions" },
  deletionJob: "space.delete",
  shortNames: ["cfspace"],
  categories: [CATEGORY],
  description:
    "A place for apps in an org, with its own members. It owns one namespace, which holds its apps, routes and service instances.",
  columns: [
    { name: "CF-Name", jsonPath: ".status.name" },
    { name: "Space-Namespace", jsonPath: ".status.namespace" },
  ],
  rules: [noDotInName("a Space")],
  spec: immutable(
    z.object({
      name: displayName,
      namespace: z
        .string()
        .min(1)
        .max(63)
        .regex(/^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/)
        .optional()
        .describe(
          "An existing namespace to adopt; it must consent with the label cupola.dev/adoptable-by. Defaults to a new namespace.",
        ),
      suspended: z
        .boolean()
        .default(false)
        .describe("While true, only admins and managers of the org may change anything in the space."),
      allowSSH: z.boolean().default(true).describe("Whether cf ssh may open a shell in app instances of this space."),
      quotaRef: refTo("SpaceQuota").optional().describe("The quota of this space, beside that of the org."),
      isolationSegment: objectName
        .optional()
        .describe("Object name of an IsolationSegment that the org may use. Defaults to the org's default."),
      securityGroups: z
        .object({
          running: groupNames.describe("Object names of SecurityGroups for running apps."),
          staging: groupNames.describe("Object names of SecurityGroups for builds."),
        })
        .optional()
        .describe("SecurityGroups of this space, beside those that apply to all."),
    }),
    "namespace",
  ),
  status: readyStatus({
    name: z.string().max(255).optional().describe("The CF name that this object holds."),
    namespace: z.string().max(63).optional().describe("The namespace of this space."),
    policyViolations: shownViolations.describe("Rules of operator policy that the space itself breaks now."),
  }),
});
export type Space = Resource<typeof Space>;
