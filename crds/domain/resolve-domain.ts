// Which Domain a route means. Pure; the same for API and controllers.
import { SYSTEM_NAMESPACE } from "../groups.ts";
import { ageSortKey } from "../guid.ts";
import type { Route } from "../route/route.ts";
import { routeURL } from "../route/route-url.ts";
import type { Domain } from "./domain.ts";

/** Is it every org's to make routes in? */
export function isSharedDomain({ metadata }: Pick<Domain, "metadata">): boolean {
  return metadata.namespace === SYSTEM_NAMESPACE;
}

/** What is seen from a space. */
export interface DomainLookup {
  /** Object name of the org. */
  orgObjectName: string;
  /** The namespace of its own domains. */
  orgNamespace: string;
  find: (key: { namespace: string; name: string }) => Domain | undefined;
  /** All of an object name, in any order. */
  listByName: (name: string) => readonly Domain[];
  /** Has another Domain the name that this one bears? */
  isNameTaken: (domain: Domain) => boolean;
}

/** A route, or one that is still to be created. */
export type DomainReferrer = Pick<Route, "spec"> & { status?: Route["status"] };

/** Of the Domains that the reference names: the org's own, else the shared one, else a private one that its owner shared with this org. */
export function findDomainByReference(route: DomainReferrer, lookup: DomainLookup): Domain | undefined {
  const { name } = route.spec.domainRef;
  return (
    lookup.find({ namespace: lookup.orgNamespace, name }) ??
    lookup.find({ namespace: SYSTEM_NAMESPACE, name }) ??
    findDomainSharedWithOrg(route, lookup)
  );
}

/**
 * Anybody may share a Domain with an org that did not ask for it, so nothing that is done later changes what a route means: of those in force it is the
 * oldest, and once the route was served in a domain it is that domain or none.
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
