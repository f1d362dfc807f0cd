// The Org kind: a tenant. Its namespace holds its Spaces and private Domains.
import { z } from "zod";
import { listSet, readyStatus, type Resource } from "../../kube/api/resource.ts";
import { displayName, noDotInName, objectName, refTo } from "../schema-fields.ts";
import { CATEGORY, GROUP } from "../groups.ts";
import { defineKind, READ } from "../kind.ts";
import { ORG_CREATOR, GLOBAL_AUDITOR_CLUSTER_ROLE } from "../roles.ts";

export const Org = defineKind({
  group: GROUP,
  kind: "Org",
  plural: "orgs",
  namespaced: false,
  permissions: [
    { verbs: ["create"], roles: [ORG_CREATOR] },
    { verbs: READ, roles: [GLOBAL_AUDITOR_CLUSTER_ROLE] },
  ],
  fieldPermissions: [
    // An org manager may rename the org, but neither lift its suspension nor choose its quota or the segments that it may use.
    { subresource: "limits", fields: ["suspended", "quotaRef", "isolationSegments"] },
  ],
  audit: { lifecycle: { noun: "organization", deletion: "delete-request" }, outsideWrites: "changes and deletions" },
  deletionJob: "organization.delete",
  shortNames: ["cforg"],
  categories: [CATEGORY],
  description: "A tenant of the platform: a set of spaces with common domains, members and a quota.",
  columns: [
    { name: "CF-Name", jsonPath: ".status.name" },
    { name: "Namespace", jsonPath: ".status.namespace" },
    { name: "Suspended", jsonPath: ".spec.suspended", type: "boolean", wide: true },
  ],
  rules: [noDotInName("an Org")],
  spec: z.object({
    name: displayName,
    suspended: z.boolean().default(false).describe("While true, only admins may change anything in the org."),
    quotaRef: refTo("OrgQuota").optional().describe("The quota of this org. Defaults to the default quota."),
    isolationSegments: listSet(z.array(objectName).max(1000))
      .default([])
      .describe("Object names of the IsolationSegments that this org may use."),
    defaultIsolationSegment: objectName
      .optional()
      .describe("Object name of the IsolationSegment of spaces that name none. It must be one of isolationSegments."),
  }),
  status: readyStatus({
    name: z.string().max(255).optional().describe("The CF name that this object holds."),
    namespace: z.string().max(63).optional().describe("The namespace that holds the org's spaces and private domains."),
  }),
});
export type Org = Resource<typeof Org>;
