// How a role goes out.
import { Org } from "../../crds/org/org.ts";
import { Space } from "../../crds/space/space.ts";
import { placeOf, type HeldRole } from "../cf/roles.ts";
import { link, toOne } from "../http/presentation.ts";
import { createdAt } from "../cache/object-times.ts";
import type { View } from "../cache/cluster-cache.ts";

export function presentRole(view: View, role: HeldRole, base: string): object {
  const { org, space } = placeOf(view, role);
  const orgGUID = org && view.guid(Org, org);
  const spaceGUID = space && view.guid(Space, space);
  return {
    guid: role.guid,
    created_at: createdAt(role.binding),
    updated_at: createdAt(role.binding),
    type: role.type,
    relationships: { user: toOne(role.user), space: toOne(spaceGUID), organization: toOne(orgGUID) },
    links: {
      self: link(`${base}/v3/roles/${role.guid}`),
      user: link(`${base}/v3/users/${encodeURIComponent(role.user)}`),
      ...(spaceGUID && { space: link(`${base}/v3/spaces/${spaceGUID}`) }),
      ...(orgGUID && { organization: link(`${base}/v3/organizations/${orgGUID}`) }),
    },
  };
}
