// The permissions of one request's caller. RBAC answers at once from the cache; reviews are made before the handler runs.
import type { KubeObject } from "../../kube/api/object.ts";
import type { ResourceRef } from "../../kube/api/resource-ref.ts";
import type { Caller } from "../identity/caller.ts";
import type { AccessAttributes } from "../cache/rbac-authorizer.ts";
import type { DeclaredPermissions } from "./required-permission.ts";
import type { ReviewTargets } from "./review-targets.ts";

export interface CallerPermissions {
  /** Whether the caller is allowed this. By review: false unless it was reviewed before. */
  allows(asked: AccessAttributes): boolean;
  /** As `allows`, but reviews now when there is no answer yet. */
  decide(asked: AccessAttributes): Promise<boolean>;
  /** The objects that the caller may get. */
  filterVisible<T extends KubeObject>(ref: ResourceRef<T>, objects: Iterable<T>): T[];
  /** The namespaces in which the caller may see objects of a kind; undefined when there is no such bound. */
  visibleNamespaces(ref: ResourceRef): readonly string[] | undefined;
  /** Reviews the permissions that the handler may check on these. @throws CFError 422 for too many reviews, 503 when the API server does not answer */
  judge?(targets: ReviewTargets): Promise<void>;
  /** Reviews the permissions that the handler may check in a namespace that it writes to. */
  judgeNamespace?(namespace: string): Promise<void>;
  /** Whether answers change only when RBAC changes, so that lists can be cached. */
  readonly isCacheable: boolean;
}

export interface PermissionsRequest {
  caller: Caller;
  signal: AbortSignal;
  /** Permissions that the endpoint may ask for. */
  declared: DeclaredPermissions;
  /** The request is not a GET. */
  writes: boolean;
}
