// The router class of a domain's routes: the one that it names; an internal domain that names none has the class for internal names, where there is one.
import type { Domain } from "../domain/domain.ts";
import type { BackendClass } from "./backend-class.ts";

/** Serves internal domains by names in the cluster's DNS. */
export const INTERNAL_DNS_CLASS = "internal-dns";

/** The name of the class; undefined means the default. */
export function routerOf({ spec }: Pick<Domain, "spec">, classes: readonly BackendClass[]): string | undefined {
  if (spec.router !== undefined || !spec.internal) return spec.router;
  const found = classes.find(({ metadata, spec }) => spec.role === "router" && metadata.name === INTERNAL_DNS_CLASS);
  return found?.metadata.name;
}
