// Whom a claim concerns beyond those of its very address: on a shared domain, other spaces that want the host.
import type { Claim } from "../../crds/claim/claim.ts";
import { foldName } from "../../crds/names.ts";
import { Domain } from "../../crds/domain/domain.ts";
import { SYSTEM_NAMESPACE } from "../../crds/groups.ts";
import { claimedHosts, hostHolder, isBefore } from "../../crds/route/host.ts";
import { Route } from "../../crds/route/route.ts";
import type { ObjectKey } from "../../kube/object.ts";
import type { Reader } from "../../kube/reader.ts";
import { claimsOnHost } from "../host-claims.ts";

/** Name of the index of Routes by `wantedHost`. */
export const HOST_INDEX = "route/host";

/** The host, and the object name of its domain: what that means in each place, an index function cannot see. */
export function wantedHost({ host, domainRef }: Pick<Route["spec"], "host" | "domainRef">): string {
  return `${host} ${domainRef.name}`;
}

/** The Routes to look at again after a claim came, changed or went; none while the host stays with the space that has it. */
export function rivalsOf(claim: Claim, read: Reader): ObjectKey[] {
  const [key] = claimedHosts(claim);
  const domain = key === undefined ? undefined : sharedDomainOf(claim, read);
  if (key === undefined || !domain) return [];
  const claims = claimsOnHost(read, key);
  const holder = hostHolder(claims);
  // It neither had the host nor has it now.
  if (holder && isBefore(holder, claim)) return [];
  const isOurs = ({ spec }: Claim): boolean => spec.claimant.namespace === claim.spec.claimant.namespace;
  const isDisputed = claims.some((other) => !isOurs(other));
  if (!isDisputed && claims.some((other) => other.metadata.name !== claim.metadata.name)) return [];
  const host = wantedHost({ host: hostOf(claim), domainRef: { name: domain.metadata.name } });
  const concerned = read.byIndex(Route, HOST_INDEX, host).filter(({ metadata }) => isDisputed || metadata.namespace !== claim.spec.claimant.namespace);
  return concerned.map(({ metadata: { namespace, name } }) => ({ ...(namespace && { namespace }), name }));
}

/** Hosts have no colon. */
function hostOf({ spec }: Claim): string {
  return spec.claimed.split(":")[0] ?? "";
}

function sharedDomainOf({ spec }: Claim, read: Reader): Domain | undefined {
  return read.list(Domain, { namespace: SYSTEM_NAMESPACE }).find((domain) => spec.scope === `route/${foldName(domain.spec.name)}`);
}
