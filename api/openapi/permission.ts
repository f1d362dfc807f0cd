// Words for the Kubernetes permissions of an endpoint.
import type { EndpointPermission } from "../access/required-permission.ts";

/** The Kubernetes permissions of an endpoint, e.g. `update apps/env in cupola.dev`. */
export function describePermission(permission: EndpointPermission): string[] {
  if (typeof permission === "string") return [permission];
  const permissions = "verb" in permission ? [permission] : permission;
  return permissions.map(
    ({ verb, on, subresource }) =>
      `${verb} ${on.plural}${subresource ? `/${subresource}` : ""} in ${on.group || "core"}`,
  );
}
