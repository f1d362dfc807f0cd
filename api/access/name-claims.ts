// The platform acquires a claim before a named object is created or renamed, and releases it when that fails. Rules: crds/claim/rules.ts.
import { Claim } from "../../crds/claim/claim.ts";
import { type ClaimedName, isClaimant, newClaim, type ClaimState, toClaimState } from "../../crds/claim/rules.ts";
import { claimedNameOf, findClaimingKind } from "../../crds/claim/claimed-name.ts";
import { isReleasable, planClaim, toTakenOver } from "../../crds/claim/plan-claim.ts";
import type { Domain } from "../../crds/domain/domain.ts";
import { Route } from "../../crds/route/route.ts";
import type { Draft, KubeClient } from "../../kube/client/client.ts";
import { isAlreadyExists, isConflict, isNotFound } from "../../kube/client/errors.ts";
import type { KubeObject, ObjectKey } from "../../kube/api/object.ts";
import type { ResourceRef } from "../../kube/api/resource-ref.ts";
import { domainOf } from "../cache/domains.ts";
import type { ClusterCache } from "../cache/cluster-cache.ts";

/** An object or a draft of one; only metadata and spec are read. */
type NamedObject = KubeObject | Draft;

/** The name that an object claims; undefined for kinds without claims and for a route whose domain is not in the cache. */
export function claimedName(cache: ClusterCache, ref: ResourceRef, object: NamedObject): ClaimedName | undefined {
  return claimedNameOf(ref.kind, object as KubeObject, (route) => domainOf(cache, route));
}

/** Whether an object holds its name: always true for kinds without claims. CF hides objects that do not. */
export function isNameHolder(cache: ClusterCache, ref: ResourceRef, object: KubeObject): boolean {
  if (!findClaimingKind(ref.kind)) return true;
  return nameClaimStatus(cache, ref, object) === "held";
}

/** The claim state of an object's name; `unclaimed` also while the name is unknown (a route whose domain is not in the cache). */
export function nameClaimStatus(cache: ClusterCache, ref: ResourceRef, object: KubeObject): ClaimState {
  const key = cachedClaimKey(cache, ref, object);
  return toClaimState(key && cache.store(Claim).find(key), ref.kind, object);
}

/** Claim keys by object: a list needs one for each item, and each costs a digest. A route's key also depends on its domain. */
const claimKeys = new WeakMap<object, { domain: Domain | undefined; key: ObjectKey | undefined }>();

function cachedClaimKey(cache: ClusterCache, ref: ResourceRef, object: KubeObject): ObjectKey | undefined {
  const domain = ref.kind === Route.kind ? domainOf(cache, object as Route) : undefined;
  const known = claimKeys.get(object);
  if (known && known.domain === domain) return known.key;
  const name = claimedName(cache, ref, object);
  const key = name && claimKey(name);
  claimKeys.set(object, { domain, key });
  return key;
}

function claimKey(name: ClaimedName): { namespace: string; name: string } {
  const { namespace = "", name: object } = newClaim(name, { kind: "", name: "" }, new Date(0)).metadata;
  return { namespace, name: object };
}

/** A claim held for a write that is under way. */
export interface HeldClaim {
  /** Version of the claim that replicas must observe before the object is visible; undefined when the claim existed already. */
  resourceVersion: string | undefined;
  /**
   * Releases a claim that this write acquired, unless the object has the name: the write may have succeeded although its answer was
   * lost, or kubectl may have created the object meanwhile. Never throws: a claim that is left behind becomes stale.
   */
  release(): Promise<void>;
}

/**
 * Acquires the claim on the name of `object`. `taken` creates the error for a name that is taken.
 * @throws the error from `taken`, KubeError
 */
