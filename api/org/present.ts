// How an Org goes out.
import { displayNameOf } from "../../crds/object-names.ts";
import { Org } from "../../crds/org/org.ts";
import { presentIdentity, link, presentMetadata, toOneRelationship } from "../http/presentation.ts";
import { quotaGUIDOf } from "../cf/org-quota.ts";
import { cachedJson } from "../http/page.ts";
import type { ClusterCache } from "../cache/cluster-cache.ts";

/** JSON text of an organization. */
export function presentOrg(cache: ClusterCache, org: Org, base: string): string {
  const quota = quotaGUIDOf(cache, org);
  const at = presentIdentity(cache, Org, org);
  return cachedJson(org, [base, at.guid, quota], () => ({
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
  }));
}
