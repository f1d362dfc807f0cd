// Which domain or route reserves a domain's name, and which domain a route's. Pure; the API and the controllers share it.
import type { Claim } from "../claim/claim.ts";
import { findOldestClaim, isOlderClaim, toHostKey, type RouteHost } from "../route/host-owner.ts";
import type { Domain } from "./domain.ts";
import { isSharedDomain } from "./resolve-domain.ts";

/** Finds domains and claims. */
export interface ReservationLookup {
  /** Domains of exactly this name. */
  listByName: (name: string) => readonly Domain[];
  /** Domains below this name, at any depth. */
  listBelow: (name: string) => readonly Domain[];
  /** The claim that this Domain holds on its name. Only then is it in force. */
  findClaim: (domain: Domain) => Claim | undefined;
  /** Claims of routes by `toHostKey`. */
  listHostClaims: (key: string) => readonly Claim[];
}

/** A domain, or one to be created. */
type Named = Pick<Domain, "metadata"> & { spec: Pick<Domain["spec"], "name"> };

/** Names above, the nearest first: `a.b.c` has `b.c` and `c`. */
export function listParentNames(name: string): string[] {
  const labels = name.split(".");
  return labels.slice(1).map((_label, at) => labels.slice(at + 1).join("."));
}

/** The domain or the hostname that reserves a name, and the claim that says so. */
export interface Reservation {
  by: "domain" | "route";
  name: string;
  claim: Claim;
}

/**
 * The reservation that keeps a domain from its name. Nobody has a domain below or above another org's private one, and a shared one is above others only: CF's rule. A route
 * of that very hostname keeps a domain away as well. Older claims win; `own` is the domain's, if it has one.
 */
export function findReservation(
  domain: Named,
  own: Claim | undefined,
  lookup: ReservationLookup,
): Reservation | undefined {
  return findOverlap(domain, own, lookup) ?? findRoute(domain.spec.name, own, lookup);
}

function findOverlap(
  domain: Named,
  own: Claim | undefined,
  { listByName, listBelow, findClaim }: ReservationLookup,
): Reservation | undefined {
  const { name } = domain.spec;
  const around = listParentNames(name).flatMap((parent) => listByName(parent).filter((one) => !isSharedDomain(one)));
  const inside = isSharedDomain(domain) ? [] : listBelow(name);
  for (const other of [...around, ...inside]) {
    if (other.metadata.namespace === domain.metadata.namespace) continue;
    const claim = findClaim(other);
    if (claim && isFirst(claim, own)) return { by: "domain", name: other.spec.name, claim };
  }
  return undefined;
}

function findRoute(
  name: string,
  own: Claim | undefined,
  { listHostClaims }: ReservationLookup,
): Reservation | undefined {
  const [host = "", ...rest] = name.split(".");
  if (rest.length === 0) return undefined;
  const claim = findOldestClaim(listHostClaims(toHostKey({ host, domain: rest.join(".") })));
  return claim && isFirst(claim, own) ? { by: "route", name, claim } : undefined;
}

/** The claim of a domain whose name is this hostname, when no route has held the hostname for longer. */
export function findNamesake(
  { host, domain }: RouteHost,
  { listByName, findClaim, listHostClaims }: Omit<ReservationLookup, "listBelow">,
): Claim | undefined {
  if (host === "" || host === "*") return undefined;
  const [claim] = listByName(`${host}.${domain}`).flatMap((one) => findClaim(one) ?? []);
  // A host may have many claims, and seldom is a domain's name.
  if (!claim) return undefined;
  return isFirst(claim, findOldestClaim(listHostClaims(toHostKey({ host, domain })))) ? claim : undefined;
}

function isFirst(claim: Claim, own: Claim | undefined): boolean {
  return !own || isOlderClaim(claim, own);
}