export async function acquireClaim(
  context: { client: KubeClient; cache: ClusterCache; signal: AbortSignal; now: () => Date },
  ref: ResourceRef,
  object: NamedObject,
  taken: (cause?: unknown) => Error,
): Promise<HeldClaim | undefined> {
  const name = claimedName(context.cache, ref, object);
  if (!name) return undefined;
  const { namespace, name: objectName = "" } = object.metadata;
  const wanted = newClaim(name, { kind: ref.kind, name: objectName, ...(namespace && { namespace }) }, context.now());
  const options = { signal: context.signal };
  try {
    return toHeldClaim(context, await context.client.create(Claim, wanted, options));
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
  }
  const current = await context.client.find(Claim, claimKey(name), options);
  let step = planClaim(wanted, current, undefined, context.now());
  if (step === "readClaimant" && current)
    step = planClaim(wanted, current, { name: await findClaimantName(context, current) }, context.now());
  if (step === "hold") return { resourceVersion: undefined, release: async () => {} };
  if (step === "refuse") throw taken();
  return takeOverClaim(context, wanted, current, taken);
}

interface ClaimContext {
  client: KubeClient;
  cache: ClusterCache;
}

/** The claimant's current name, by a live read. */
async function findClaimantName(context: ClaimContext, claim: Claim): Promise<ClaimedName | undefined> {
  const { kind, ...key } = claim.spec.claimant;
  const ref = findClaimingKind(kind);
  const object = ref && (await context.client.find(ref, key));
  return object && ref && claimedName(context.cache, ref, object);
}

/** Takes over a stale claim (`current`) or creates the claim; throws the error from `taken` when another writer was first. */
async function takeOverClaim(
  context: ClaimContext,
  wanted: Claim,
  current: Claim | undefined,
  taken: (cause?: unknown) => Error,
): Promise<HeldClaim> {
  const { client } = context;
  try {
    const claim = current
      ? await client.update<Claim>(Claim, toTakenOver(wanted, current))
      : await client.create<Claim>(Claim, wanted);
    return toHeldClaim(context, claim);
  } catch (error) {
    if (isAlreadyExists(error) || isConflict(error) || isNotFound(error)) throw taken(error);
    throw error;
  }
}

function toHeldClaim(context: ClaimContext, claim: Claim): HeldClaim {
  const release = async (): Promise<void> => {
    if (isReleasable(claim, { name: await findClaimantName(context, claim) }))
      await releaseClaim(context.client, claim);
  };
  return { resourceVersion: claim.metadata.resourceVersion, release: () => release().catch(() => undefined) };
}

/** Deletes a claim. False when it may still exist, which is harmless: a claim without an object becomes stale. Never throws. */
export async function releaseClaim(client: KubeClient, claim: Claim): Promise<boolean> {
  const { name, namespace = "", uid = "", resourceVersion } = claim.metadata;
  try {
    // Exactly this version, so that a claim taken over meanwhile stays.
    await client.delete(
      Claim,
      { name, namespace },
      { preconditions: { uid, ...(resourceVersion && { resourceVersion }) } },
    );
    return true;
  } catch (error) {
    return isNotFound(error);
  }
}

/**
 * Gives the claim by which `from` holds its name to an object that is about to replace it in another namespace. Returns its new version.
 * @throws the error from `taken` when `from` does not hold it, or another writer was first
 */
export async function handOverClaim(
  context: ClaimContext & { now: () => Date },
  ref: ResourceRef,
  { from, to, name }: { from: NamedObject; to: NamedObject; name: ClaimedName | undefined },
  taken: (cause?: unknown) => Error,
): Promise<HeldClaim> {
  const current = name && (await context.client.find(Claim, claimKey(name)));
  if (!current || !isClaimant(current, ref.kind, from as KubeObject)) throw taken();
  const { namespace, name: objectName = "" } = to.metadata;
  const claimant = { kind: ref.kind, name: objectName, ...(namespace && { namespace }) };
  return takeOverClaim(context, newClaim(name, claimant, context.now()), current, taken);
}

/** The claim by which an object holds its name; undefined when it does not hold it. */
export function findClaimOf(
  cache: ClusterCache,
  name: ClaimedName | undefined,
  ref: ResourceRef,
  object: KubeObject,
): Claim | undefined {
  const claim = name && cache.store(Claim).find(claimKey(name));
  return claim && isClaimant(claim, ref.kind, object) ? claim : undefined;
}
