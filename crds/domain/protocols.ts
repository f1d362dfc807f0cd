// Whether a domain is for TCP routes, and whether an app that names no domain may get a route there. Pure.
import type { Domain } from "./domain.ts";

export function isTCPDomain({ spec: { protocols = [] } }: Pick<Domain, "spec">): boolean {
  return protocols.includes("tcp");
}

/** For HTTP, from outside, and open to everyone. */
export function mayBeDefault(domain: Pick<Domain, "spec">): boolean {
  return !domain.spec.internal && !isTCPDomain(domain) && !domain.spec.routePolicies;
}
