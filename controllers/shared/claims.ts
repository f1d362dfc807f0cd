// The claim on an object's name: created, held, or taken over from a claimant that was deleted or renamed.
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
import { isAlreadyExists, isConflict } from "../../kube/client/errors.ts";
import { NotReady, type ReconcileContext } from "../../kube/controller/controller.ts";
import { keyOf, type KubeObject } from "../../kube/api/object.ts";
import { findClaimantName } from "./claimant-name.ts";
import { hasGUIDLabel } from "./guid.ts";

/** Index of objects by the name they claim: a released claim enqueues those that wait for it. */
export const CLAIMED_NAME_INDEX = "controllers/claimed-name";

/**
 * Holds the claim on a name for an object, or throws NotReady("NameTaken"). A claim that the API made for the object is adopted
 * unchanged; the claim of a deleted or renamed claimant is taken over after a live read, by resourceVersion.
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
  // The API made an object with a GUID label, and claimed its name first: the cache of claims lags.
  if (!cached && !hasGUIDLabel(object) && (await createClaim(desired, context))) return;
  const live = await context.client.find(Claim, key);
  if (planClaim(desired, live, undefined, context.now()) === "hold") return;
  if (live) await takeOverClaim(live, desired, context);
  else if (!(await createClaim(desired, context)))
    throw new NotReady("NameTaken", `another object claims ${name.claimed} at this moment`, { requeueAfterMs: 1000 });
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
      throw new NotReady("NameTaken", `another object takes over ${live.spec.claimed}`, {
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
  // Within its grace the claim may lapse without an event; later a change of claim or claimant enqueues the object.
  return new NotReady("NameTaken", message, {
    isFailure: true,
    ...(remainingMs > 0 && { requeueAfterMs: remainingMs + 100 }),
  });
}

function describeClaimant(claimant: Claimant): string {
  return `${claimant.kind} ${keyOf(claimant)}`;
}
