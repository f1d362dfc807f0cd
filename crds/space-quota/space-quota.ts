// The SpaceQuota kind: limits that an org's manager sets for spaces of the org, beside those of the org. In the org's namespace.
import { z } from "zod";
import { readyStatus, type Resource } from "../../kube/api/resource.ts";
import { cfName } from "../cf-name.ts";
import { CATEGORY, GROUP } from "../groups.ts";
import { QUOTA_COLUMNS, quotaLimits } from "../org-quota/limits.ts";
import { defineKind, READ, WRITE } from "../kind.ts";
import { GLOBAL_AUDITOR_CLUSTER_ROLE, ORG_MANAGER } from "../roles.ts";

export const SpaceQuota = defineKind({
  group: GROUP,
  kind: "SpaceQuota",
  plural: "spacequotas",
  namespaced: true,
  permissions: [
    { verbs: [...READ, ...WRITE], roles: [ORG_MANAGER] },
    // Members of orgs and spaces get single ones by name: controllers/space, controllers/security-group.
    { verbs: READ, roles: [GLOBAL_AUDITOR_CLUSTER_ROLE] },
  ],
  audit: { lifecycle: { noun: "space_quota", deletion: "delete" }, outsideWrites: "changes and deletions" },
  deletionJob: "space_quota.delete",
  shortNames: ["cfspacequota"],
  categories: [CATEGORY],
  description:
    "Limits for spaces of one org, in that org's namespace. A Space names its quota in spec.quotaRef. A missing limit means unlimited.",
  columns: QUOTA_COLUMNS,
  spec: z.object({ name: cfName.describe("The name that cf shows."), ...quotaLimits }),
  status: readyStatus({}),
});
export type SpaceQuota = Resource<typeof SpaceQuota>;
