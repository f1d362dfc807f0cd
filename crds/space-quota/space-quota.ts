// The SpaceQuota kind: limits that an org's manager sets for spaces of the org, beside those of the org. In the org's namespace.
import { z } from "zod";
import { defineResource, readyStatus, type Resource } from "../../kube/api/resource.ts";
import { cfName } from "../cf-name.ts";
import { CATEGORY, GROUP } from "../groups.ts";
import { QUOTA_COLUMNS, quotaLimits } from "../org-quota/limits.ts";

export const SpaceQuota = defineResource({
  group: GROUP,
  kind: "SpaceQuota",
  plural: "spacequotas",
  namespaced: true,
  shortNames: ["cfspacequota"],
  categories: [CATEGORY],
  description:
    "Limits for spaces of one org, in that org's namespace. A Space names its quota in spec.quotaRef. A missing limit means unlimited.",
  columns: QUOTA_COLUMNS,
  spec: z.object({ name: cfName.describe("The name that cf shows."), ...quotaLimits }),
  status: readyStatus({}),
});
export type SpaceQuota = Resource<typeof SpaceQuota>;
