// What CF calls our kinds.
import type { ResourceRef } from "../../kube/api/resource-ref.ts";

const titles: Record<string, string> = {
  Org: "Organization",
  OrgQuota: "Organization quota",
  FeatureFlag: "Feature flag",
};

/** The CF word for a kind, e.g. `Organization`, as it stands in `… not found`. */
export function kindTitle(ref: Pick<ResourceRef, "kind">): string {
  return titles[ref.kind] ?? ref.kind;
}
