// Which Routes look again at what others do. Whatever somebody does in a space or an org of his own wakes as few of others as can be.
import type { Claim } from "../../crds/claim/claim.ts";
import { routeName } from "../../crds/claim/rules.ts";
import { Domain } from "../../crds/domain/domain.ts";
import { isShared } from "../../crds/domain/resolve-domain.ts";
import { hostHolder, hostSplits, isBefore, type Split, splitOf } from "../../crds/route/route-host.ts";
import { Route } from "../../crds/route/route.ts";
import type { Wake } from "../../kube/controller/controller.ts";
import type { ObjectKey } from "../../kube/api/object.ts";
import { ifListed, type Reader } from "../../kube/cache/reader.ts";
import { claimsOnHost } from "../shared/host-claims.ts";
import { CLAIM_INDEX } from "../shared/identity.ts";
import { DOMAIN_NAME_INDEX, findPlace } from "../shared/tenancy.ts";

/** Name of the index of Routes by the object name of their domain. */
export const DOMAIN_INDEX = "route/domain";
/** Name of the index of Routes by `wantedHost`. */
export const HOST_INDEX = "route/host";

/** The host and the object name of its domain: what that means in each place, an index function cannot see. */
export function wantedHost({ host, domainRef }: Pick<Route["spec"], "host" | "domainRef">): string {
  return `${host} ${domainRef.name}`;
}

/** As `wantedHost`, of the whole address, for `CLAIM_INDEX`. */
export function wantedAddress(route: Route): string {
  return `${routeName(route, "").claimed} ${route.spec.domainRef.name}`;
}

/** A claim on an address concerns those who want it; one on a domain's name, the routes in the domain. */
export function wokenByClaim(claim: Claim, read: Reader): Wake {
  const { scope, claimed, claimant } = claim.spec;
  if (claimant.kind === Route.kind) return { [CLAIM_INDEX]: domainsOf({ domain: scope.slice("route/".length) }, read).map(({ metadata }) => `${claimed} ${metadata.name}`) };
  const domain = claimant.kind === Domain.kind ? read.find(Domain, claimant) : undefined;
  // One that is gone, or still to come, wakes them itself.
  return domain ? wokenByDomain(domain, read) : [];
}

/** Routes that may mean the Domain: everybody's where it is shared by all, else those of its org and of the orgs that it is shared with. */
export function wokenByDomain(domain: Domain, read: Reader): Wake {
  const { metadata, spec } = domain;
  if (isShared(domain)) return { [DOMAIN_INDEX]: metadata.name };
  const orgs = new Set(spec.sharedOrgs);
  const known = new Map<string, boolean>();
  const isConcerned = (namespace: string): boolean => {
    const place = findPlace(read, namespace);
    return !place || place.orgNamespace === metadata.namespace || orgs.has(place.orgObject);
  };
  const concerned = read.byIndex(Route, DOMAIN_INDEX, metadata.name).filter(({ metadata: { namespace = "" } }) => {
    const answer = known.get(namespace) ?? isConcerned(namespace);
    known.set(namespace, answer);
    return answer;
  });
  return concerned.map(keyOfRoute);
}

/** The Routes of a hostname that a claim on it concerns whatever their paths, when it came, changed or went; none while the hostname stays with the space that has it. */
export function rivalsOf(claim: Claim, read: Reader): ObjectKey[] {
  const split = splitOf(claim);
  if (!split) return [];
  const [own, ...others] = hostSplits(split);
  const elsewhere = others.flatMap((other) => claimsOnHost(read, other));
  // On a private domain spaces share a host, unless it is claimed as that of another domain, too.
  const isOneSpaces = elsewhere.length > 0 || domainsOf(own, read).some(isShared);
  const wanting = (isOneSpaces ? [own, ...others] : others).flatMap((one) => routesOf(one, read));
  if (wanting.length === 0) return [];
  const claims = [...claimsOnHost(read, own), ...elsewhere];
  const holder = hostHolder(claims);
  // It neither had the host nor has it now.
  if (holder && isBefore(holder, claim)) return [];
  const { namespace } = claim.spec.claimant;
  const isDisputed = claims.some(({ spec }) => spec.claimant.namespace !== namespace);
  if (!isDisputed && claims.some(({ metadata }) => metadata.name !== claim.metadata.name)) return [];
  return wanting.filter(({ metadata }) => isDisputed || metadata.namespace !== namespace).map(keyOfRoute);
}

function routesOf(split: Split, read: Reader): Route[] {
  return domainsOf(split, read).flatMap(({ metadata }) => read.byIndex(Route, HOST_INDEX, wantedHost({ host: split.host, domainRef: metadata })));
}

function keyOfRoute({ metadata: { namespace, name } }: Route): ObjectKey {
  return { ...(namespace && { namespace }), name };
}

/** One, unless another wants its name; none that is still to be listed, which wakes its Routes itself. */
function domainsOf({ domain }: Pick<Split, "domain">, read: Reader): Domain[] {
  return ifListed(() => read.byIndex(Domain, DOMAIN_NAME_INDEX, domain)) ?? [];
}
