// Which Domain a route means. Pure; the same for API and controllers.
import { SYSTEM_NAMESPACE } from "../groups.ts";
import { ageOrder } from "../guid.ts";
import type { Route } from "../route/route.ts";
import { routeURL } from "../route/route-url.ts";
import type { Domain } from "./domain.ts";

/** Is it every org's to make routes in? */
export function isShared({ metadata }: Pick<Domain, "metadata">): boolean {
  return metadata.namespace === SYSTEM_NAMESPACE;
}

/** What is seen from a space. */
export interface DomainSight {
  /** Object name of the org. */
  org: string;
  /** The namespace of its own domains. */
  orgNamespace: string;
  find: (key: { namespace: string; name: string }) => Domain | undefined;
  /** All of an object name, in any order. */
  named: (name: string) => readonly Domain[];
  /** Has another Domain the name that this one bears? */
  hasLost: (domain: Domain) => boolean;
}

/** A route, or one that is still to be created. */
export type Referrer = Pick<Route, "spec"> & { status?: Route["status"] };

/** Of the Domains that the reference names: the org's own, else the shared one, else a private one that its owner shared with this org. */
export function resolveDomain(route: Referrer, sight: DomainSight): Domain | undefined {
  const { name } = route.spec.domainRef;
  return sight.find({ namespace: sight.orgNamespace, name }) ?? sight.find({ namespace: SYSTEM_NAMESPACE, name }) ?? lentDomain(route, sight);
}

/**
 * Anybody may share a Domain with an org that did not ask for it, so nothing that is done later changes what a route means: of those in force it is the
 * oldest, and once the route was served in a domain it is that domain or none.
 */
function lentDomain(route: Referrer, { org, named, hasLost }: DomainSight): Domain | undefined {
  const served = route.status?.url;
  const isMeant = ({ spec }: Domain): boolean => spec.sharedOrgs.includes(org) && (served === undefined || served === routeURL(route.spec, spec.name));
  const lent = named(route.spec.domainRef.name).filter(isMeant).toSorted((one, other) => (ageOrder(one) < ageOrder(other) ? -1 : 1));
  return lent.find((domain) => !hasLost(domain)) ?? lent[0];
}
