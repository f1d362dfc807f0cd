// How a Space goes out.
import { displayNameOf } from "../../crds/object-names.ts";
import { Org } from "../../crds/org/org.ts";
import { Space } from "../../crds/space/space.ts";
import { remembered } from "../http/page.ts";
import { identityOf, link, metadataMember, toOne } from "../http/presentation.ts";
import type { View } from "../cache/cluster-cache.ts";

/** JSON text of a space. */
export function presentSpace(view: View, space: Space, base: string): string {
  const org = view.orgOf(space.metadata.namespace);
  const orgGUID = org ? view.guid(Org, org) : "";
  const at = identityOf(view, Space, space);
  return remembered(space, [base, at.guid, orgGUID], () => ({
    ...at,
    name: displayNameOf(space),
    suspended: space.spec.suspended,
    relationships: { organization: toOne(orgGUID), quota: toOne(undefined) },
    ...metadataMember(space),
    links: {
      self: link(`${base}/v3/spaces/${at.guid}`),
      organization: link(`${base}/v3/organizations/${orgGUID}`),
      features: link(`${base}/v3/spaces/${at.guid}/features`),
      apply_manifest: link(`${base}/v3/spaces/${at.guid}/actions/apply_manifest`, "POST"),
    },
  }));
}
