// The OrgQuota kind: limits that an admin sets for orgs. A missing limit means unlimited.
import { z } from "zod";
import { readyStatus, type Resource } from "../../kube/api/resource.ts";
import { cfName } from "../cf-name.ts";
import { CATEGORY, GROUP } from "../groups.ts";
import { limit, QUOTA_COLUMNS, quotaLimits } from "./limits.ts";
import { defineKind, READ } from "../kind.ts";
import { GLOBAL_AUDITOR_CLUSTER_ROLE, SYSTEM_READER } from "../roles.ts";

export const OrgQuota = defineKind({
  group: GROUP,
  kind: "OrgQuota",
  plural: "orgquotas",
  namespaced: true,
  permissions: [{ verbs: READ, roles: [SYSTEM_READER, GLOBAL_AUDITOR_CLUSTER_ROLE] }],
  audit: { lifecycle: { noun: "organization_quota", deletion: "delete" }, outsideWrites: "changes and deletions" },
  deletionJob: "organization_quota.delete",
  shortNames: ["cforgquota"],
  categories: [CATEGORY],
  description: "Limits for orgs. A missing limit means unlimited.",
  columns: QUOTA_COLUMNS,
  spec: z.object({
    name: cfName.describe("The name that cf shows."),
    default: z.boolean().default(false).describe("Whether orgs without a quotaRef use this quota."),
    ...quotaLimits,
    totalDomains: limit.describe("Number of private domains."),
  }),
  status: readyStatus({}),
});
export type OrgQuota = Resource<typeof OrgQuota>;
