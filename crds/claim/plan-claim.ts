// The claim protocol: decides the next step from the wanted claim and the existing one. API and controllers do the reads and writes.
import type { Claim } from "./claim.ts";
import { isClaimStale, type ClaimedName } from "./rules.ts";

/**
 * - `create`: no object holds the name. Create the wanted claim; the API server's answer decides the race.
 * - `hold`: the wanted claimant already holds it.
 * - `readClaimant`: another object holds it. Read that object's name live, then plan again.
 * - `takeOver`: the holder is gone or has another name. Update the claim with its resourceVersion.
 * - `refuse`: the holder keeps it.
 */
export type ClaimStep = "create" | "hold" | "readClaimant" | "takeOver" | "refuse";

/** Result of a live read of the current claimant: its name, or undefined when it does not exist. */
export interface ClaimantRead {
  name: ClaimedName | undefined;
}

/** `current` is the claim on the name, read live. */
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

/** After a write failed: may its claim be released? Only when the claimant does not have the name after all. */
export function isReleasable({ spec }: Pick<Claim, "spec">, read: ClaimantRead): boolean {
  return read.name?.scope !== spec.scope || read.name.claimed !== spec.claimed;
}

/** The claim that replaces `current`, bound to the version that the plan was made from. */
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
