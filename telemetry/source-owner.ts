// Which replica keeps the logs of a source: rendezvous hashing. Every replica that knows the members computes the same owner; when a member leaves, only its sources move.
import { createHash } from "node:crypto";

/** The member with the highest digest of (member, source); undefined without members. Their order does not matter. */
export function pickOwner(source: string, members: readonly string[]): string | undefined {
  let owner: string | undefined;
  let highest: Buffer | undefined;
  for (const member of members) {
    const weight = createHash("sha1").update(member).update("\0").update(source).digest();
    const order = highest ? weight.compare(highest) : 1;
    // For equal digests, which do not happen in practice, the name decides.
    if (order > 0 || (order === 0 && owner !== undefined && member > owner)) [owner, highest] = [member, weight];
  }
  return owner;
}
