// Which Domain a name means, seen from a space. Pure.
import { SYSTEM_NAMESPACE } from "../groups.ts";
import type { Domain } from "./domain.ts";

/**
 * Of the Domains with this object name: the org's own, else the shared one, else a private one that its owner shared with this
 * org. `org` is the org's object name, `orgNamespace` the namespace of its private domains.
 */
export function resolveDomain(name: string, place: { org: string; orgNamespace: string }, domains: readonly Domain[]): Domain | undefined {
  const named = domains.filter((domain) => domain.metadata.name === name);
  return (
    named.find((domain) => domain.metadata.namespace === place.orgNamespace) ??
    named.find((domain) => domain.metadata.namespace === SYSTEM_NAMESPACE) ??
    named.find((domain) => domain.spec.sharedOrgs.includes(place.org))
  );
}
