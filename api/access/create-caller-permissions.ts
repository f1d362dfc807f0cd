// Creates the permissions of a request: from RBAC alone, or by review.
import type { KubeObject } from "../../kube/api/object.ts";
import type { ResourceRef } from "../../kube/api/resource-ref.ts";
import type { AllowedNames } from "../../kube/rbac/rbac-index.ts";
import type { Caller } from "../identity/caller.ts";
import type { CallerPermissions, PermissionsRequest } from "./caller-permissions.ts";
import type { RbacAuthorizer } from "../cache/rbac-authorizer.ts";
import { type ReviewConfig, ReviewedPermissions } from "./reviewed-permissions.ts";

export interface CallerPermissionsDeps {
  authorizer: RbacAuthorizer;
  /** Undefined: RBAC alone decides. */
  review?: ReviewConfig | undefined;
}

export function createCallerPermissions(
  { authorizer, review }: CallerPermissionsDeps,
  request: PermissionsRequest,
): CallerPermissions {
  return review ? new ReviewedPermissions(authorizer, review, request) : rbacPermissions(authorizer, request.caller);
}

function rbacPermissions(authorizer: RbacAuthorizer, caller: Caller): CallerPermissions {
  return {
    isCacheable: true,
    allows: (asked) => authorizer.allows(caller, asked),
    decide: async (asked) => authorizer.allows(caller, asked),
    filterVisible: (ref, objects) => visibleByRbac(authorizer, caller, ref, objects),
    visibleNamespaces(ref) {
      const clusterWide = authorizer.allowedNames(caller, { verb: "get", on: ref, namespace: "" });
      return clusterWide === "all" || clusterWide.size > 0 ? undefined : authorizer.namespacesOf(caller);
    },
  };
}

function visibleByRbac<T extends KubeObject>(
  authorizer: RbacAuthorizer,
  caller: Caller,
  ref: ResourceRef<T>,
  objects: Iterable<T>,
): T[] {
  const names = new Map<string, AllowedNames>();
  const visible: T[] = [];
  for (const object of objects) {
    const namespace = object.metadata.namespace ?? "";
    let allowed = names.get(namespace);
    if (allowed === undefined)
      names.set(namespace, (allowed = authorizer.allowedNames(caller, { verb: "get", on: ref, namespace })));
    if (allowed === "all" || allowed.has(object.metadata.name)) visible.push(object);
  }
  return visible;
}
