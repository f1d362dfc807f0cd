// The protocol of claims: one step, decided from the claim that is wanted and what is there. API and controllers read and write around it.
import type { Claim } from "./claim.ts";
import { isClaimStale, type ClaimedName } from "./rules.ts";

/**
 * - `create`: nobody holds the name; create the wanted claim, and the API server's answer decides the race.
 * - `hold`: the wanted claimant has it already.
 * - `readClaimant`: another one has it; read live which name that one bears, then plan again with it.
 * - `takeOver`: that one is gone or bears another name; update the claim with its resourceVersion.
 * - `refuse`: that one keeps it.
 */
export type ClaimStep = "create" | "hold" | "readClaimant" | "takeOver" | "refuse";

/** What a live read said of the current claimant: the name it bears, or undefined when it does not exist. */
export interface ClaimantRead {
  name: ClaimedName | undefined;
}

/** `current` is the claim on the name by a live read. */
export function planClaim(
  wanted: Pick<Claim, "spec">,
  current: Pick<Claim, "spec"> | undefined,
  read: ClaimantRead | undefined,
  now: Date,
): ClaimStep {
  if (!current) return "create";
  if (isSameClaimant(wanted, current)) return "hold";
  if (!read) return "readClaimant";
  return isClaimStale(current, read.name, now) ? "takeOver" : "refuse";
}

/** Whether a claim that was taken for a write which failed is given back: only when its claimant does not bear the name after all. */
export function isReleasable({ spec }: Pick<Claim, "spec">, read: ClaimantRead): boolean {
  return read.name?.scope !== spec.scope || read.name.claimed !== spec.claimed;
}

/** The claim to write when `current` is taken over: exactly the version that was judged. */
export function toTakenOver(wanted: Claim, current: Claim): Claim {
  const { uid, resourceVersion } = current.metadata;
  return { ...wanted, metadata: { ...wanted.metadata, uid, resourceVersion } };
}

function isSameClaimant({ spec: one }: Pick<Claim, "spec">, { spec: other }: Pick<Claim, "spec">): boolean {
  return (
    one.claimant.kind === other.claimant.kind &&
    one.claimant.name === other.claimant.name &&
    (one.claimant.namespace ?? "") === (other.claimant.namespace ?? "")
  );
}
