// The quotas that hold for an org and for a space.
import { SYSTEM_NAMESPACE } from "../../../crds/groups.ts";
import type { Org } from "../../../crds/org/org.ts";
import { OrgQuota } from "../../../crds/org-quota/org-quota.ts";
import { SpaceQuota } from "../../../crds/space-quota/space-quota.ts";
import type { Space } from "../../../crds/space/space.ts";
import type { ClusterCache } from "../../cache/cluster-cache.ts";

/** The quota that the org names, else the default quota, also when the named one is gone; undefined when there is neither. */
export function quotaOf(cache: ClusterCache, org: Org): OrgQuota | undefined {
  const quotas = cache.store(OrgQuota);
  const { name } = org.spec.quotaRef ?? {};
  const named = name === undefined ? undefined : quotas.find({ namespace: SYSTEM_NAMESPACE, name });
  return named ?? quotas.list({ namespace: SYSTEM_NAMESPACE }).find((one) => one.spec.default);
}

export function quotaGUIDOf(cache: ClusterCache, org: Org): string | undefined {
  const quota = quotaOf(cache, org);
  return quota && cache.guid(OrgQuota, quota);
}

/** The quota that the space names; undefined without one. */
export function spaceQuotaOf(cache: ClusterCache, space: Space): SpaceQuota | undefined {
  const { name } = space.spec.quotaRef ?? {};
  return name === undefined
    ? undefined
    : cache.store(SpaceQuota).find({ namespace: space.metadata.namespace ?? "", name });
}

export function spaceQuotaGUIDOf(cache: ClusterCache, space: Space): string | undefined {
  const quota = spaceQuotaOf(cache, space);
  return quota && cache.guid(SpaceQuota, quota);
}
