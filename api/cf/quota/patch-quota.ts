// A change of a quota's name and limits; quotas of orgs and of spaces are alike.
import { foldName } from "../../../crds/object-names.ts";
import type { OrgQuota } from "../../../crds/org-quota/org-quota.ts";
import type { SpaceQuota } from "../../../crds/space-quota/space-quota.ts";
import type { ResourceRef } from "../../../kube/api/resource-ref.ts";
import type { Session } from "../../access/session.ts";
import type { CFError } from "../../http/errors.ts";
import { requireFittingPorts } from "./fitting-ports.ts";
import { toLimits } from "./quota-body.ts";

/** Patches as the caller. `taken` is the error when another quota has the new name; `org`: limits of a space quota's org. @throws CFError 422 */
export async function patchQuota<Quota extends OrgQuota | SpaceQuota>(
  session: Session,
  ref: ResourceRef<Quota>,
  quota: Quota,
  {
    body: { name, ...limits },
    taken,
    org,
  }: {
    body: { name?: string | undefined } & Parameters<typeof toLimits>[0];
    taken: () => CFError;
    org?: Partial<OrgQuota["spec"]>;
  },
): Promise<Quota> {
  const spec = { ...(name !== undefined && { name }), ...toLimits(limits) };
  requireFittingPorts({ ...quota.spec, ...spec }, org);
  const isRenamed = name !== undefined && foldName(name) !== foldName(quota.spec.name);
  const renamed = isRenamed ? { to: { ...quota, spec: { ...quota.spec, name } }, taken } : undefined;
  return session.patch(ref, quota, { type: "merge", body: { spec } }, renamed);
}
