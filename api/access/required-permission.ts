// The Kubernetes permissions that an endpoint declares.
import type { ResourceRef } from "../../kube/api/resource-ref.ts";

/** A Kubernetes permission: verb on a kind, or on one of its (virtual) subresources. */
export interface RequiredPermission {
  verb: "get" | "create" | "update" | "patch" | "delete" | "bind";
  on: ResourceRef;
  /** E.g. `env` for the permission on `apps/env`. */
  subresource?: string;
}

/**
 * Callers that an endpoint admits. `anonymous`: anybody; the API reads no credential. `anyone`: anybody; a caller with a credential sees more.
 * `authenticated`: any caller; RBAC filters the objects. Permissions: the caller needs each of them on the object concerned. The session's `get` checks
 * them, the API server checks again, and the authorization test compares the declared with the actual.
 */
export type EndpointPermission =
  "anonymous" | "anyone" | "authenticated" | RequiredPermission | readonly RequiredPermission[];

/** All permissions that a request of one endpoint may ask for. `get` is always declared: replies name objects of any kind. */
export interface DeclaredPermissions {
  /** Method and path. */
  readonly endpoint: string;
  readonly permissions: readonly RequiredPermission[];
  /** Undeclared permissions that are in the log already. */
  readonly reported: Set<string>;
}
