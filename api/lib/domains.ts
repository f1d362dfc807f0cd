// Which Domain a route means, and which an org may use. The rule itself is crds/domain/resolve.ts.
import { resolveDomain } from "../../crds/domain/resolve.ts";
import { Domain } from "../../crds/domain/domain.ts";
import { SYSTEM_NAMESPACE } from "../../crds/groups.ts";
import type { Org } from "../../crds/org/org.ts";
import type { Route } from "../../crds/route/route.ts";
import type { View } from "../view.ts";

/** The org that owns a private domain; undefined for a shared one. */
export function ownerOf(view: View, domain: Domain): Org | undefined {
  return domain.metadata.namespace === SYSTEM_NAMESPACE ? undefined : view.orgOf(domain.metadata.namespace);
}

/** The Domain of a route, or of one that is still to be created; undefined when it dangles. */
export function domainOf(view: View, route: Pick<Route, "metadata" | "spec">): Domain | undefined {
  const orgNamespace = view.spaceOf(route.metadata.namespace)?.metadata.namespace ?? "";
  const { name } = route.spec.domainRef;
  return resolveDomain(name, { org: view.orgOf(orgNamespace)?.metadata.name ?? "", orgNamespace }, view.store(Domain).byIndex("objectName", name));
}

/** Whether an org may make routes in a domain. */
export function usableBy(domain: Domain, org: Org): boolean {
  const { namespace } = domain.metadata;
  return namespace === SYSTEM_NAMESPACE || namespace === org.status?.namespace || domain.spec.sharedOrgs.includes(org.metadata.name);
}
