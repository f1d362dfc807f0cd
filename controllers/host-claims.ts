// The claims on a hostname, whatever their paths: whose it is, where it belongs to one space.
import { Claim } from "../crds/claim/claim.ts";
import type { Domain } from "../crds/domain/domain.ts";
import { isShared } from "../crds/domain/resolve.ts";
import { hostHolder, hostKey, hostSplits, type Split } from "../crds/route/host.ts";
import type { Reader } from "../kube/reader.ts";

/** Name of the index of Claims by host, which the claim controller keeps. */
export const HOST_CLAIMS_INDEX = "claim/host";

export function claimsOnHost(read: Reader, split: Split): Claim[] {
  return read.byIndex(Claim, HOST_CLAIMS_INDEX, hostKey(split));
}

/** The claim that has the hostname; on a private domain undefined while nobody claims it as that of another domain. */
export function findHostHolder(read: Reader, host: string, domain: Domain): Claim | undefined {
  const [own, ...others] = hostSplits({ host, domain: domain.spec.name });
  const elsewhere = others.flatMap((split) => claimsOnHost(read, split));
  return isShared(domain) || elsewhere.length > 0 ? hostHolder([...claimsOnHost(read, own), ...elsewhere]) : undefined;
}
