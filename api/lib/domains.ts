// Which Domain a route means: one of its org, a shared one, or one that another org shares with it.
import { Domain } from "../../crds/domain/domain.ts";
import { SYSTEM_NAMESPACE } from "../../crds/groups.ts";
import type { Org } from "../../crds/org/org.ts";
import type { Route } from "../../crds/route/route.ts";
import type { View } from "../view.ts";

/** The org that owns a private domain; undefined for a shared one. */
export function ownerOf(view: View, domain: Domain): Org | undefined {
  return domain.metadata.namespace === SYSTEM_NAMESPACE ? undefined : view.orgOf(domain.metadata.namespace);
}

/** The Domain that an object name means in an org's namespace. */
export function domainNamed(view: View, orgNamespace: string | undefined, name: string): Domain | undefined {
  const domains = view.store(Domain);
  const own = orgNamespace ? domains.find({ namespace: orgNamespace, name }) : undefined;
  return own ?? domains.find({ namespace: SYSTEM_NAMESPACE, name }) ?? sharedWith(view, orgNamespace).find((domain) => domain.metadata.name === name);
}

/** Private domains of other orgs that an org may use. */
export function sharedWith(view: View, orgNamespace: string | undefined): Domain[] {
  const org = view.orgOf(orgNamespace)?.metadata.name;
  return org ? view.store(Domain).byIndex("sharedOrg", org) : [];
}

/** The Domain of a route, or of one that is still to be created; undefined when it dangles. */
export function domainOf(view: View, route: Pick<Route, "metadata" | "spec">): Domain | undefined {
  const orgNamespace = view.spaceOf(route.metadata.namespace)?.metadata.namespace;
  return domainNamed(view, orgNamespace, route.spec.domainRef.name);
}

/** Whether an org may make routes in a domain. */
export function usableBy(domain: Domain, org: Org): boolean {
  const { namespace } = domain.metadata;
  return namespace === SYSTEM_NAMESPACE || namespace === org.status?.namespace || domain.spec.sharedOrgs.includes(org.metadata.name);
}
