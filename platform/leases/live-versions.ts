// Versions of the live replicas, as their Leases say them. Pure.
import { isRelease, SKEW_FEATURES, type SkewFeature } from "../../crds/replica/skew.ts";
import type { Member } from "../../kube/lease/member.ts";
import { REPLICA_ANNOTATIONS } from "./replica-membership.ts";

/**
 * Whether every live replica knows the feature. A replica that says no version is older than the first release that says one. While the members cannot be
 * read nothing is known, and what an older one would undo is not used.
 */
export function isKnownToAll(feature: SkewFeature, members: readonly Member[] | undefined): boolean {
  if (!members || members.length === 0) return false;
  return members.every(({ annotations }) =>
    isRelease(annotations[REPLICA_ANNOTATIONS.version] ?? "", SKEW_FEATURES[feature]),
  );
}
