// Who an object is: its GUID, and the claim on its name. Every kind's controller begins here.
import { Claim } from "../../crds/claim/claim.ts";
import {
  CLAIM_GRACE_MS,
  claimObjectName,
  isClaimant,
  newClaim,
  type ClaimedName,
  type Claimant,
} from "../../crds/claim/rules.ts";
import { planClaim, toTakenOver } from "../../crds/claim/plan-claim.ts";
import { SYSTEM_NAMESPACE } from "../../crds/groups.ts";
import { guidOf, pickGUIDHolder } from "../../crds/guid.ts";
import { LABELS } from "../../crds/labels.ts";
import { isAlreadyExists, isConflict } from "../../kube/client/errors.ts";
import { NotReady, type ReconcileContext } from "../../kube/controller/controller.ts";
import { keyOf, type KubeObject } from "../../kube/api/object.ts";
import { ifSynced } from "../../kube/cache/errors.ts";
import type { ResourceRef } from "../../kube/api/resource-ref.ts";
import { findClaimantName } from "./claimant-name.ts";

/** Name of the index that every kind here keeps: objects by the GUID they present. */
export const GUID_INDEX = "identity/guid";
/** Name of the index by what is claimed, so that a released claim wakes those who wait for it. */
export const CLAIMED_NAME_INDEX = "identity/claim";

/** The index function behind `GUID_INDEX`. */
export function indexByGUID(object: KubeObject): readonly string[] {
  return [guidOf(object)];
}

/** The GUID an object keeps: its own, unless an older one has it too; then its uid. */
export function planGUID(object: KubeObject, sameGUID: readonly KubeObject[]): string {
  const older = sameGUID.some(
    (peer) => peer.metadata.uid !== object.metadata.uid && pickGUIDHolder(object, peer) === peer,
  );
  return older ? (object.metadata.uid ?? "") : guidOf(object);
}

/** The GUID of an object, settled among its kind and `others` that present the same, and the label that says so. The kinds need `GUID_INDEX`. */
export function resolveGUID<T extends KubeObject>(
  ref: ResourceRef<T>,
  object: T,
  { read }: Pick<ReconcileContext, "read">,
  sharedKinds: readonly ResourceRef[] = [],
): { guid: string; labels: Record<string, string> } {
  const own = guidOf(object);
  // Of other kinds mostly nobody has it: that some namespace is still to be listed must not keep this one waiting.
  const sharingObjects = sharedKinds.flatMap((kind) => ifSynced(() => read.byIndex(kind, GUID_INDEX, own)) ?? []);
  const guid = planGUID(object, [...read.byIndex(ref, GUID_INDEX, own), ...sharingObjects]);
  return { guid, labels: { [LABELS.guid]: guid } };
}

/**
 * Holds the claim on a name for an object, or throws NotReady("NameTaken"). A claim that the API made for the object is taken
 * as it is; one of a claimant that is gone or renamed is taken over after a live read, by resourceVersion.
 */
export async function ensureClaim(
  kind: string,
  object: KubeObject,
  name: ClaimedName,
  context: ReconcileContext,
): Promise<void> {
  const key = { namespace: SYSTEM_NAMESPACE, name: claimObjectName(name) };
  const cached = context.read.find(Claim, key);
  if (cached && isClaimant(cached, kind, object)) return;
  const desired = newClaim(name, toClaimant(kind, object), context.now());
  // What carries a GUID was made by the API, which claimed the name before: the cache of claims is only behind.
  if (!cached && !hasGUIDLabel(object) && (await createClaim(desired, context))) return;
  const live = await context.client.find(Claim, key);
  if (planClaim(desired, live, undefined, context.now()) === "hold") return;
  if (live) await takeOverClaim(live, desired, context);
  else if (!(await createClaim(desired, context)))
    throw new NotReady("NameTaken", `another object is just claiming ${name.claimed}`, { requeueAfterMs: 1000 });
}

/** Whether it says its GUID itself; what does not has its uid as GUID. */
export function hasGUIDLabel(object: KubeObject): boolean {
  return object.metadata.labels?.[LABELS.guid] !== undefined;
}

function toClaimant(kind: string, { metadata: { name, namespace } }: KubeObject): Claimant {
  return { kind, ...(namespace && { namespace }), name };
}

async function createClaim(claim: Claim, { client }: ReconcileContext): Promise<boolean> {
  try {
    await client.create(Claim, claim);
    return true;
  } catch (error) {
    if (isAlreadyExists(error)) return false;
    throw error;
  }
}

async function takeOverClaim(live: Claim, desired: Claim, context: ReconcileContext): Promise<void> {
  const currentName = await findClaimantName(live.spec.claimant, {
    find: (ref, key) => context.client.find(ref, key),
    read: context.read,
  });
  if (planClaim(desired, live, { name: currentName }, context.now()) === "refuse")
    throw toNameTaken(live, context.now());
  try {
    await context.client.update(Claim, toTakenOver(desired, live));
  } catch (error) {
    if (isConflict(error))
      throw new NotReady("NameTaken", `another object takes ${live.spec.claimed} over`, {
        isFailure: true,
        requeueAfterMs: 1000,
        cause: error,
      });
    throw error;
  }
}

function toNameTaken(claim: Claim, now: Date): NotReady {
  const remainingMs = Date.parse(claim.spec.since) + CLAIM_GRACE_MS - now.getTime();
  const message = `the name ${claim.spec.claimed} is taken by ${describeClaimant(claim.spec.claimant)}; choose another spec.name, or delete that one`;
  // Within its grace the claim may still lapse without any event; after it, a change of claim or claimant wakes us.
  return new NotReady("NameTaken", message, {
    isFailure: true,
    ...(remainingMs > 0 && { requeueAfterMs: remainingMs + 100 }),
  });
}

function describeClaimant(claimant: Claimant): string {
  return `${claimant.kind} ${keyOf(claimant)}`;
}
