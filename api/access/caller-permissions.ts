// What one request's caller may do. By RBAC the answers come from memory at once; by review they are judged before the handler runs.
import type { KubeObject } from "../../kube/api/object.ts";
import type { ResourceRef } from "../../kube/api/resource-ref.ts";
import type { Caller } from "../identity/caller.ts";
import type { AccessAttributes } from "./rbac-authorizer.ts";
import type { ReviewTargets } from "./review-targets.ts";

export interface CallerPermissions {
  /** Whether the caller may. By review: no, unless it was judged before. */
  allows(asked: AccessAttributes): boolean;
  /** As `allows`, and reviewed now if it was not judged before. */
  decide(asked: AccessAttributes): Promise<boolean>;
  /** Those of the objects of a kind that the caller may get. */
  filterVisible<T extends KubeObject>(ref: ResourceRef<T>, objects: Iterable<T>): T[];
  /** Namespaces outside of which the caller can see nothing of a kind; undefined when it may be anywhere. */
  visibleNamespaces(ref: ResourceRef): readonly string[] | undefined;
  /** Reviews what the handler may ask about these. @throws CFError 422 when that takes too many reviews, 503 when the API server does not answer */
  judge?(targets: ReviewTargets): Promise<void>;
  /** Reviews what the handler may ask about a namespace that it writes in. */
  judgeNamespace?(namespace: string): Promise<void>;
  /** Whether equal questions have equal answers until RBAC changes, so that lists may be remembered. */
  readonly isCacheable: boolean;
}

export interface PermissionsRequest {
  caller: Caller;
  signal: AbortSignal;
  /** It is no GET. */
  writes: boolean;
}
