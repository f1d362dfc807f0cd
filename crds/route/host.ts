// To which space a host of a shared domain belongs: to the one whose claim on an address of the host is the oldest. Pure.
import type { Claim } from "../claim/claim.ts";
import { routeName } from "../claim/rules.ts";

/** What the claims on all addresses of a host are filed under. `domain` is the domain's own name. */
export function hostKey(domain: string, host: string): string {
  const { scope, claimed } = routeName({ spec: { host, path: "", port: 0, domainRef: { name: "" }, destinations: [] } }, domain);
  return `${scope} ${claimed}`;
}

/** An index function: the host that a claim is on with some path. Ports have no hosts. */
export function claimedHosts({ spec: { scope, claimed } }: Pick<Claim, "spec">): string[] {
  const [host] = /^[^:]*:0(?=$|\/)/.exec(claimed) ?? [];
  return scope.startsWith("route/") && host !== undefined ? [`${scope} ${host}`] : [];
}

/**
 * The claim whose claimant's space has the host. The age of Routes says nothing: an old one may have meant another domain until now. Nobody but the platform
 * writes a claim, and it stays as it is while it is held, so all who see the same claims agree, and agree tomorrow.
 */
export function hostHolder(claims: readonly Claim[]): Claim | undefined {
  return claims.reduce<Claim | undefined>((first, claim) => (first && !isBefore(claim, first) ? first : claim), undefined);
}

/** Of two taken in the same millisecond the one with the smaller name is first. */
export function isBefore(one: Claim, other: Claim): boolean {
  return one.spec.since === other.spec.since ? one.metadata.name < other.metadata.name : one.spec.since < other.spec.since;
}
