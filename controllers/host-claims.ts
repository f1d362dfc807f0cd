// The claims on a host, whatever their paths. On shared domains they say whose the host is.
import { Claim } from "../crds/claim/claim.ts";
import { hostHolder } from "../crds/route/host.ts";
import type { Reader } from "../kube/reader.ts";

/** Name of the index of Claims by host, which the claim controller keeps. */
export const HOST_CLAIMS_INDEX = "claim/host";

/** `key` as of `hostKey`. */
export function claimsOnHost(read: Reader, key: string): Claim[] {
  return read.byIndex(Claim, HOST_CLAIMS_INDEX, key);
}

/** The claim that gives its space the host. */
export function findHostHolder(read: Reader, key: string): Claim | undefined {
  return hostHolder(claimsOnHost(read, key));
}
