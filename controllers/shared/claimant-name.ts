// The current name of a claimant, which decides whether its claim is still valid.
import { claimedNameOf, findClaimingKind } from "../../crds/claim/claimed-name.ts";
import type { Claimant, ClaimedName } from "../../crds/claim/rules.ts";
import type { Domain } from "../../crds/domain/domain.ts";
import type { Route } from "../../crds/route/route.ts";
import type { KubeObject, ObjectKey } from "../../kube/api/object.ts";
import type { ResourceRef } from "../../kube/api/resource-ref.ts";
import type { Reader } from "../../kube/cache/reader.ts";
import { findEffectiveDomain } from "./domains.ts";
import { findTenancy } from "./tenancy.ts";

/** Reads the claimant from the cache, or live (`client.find`). */
export type FindObject = <T extends KubeObject>(ref: ResourceRef<T>, key: ObjectKey) => Promise<T | undefined>;

interface ClaimantLookup {
  find: FindObject;
  /** Reads the claimant's namespaces and domains. */
  read: Reader;
}

/** Returns undefined when the claimant does not exist, or its kind claims no names. */
export async function findClaimantName(claimant: Claimant, lookup: ClaimantLookup): Promise<ClaimedName | undefined> {
  const ref = findClaimingKind(claimant.kind);
  const object = ref && (await lookup.find(ref, claimant));
  return object && claimedNameOf(claimant.kind, object, (route) => findDomain(lookup.read, route));
}

function findDomain(read: Reader, route: Route): Domain | undefined {
  const tenancy = findTenancy(read, route.metadata.namespace ?? "");
  return tenancy && findEffectiveDomain(read, route, tenancy);
}
