// Presents a Space as CF's JSON.
import { displayNameOf } from "../../crds/object-names.ts";
import { Org } from "../../crds/org/org.ts";
import { Space } from "../../crds/space/space.ts";
import type { CacheKey } from "../lists/cached-json.ts";
import { spaceQuotaGUIDOf } from "../cf/org/org-quota.ts";
import { presentIdentity, link, presentMetadata, toOneRelationship } from "../http/presentation.ts";
import type { ClusterCache } from "../cache/cluster-cache.ts";

export function presentSpace(cache: ClusterCache, space: Space, base: string): object {
  const org = cache.orgOf(space.metadata.namespace);
  const orgGUID = org ? cache.guid(Org, org) : "";
  const quota = spaceQuotaGUIDOf(cache, space);
  const at = presentIdentity(cache, Space, space);
  return {
    ...at,
    name: displayNameOf(space),
    suspended: space.spec.suspended,
    relationships: { organization: toOneRelationship(orgGUID), quota: toOneRelationship(quota) },
    ...presentMetadata(space),
    links: {
      self: link(`${base}/v3/spaces/${at.guid}`),
      organization: link(`${base}/v3/organizations/${orgGUID}`),
      features: link(`${base}/v3/spaces/${at.guid}/features`),
      apply_manifest: link(`${base}/v3/spaces/${at.guid}/actions/apply_manifest`, "POST"),
      ...(quota && { quota: link(`${base}/v3/space_quotas/${quota}`) }),
    },
  };
}

/** Everything besides the space that its presentation depends on. */
export function spaceTextKey(cache: ClusterCache, space: Space, base: string): CacheKey {
  const org = cache.orgOf(space.metadata.namespace);
  return [base, cache.guid(Space, space), org && cache.guid(Org, org), spaceQuotaGUIDOf(cache, space)];
}
