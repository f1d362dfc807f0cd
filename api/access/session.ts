// Reads and writes with the caller's rights. Reads are answered from memory; writes go to Kubernetes as the caller, and are seen here before they are answered.
import type { Draft, KubeClient, Patch } from "../../kube/client/client.ts";
import type { KubeObject } from "../../kube/api/object.ts";
import type { ResourceRef } from "../../kube/api/resource-ref.ts";
import type { AccessAttributes } from "./rbac-authorizer.ts";
import type { ReviewConfig } from "./reviewed-permissions.ts";
import type { CFError } from "../http/errors.ts";
import type { EndpointPermission } from "./required-permission.ts";
import type { LogEntry } from "../../telemetry/envelope.ts";
import type { Caller } from "../identity/caller.ts";
import type { PeerGroup } from "../peers/peer-group.ts";
import type { ClusterCache } from "../cache/cluster-cache.ts";
import type { HeldReads } from "../cache/held-reads.ts";

/** Keeps a line; never blocks, never throws. */
export type AppLog = (entry: LogEntry) => void;

export interface SessionDeps {
  cache: ClusterCache;
  /** The platform's own identity: reads for nobody, writes claims and what a caller may not touch directly. */
  platformClient: KubeClient;
  heldReads: Pick<HeldReads, "holdWhile">;
  peers: Pick<PeerGroup, "publishWrites" | "publishObserved">;
  now: () => Date;
  /** Takes the lines of apps' logs, where this process keeps any. */
  appLog?: AppLog;
  /** Where rights are reviewed by the cluster's authorizers; undefined where RBAC alone decides. */
  review?: ReviewConfig | undefined;
}

/** Narrows a list to a few namespaces, or to what an index files under a value. */
export type ListScope = { namespaces?: readonly string[]; index?: readonly [name: string, value: string] };

export interface Session {
  readonly caller: Caller;
  readonly cache: ClusterCache;
  /** The platform's own client. Only for claims, and for Secrets after `allows` said yes. */
  readonly platformClient: KubeClient;
  readonly signal: AbortSignal;
  readonly now: () => Date;
  /** Whether equal lists are equal until an object or RBAC changes. */
  readonly canCacheLists: boolean;
  /**
   * Judges what the handler may ask, where permissions are reviewed: on all that `values` (parameters, query, body) name, and on every object of the
   * kinds that it lists. Undefined where RBAC alone decides. @throws CFError 422, 503
   */
  judge(values: readonly unknown[], listed: readonly ResourceRef[]): Promise<void> | undefined;
  /** Whether the caller is allowed this. */
  allows(asked: AccessAttributes): boolean;
  /** Throws 403 unless `allows`. */
  authorize(asked: AccessAttributes): void;
  /** Whether the caller may get this object, and it is in force. */
  canSee(ref: ResourceRef, object: KubeObject): boolean;
  /** The object with that GUID if the caller sees it. */
  find<T extends KubeObject>(ref: ResourceRef<T>, guid: string): T | undefined;
  /** Also requires the rights that the endpoint declares on objects of this kind. @throws CFError `<Kind> not found`, or 403 */
  get<T extends KubeObject>(ref: ResourceRef<T>, guid: string): T;
  /** All the caller sees, in no order. Pass filters here: they run before claims are looked up. */
  list<T extends KubeObject>(ref: ResourceRef<T>, within?: ListScope, filter?: (object: T) => boolean): T[];
  /** Namespaces outside of which the caller sees nothing of a kind; undefined when it may be any. */
  visibleNamespaces(ref: ResourceRef): readonly string[] | undefined;
  /** Creates as the caller. Kinds with unique names are claimed first; `taken` makes the loser's error. */
  create<T extends KubeObject>(ref: ResourceRef<T>, draft: Draft, taken?: () => CFError): Promise<T>;
  /** Patches as the caller. Give `renamed` (the object as it will be) when that changes the CF name. */
  patch<T extends KubeObject>(
    ref: ResourceRef<T>,
    object: T,
    patch: Patch,
    renamed?: { to: T; taken: () => CFError },
  ): Promise<T>;
  /**
   * Read, modify, write: `body` makes the merge patch from the object as it is (undefined: nothing to do). The version goes along; when somebody was
   * quicker it is made again from the newer object, a few times.
   */
  patchWithRetry<T extends KubeObject>(
    ref: ResourceRef<T>,
    object: T,
    body: (current: T) => Record<string, unknown> | undefined,
  ): Promise<T>;
  /** Deletes as the caller; returns once the object is gone or terminating at every replica, or none answers before it is. */
  delete(ref: ResourceRef, object: KubeObject): Promise<void>;
  /**
   * Holds the request while the object it asks for is under way, a few seconds at most (held-reads.ts). Read the object again afterwards.
   */
  holdWhile(refs: readonly ResourceRef[], isUnderWay: () => boolean): Promise<void>;
  /** To be called before answering with what others have written: all replicas have then seen of these kinds what this one has. */
  publishObserved(refs: readonly ResourceRef[]): Promise<void>;
}

/** What one request brings to its session. `permission` is the endpoint's. */
export interface SessionRequest {
  caller: Caller;
  signal: AbortSignal;
  permission: EndpointPermission;
  /** Whether it may change anything: it is no GET. */
  writes: boolean;
}

export type SessionWriter = Pick<Session, "create" | "patch" | "patchWithRetry" | "delete" | "publishObserved">;
export type SessionReader = Omit<Session, keyof SessionWriter | "platformClient">;
