// Presents a SpaceQuota as CF's JSON.
import { Org } from "../../crds/org/org.ts";
import { SpaceQuota } from "../../crds/space-quota/space-quota.ts";
import { Space } from "../../crds/space/space.ts";
import type { Session } from "../access/session.ts";
import { sortOldestFirst } from "../cf/creation-order.ts";
import { presentLimits } from "../cf/quota/quota-body.ts";
import { link, presentIdentity, toManyRelationship, toOneRelationship } from "../http/presentation.ts";

/** GUIDs of the spaces under a quota that the caller sees. */
export function listSpacesWithQuota(session: Session, quota: SpaceQuota): string[] {
  const spaces = session
    .list(Space, { namespaces: [quota.metadata.namespace ?? ""] })
    .filter((space) => space.spec.quotaRef?.name === quota.metadata.name);
  return sortOldestFirst(spaces).map((space) => session.cache.guid(Space, space));
}

export function presentSpaceQuota(session: Session, quota: SpaceQuota, base: string): object {
  const at = presentIdentity(session.cache, SpaceQuota, quota);
  const org = session.cache.orgOf(quota.metadata.namespace);
  const orgGUID = org ? session.cache.guid(Org, org) : "";
  return {
    ...at,
    name: quota.spec.name,
    ...presentLimits(quota),
    relationships: {
      organization: toOneRelationship(orgGUID),
      spaces: toManyRelationship(listSpacesWithQuota(session, quota)),
    },
    links: {
      self: link(`${base}/v3/space_quotas/${at.guid}`),
      organization: link(`${base}/v3/organizations/${orgGUID}`),
    },
  };
}
