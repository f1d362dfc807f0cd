// Presents an Org as CF's JSON.
import { displayNameOf } from "../../crds/object-names.ts";
import { Org } from "../../crds/org/org.ts";
import { presentIdentity, link, presentMetadata, toOneRelationship } from "../http/presentation.ts";
import { quotaGUIDOf } from "../cf/org/org-quota.ts";
import type { CacheKey } from "../lists/cached-json.ts";
import type { ClusterCache } from "../cache/cluster-cache.ts";

export function presentOrg(cache: ClusterCache, org: Org, base: string): object {
  const quota = quotaGUIDOf(cache, org);
  const at = presentIdentity(cache, Org, org);
  return {
    ...at,
    name: displayNameOf(org),
    suspended: org.spec.suspended,
    relationships: { quota: toOneRelationship(quota) },
    ...presentMetadata(org),
    links: {
      self: link(`${base}/v3/organizations/${at.guid}`),
      domains: link(`${base}/v3/organizations/${at.guid}/domains`),
      default_domain: link(`${base}/v3/organizations/${at.guid}/domains/default`),
      ...(quota && { quota: link(`${base}/v3/organization_quotas/${quota}`) }),
    },
  };
}

/** Everything besides the org that its presentation depends on. */
export function orgTextKey(cache: ClusterCache, org: Org, base: string): CacheKey {
  return [base, cache.guid(Org, org), quotaGUIDOf(cache, org)];
}
