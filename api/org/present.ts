// How an Org goes out.
import { displayNameOf } from "../../crds/object-names.ts";
import { Org } from "../../crds/org/org.ts";
import { identityOf, link, metadataMember, toOne } from "../http/presentation.ts";
import { quotaOf } from "../cf/org-quota.ts";
import { remembered } from "../http/page.ts";
import type { View } from "../cache/cluster-cache.ts";

/** JSON text of an organization. */
export function presentOrg(view: View, org: Org, base: string): string {
  const quota = quotaOf(view, org);
  const at = identityOf(view, Org, org);
  return remembered(org, [base, at.guid, quota], () => ({
    ...at,
    name: displayNameOf(org),
    suspended: org.spec.suspended,
    relationships: { quota: toOne(quota) },
    ...metadataMember(org),
    links: {
      self: link(`${base}/v3/organizations/${at.guid}`),
      domains: link(`${base}/v3/organizations/${at.guid}/domains`),
      default_domain: link(`${base}/v3/organizations/${at.guid}/domains/default`),
      ...(quota && { quota: link(`${base}/v3/organization_quotas/${quota}`) }),
    },
  }));
}
