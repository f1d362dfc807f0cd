// The quotas that hold for an org and for a space.
import { SYSTEM_NAMESPACE } from "../../crds/groups.ts";
import type { Org } from "../../crds/org/org.ts";
import { limitsProcesses } from "../../crds/org-quota/rules.ts";
import { OrgQuota } from "../../crds/org-quota/org-quota.ts";
import { SpaceQuota } from "../../crds/space-quota/space-quota.ts";
import { Space } from "../../crds/space/space.ts";
import { LABELS } from "../../crds/labels.ts";
import { Namespace } from "../../kube/api/builtin.ts";
import type { Reader } from "../../kube/cache/reader.ts";

import { findOrgOfNamespace } from "./tenancy.ts";

/** Kinds that these functions read. */
export const QUOTA_KINDS = [OrgQuota, SpaceQuota];

/** The quota that the org names, else the default quota, also when the named one is gone; undefined when there is neither. */
export function findOrgQuota(read: Reader, org: Org): OrgQuota | undefined {
  const { name } = org.spec.quotaRef ?? {};
  const named = name === undefined ? undefined : read.find(OrgQuota, { namespace: SYSTEM_NAMESPACE, name });
  return named ?? read.list(OrgQuota, { namespace: SYSTEM_NAMESPACE }).find((quota) => quota.spec.default);
}

/** The quota that the space names; undefined without one. */
export function findSpaceQuota(read: Reader, space: Space): SpaceQuota | undefined {
  const { name } = space.spec.quotaRef ?? {};
  return name === undefined ? undefined : read.find(SpaceQuota, { namespace: space.metadata.namespace, name });
}

/** Does the quota of the org or of the space limit the processes in a space's namespace? */
export function hasProcessLimits(read: Reader, namespace: string): boolean {
  return limitsProcesses(...listQuotas(read, namespace));
}

/** The limits of the space that has this namespace, and of its org. */
export function listQuotas(read: Reader, namespace: string): (OrgQuota | SpaceQuota)["spec"][] {
  const space = findSpaceOfNamespace(read, namespace);
  const org = space && findOrgOfNamespace(read, space.metadata.namespace ?? "");
  if (!space || !org) return [];
  return [findSpaceQuota(read, space)?.spec, findOrgQuota(read, org)?.spec].filter((spec) => spec !== undefined);
}

/** The Space that owns this namespace. */
export function findSpaceOfNamespace(read: Reader, namespace: string): Space | undefined {
  const uid = read.find(Namespace, { name: namespace })?.metadata.labels?.[LABELS.ownerUid];
  return uid === undefined ? undefined : read.byUid(Space, uid);
}
