// Presents an OrgQuota as CF's JSON.
import { Org } from "../../crds/org/org.ts";
import { OrgQuota } from "../../crds/org-quota/org-quota.ts";
import type { Session } from "../access/session.ts";
import { sortOldestFirst } from "../cf/creation-order.ts";
import { quotaGUIDOf } from "../cf/org/org-quota.ts";
import { presentLimits } from "../cf/quota/quota-body.ts";
import { link, presentIdentity, toManyRelationship } from "../http/presentation.ts";

/** GUIDs of the orgs under a quota that the caller sees. */
export function listOrgsWithQuota(session: Session, quota: OrgQuota): string[] {
  const guid = session.cache.guid(OrgQuota, quota);
  const orgs = session.list(Org).filter((org) => quotaGUIDOf(session.cache, org) === guid);
  return sortOldestFirst(orgs).map((org) => session.cache.guid(Org, org));
}

export function presentQuota(session: Session, quota: OrgQuota, base: string): object {
  const at = presentIdentity(session.cache, OrgQuota, quota);
  return {
    ...at,
    name: quota.spec.name,
    ...presentLimits(quota),
    domains: { total_domains: quota.spec.totalDomains ?? null },
    relationships: { organizations: toManyRelationship(listOrgsWithQuota(session, quota)) },
    links: { self: link(`${base}/v3/organization_quotas/${at.guid}`) },
  };
}
