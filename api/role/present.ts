// Presents a role as CF's JSON.
import { Org } from "../../crds/org/org.ts";
import { Space } from "../../crds/space/space.ts";
import type { RoleAssignment } from "../../crds/role-assignments.ts";
import { scopeOf } from "../cf/role/roles.ts";
import { link, toOneRelationship } from "../http/presentation.ts";
import { createdAt } from "../cache/object-times.ts";
import type { ClusterCache } from "../cache/cluster-cache.ts";

export function presentRole(cache: ClusterCache, role: RoleAssignment, base: string): object {
  const { org, space } = scopeOf(cache, role);
  const orgGUID = org && cache.guid(Org, org);
  const spaceGUID = space && cache.guid(Space, space);
  return {
    guid: role.guid,
    created_at: createdAt(role.binding),
    updated_at: createdAt(role.binding),
    type: role.type,
    relationships: {
      user: toOneRelationship(role.user),
      space: toOneRelationship(spaceGUID),
      organization: toOneRelationship(orgGUID),
    },
    links: {
      self: link(`${base}/v3/roles/${role.guid}`),
      user: link(`${base}/v3/users/${encodeURIComponent(role.user)}`),
      ...(spaceGUID && { space: link(`${base}/v3/spaces/${spaceGUID}`) }),
      ...(orgGUID && { organization: link(`${base}/v3/organizations/${orgGUID}`) }),
    },
  };
}
