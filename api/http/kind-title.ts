// CF's names for our kinds.
import type { ResourceRef } from "../../kube/api/resource-ref.ts";

const titles: Record<string, string> = {
  Org: "Organization",
  OrgQuota: "Organization quota",
  FeatureFlag: "Feature flag",
  SpaceQuota: "Space quota",
  SecurityGroup: "Security group",
  IsolationSegment: "Isolation segment",
  EnvironmentGroup: "Environment variable group",
  Rollout: "Deployment",
  ServiceInstance: "Service instance",
  ServiceBinding: "Service credential binding",
  ServiceBroker: "Service broker",
  ServiceOffering: "Service offering",
  ServicePlan: "Service plan",
};

/** CF's name for a kind, e.g. `Organization`, as used in `… not found`. */
export function kindTitle(ref: Pick<ResourceRef, "kind">): string {
  return titles[ref.kind] ?? ref.kind;
}
