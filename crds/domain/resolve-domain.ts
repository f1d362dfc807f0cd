// Resolves a route's domainRef. Pure; shared by API and controllers.
import { SYSTEM_NAMESPACE } from "../groups.ts";
import { ageSortKey } from "../guid.ts";
import type { Route } from "../route/route.ts";
import { routeURL } from "../route/route-url.ts";
import type { Domain } from "./domain.ts";

/** May every org create routes in it? */
export function isSharedDomain({ metadata }: Pick<Domain, "metadata">): boolean {
  return metadata.namespace === SYSTEM_NAMESPACE;
}

/** Finds Domains from the point of view of a space. */
export interface DomainLookup {
  /** Object name of the org. */
  orgObjectName: string;
  /** The namespace of the org's private domains. */
  orgNamespace: string;
  find: (key: { namespace: string; name: string }) => Domain | undefined;
  /** All Domains with this object name, in any order. */
  listByName: (name: string) => readonly Domain[];
  /** Does another Domain hold this Domain's DNS name? */
  isNameTaken: (domain: Domain) => boolean;
}

/** A route, existing or about to be created. */
export type DomainReferrer = Pick<Route, "spec"> & { status?: Route["status"] };

/** Order of preference: the org's own Domain, the shared one, a private one that its owner shared with this org. */
export function findDomainByReference(route: DomainReferrer, lookup: DomainLookup): Domain | undefined {
  const { name } = route.spec.domainRef;
  return (
    lookup.find({ namespace: lookup.orgNamespace, name }) ??
    lookup.find({ namespace: SYSTEM_NAMESPACE, name }) ??
    findDomainSharedWithOrg(route, lookup)
  );
}

/**
 * Any org may share a Domain with an org that did not ask for it, so a later share must not change an existing route: the oldest Domain that holds its
 * name wins, and a route that was once served in a domain resolves to that domain or to none.
 */
function findDomainSharedWithOrg(
  route: DomainReferrer,
  { orgObjectName, listByName, isNameTaken }: DomainLookup,
): Domain | undefined {
  const servedURL = route.status?.url;
  const isReferenced = ({ spec }: Domain): boolean =>
    spec.sharedOrgs.includes(orgObjectName) &&
    (servedURL === undefined || servedURL === routeURL(route.spec, spec.name));
  const candidates = listByName(route.spec.domainRef.name)
    .filter(isReferenced)
    .toSorted((one, other) => (ageSortKey(one) < ageSortKey(other) ? -1 : 1));
  return candidates.find((domain) => !isNameTaken(domain)) ?? candidates[0];
}
