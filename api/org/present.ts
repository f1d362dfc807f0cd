// How an Org goes out.
import { displayNameOf } from "../../crds/names.ts";
import { Org } from "../../crds/org/org.ts";
import { identityOf, link, metadataMember, toOne } from "../lib/present.ts";
import { quotaOf } from "../lib/quota.ts";
import { remembered } from "../lib/page.ts";
import type { View } from "../view.ts";

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
