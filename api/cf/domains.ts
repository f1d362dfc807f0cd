// Which Domain a route means, and which an org may use. The rule itself is crds/domain/resolve-domain.ts.
import { Claim } from "../../crds/claim/claim.ts";
import { claimObjectName, domainName, standingOf } from "../../crds/claim/rules.ts";
import { isShared, resolveDomain, type Referrer } from "../../crds/domain/resolve-domain.ts";
import { Domain } from "../../crds/domain/domain.ts";
import { SYSTEM_NAMESPACE } from "../../crds/groups.ts";
import type { Org } from "../../crds/org/org.ts";
import type { KubeObject } from "../../kube/api/object.ts";
import type { View } from "../cache/cluster-cache.ts";

/** The org that owns a private domain; undefined for a shared one. */
export function ownerOf(view: View, domain: Domain): Org | undefined {
  return isShared(domain) ? undefined : view.orgOf(domain.metadata.namespace);
}

/** The Domain of a route, or of one that is still to be created; undefined when it dangles, or has lost its name to another Domain. */
export function domainOf(view: View, route: Referrer & Pick<KubeObject, "metadata">): Domain | undefined {
  const orgNamespace = view.spaceOf(route.metadata.namespace)?.metadata.namespace ?? "";
  const named = view.store(Domain).byIndex("objectName", route.spec.domainRef.name);
  const domain = resolveDomain(route, {
    org: view.orgOf(orgNamespace)?.metadata.name ?? "",
    orgNamespace,
    find: ({ namespace }) => named.find(({ metadata }) => metadata.namespace === namespace),
    named: () => named,
    hasLost: (candidate) => hasLostName(view, candidate),
  });
  return domain && hasLostName(view, domain) ? undefined : domain;
}

/** Names of claims by Domain: a list asks for each of its routes, and a name costs a digest. */
const claimNames = new WeakMap<Domain, string>();

function hasLostName(view: View, domain: Domain): boolean {
  const name = claimNames.get(domain) ?? claimObjectName(domainName(domain));
  claimNames.set(domain, name);
  return standingOf(view.store(Claim).find({ namespace: SYSTEM_NAMESPACE, name }), Domain.kind, domain) === "lost";
}

/** Whether an org may make routes in a domain. */
export function usableBy(domain: Domain, org: Org): boolean {
  return isShared(domain) || domain.metadata.namespace === org.status?.namespace || domain.spec.sharedOrgs.includes(org.metadata.name);
}
