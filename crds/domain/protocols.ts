// Whether a domain is for TCP routes. Pure.
import type { Domain } from "./domain.ts";

export function isTCPDomain({ spec: { protocols = [] } }: Pick<Domain, "spec">): boolean {
  return protocols.includes("tcp");
}
