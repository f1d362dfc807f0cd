// Finds the quota of an org.
import { SYSTEM_NAMESPACE } from "../../../crds/groups.ts";
import type { Org } from "../../../crds/org/org.ts";
import { OrgQuota } from "../../../crds/org-quota/org-quota.ts";
import type { ClusterCache } from "../../cache/cluster-cache.ts";

/** GUID of an org's quota: the one it names, else the default quota; undefined when there is neither. */
export function quotaGUIDOf(cache: ClusterCache, org: Org): string | undefined {
  const quotas = cache.store(OrgQuota);
  const { name } = org.spec.quotaRef ?? {};
  const quota = name
    ? quotas.find({ namespace: SYSTEM_NAMESPACE, name })
    : quotas.list({ namespace: SYSTEM_NAMESPACE }).find((one) => one.spec.default);
  return quota && cache.guid(OrgQuota, quota);
}
