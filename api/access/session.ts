// Reads and writes with the caller's permissions. Reads come from the cache; writes go to Kubernetes as the caller and return once the cache has them.
import type { Logger } from "pino";
import type { Draft, KubeClient, Patch } from "../../kube/client/client.ts";
import type { KubeObject } from "../../kube/api/object.ts";
import type { ResourceRef } from "../../kube/api/resource-ref.ts";
import type { AccessAttributes } from "../cache/rbac-authorizer.ts";
import type { ReviewConfig } from "./reviewed-permissions.ts";
import type { CFError } from "../http/errors.ts";
import type { DeclaredPermissions, EndpointPermission } from "./required-permission.ts";
import type { App } from "../../crds/app/app.ts";
import type { Policies } from "../../crds/policy-template/policies.ts";
import type { Caller } from "../identity/caller.ts";
import type { PeerGroup } from "../peers/peer-group.ts";
import type { ClusterCache } from "../cache/cluster-cache.ts";
import type { HeldReads } from "../cache/held-reads.ts";

export interface SessionDeps {
  cache: ClusterCache;
  /** Has the platform's own identity: for claims, and for objects that a caller may not access directly. */
  platformClient: KubeClient;
  heldReads: Pick<HeldReads, "holdWhile">;
  peers: Pick<PeerGroup, "publishWrites" | "publishObserved">;
  now: () => Date;
  log: Logger;
  /** The hostnames of this API, as far as they are known; no route may have them. */
  apiHosts: readonly string[];
  /** Whether an existing UAA gives the tokens of people. */
  usesUAA: boolean;
  /** The operator's policies in force. */
  policies: () => Policies;
  /** How permissions are reviewed; undefined where RBAC alone decides. */
  review?: ReviewConfig | undefined;
  /** Without it there are no audit events and no lines in apps' logs. */
  recorder?: SessionRecorder;
}

/** Records what sessions do. cf/audit/record-writes.ts creates it. */
export interface SessionRecorder {
  /** The writer, with a record of its writes. */
  observe(writer: SessionWriter, request: SessionRequest): SessionWriter;
  recordAppEvent(request: SessionRequest, ...event: Parameters<Session["recordAppEvent"]>): void;
  waitForOwnEvents(caller: Caller): Promise<void> | undefined;
}

/** Narrows a list to some namespaces, or to the objects under one value of an index. */
export type ListScope = { namespaces?: readonly string[]; index?: readonly [name: string, value: string] };

export interface Session {
  readonly caller: Caller;
  readonly cache: ClusterCache;
  /** The platform's own client. Only for claims, and for Secrets after `allows` returned true. */
  readonly platformClient: KubeClient;
  /** The hostnames of this API, as far as they are known; no route may have them. */
  readonly apiHosts: readonly string[];
  /** Whether an existing UAA gives the tokens of people. */
  readonly usesUAA: boolean;
  readonly signal: AbortSignal;
  readonly now: () => Date;
  /** Whether lists change only when an object or RBAC changes. */
  readonly canCacheLists: boolean;
  /**
   * Reviews the permissions that the handler may check: on each object named in `values` (parameters, query, body) and on every object of the
   * `listed` kinds. Undefined where RBAC alone decides. @throws CFError 422, 503
   */
  judge(values: readonly unknown[], listed: readonly ResourceRef[]): Promise<void> | undefined;
  /** Whether the caller is allowed this. */
  allows(asked: AccessAttributes): boolean;
  /** Throws 403 unless `allows`. */
  authorize(asked: AccessAttributes): void;
  /** Whether the caller may get this object and it holds its name. */
  canSee(ref: ResourceRef, object: KubeObject): boolean;
  /** The object with that GUID if the caller can see it. */
  find<T extends KubeObject>(ref: ResourceRef<T>, guid: string): T | undefined;
  /** Also requires the permissions that the endpoint declares on objects of this kind. @throws CFError `<Kind> not found`, or 403 */
  get<T extends KubeObject>(ref: ResourceRef<T>, guid: string): T;
  /** All objects that the caller can see, unordered. Pass filters here: they run before claims are looked up. */
  list<T extends KubeObject>(ref: ResourceRef<T>, within?: ListScope, filter?: (object: T) => boolean): T[];
  /** The namespaces in which the caller may see objects of a kind; undefined when there is no such bound. */
  visibleNamespaces(ref: ResourceRef): readonly string[] | undefined;
  /** Creates as the caller, after claiming a unique name. `taken` creates the error for a name that is taken. */
  create<T extends KubeObject>(ref: ResourceRef<T>, draft: Draft, taken?: () => CFError): Promise<T>;
  /** Patches as the caller. Pass `renamed` (`to`: the patched object) when the patch changes the CF name. */
  patch<T extends KubeObject>(
    ref: ResourceRef<T>,
    object: T,
    patch: Patch,
    renamed?: { to: T; taken: () => CFError },
  ): Promise<T>;
  /**
   * Read, modify, write: `body` returns the merge patch for the current object (undefined: nothing to change). The patch carries the resourceVersion;
   * a conflict calls `body` again with the newer object, a few times.
   */
  patchWithRetry<T extends KubeObject>(
    ref: ResourceRef<T>,
    object: T,
    body: (current: T) => Record<string, unknown> | undefined,
  ): Promise<T>;
  /**
   * Moves an object, which the claim on its name follows, to another namespace: deletes it, and creates `draft` with the same GUID. What the API server would
   * refuse is refused before anything is changed; a creation that fails all the same brings the object back. `taken` as in `create`.
   */
  move<T extends KubeObject>(ref: ResourceRef<T>, object: T, draft: Draft, taken: () => CFError): Promise<T>;
  /**
   * Runs `work` with a session that writes nothing, and returns the sentences with which operator policy denies its writes; warnings go to the client.
   * While no constraint judges any of these kinds, `work` is not run. The objects that it would write are added to `planned`, which may hold those of
   * rehearsals before.
   */
  rehearse(
    kinds: readonly ResourceRef[],
    work: (session: Session) => Promise<unknown>,
    planned?: KubeObject[],
  ): Promise<string[]>;
  /** Deletes as the caller. Resolves once every replica has observed the object deleted or terminating, or answers no request before it has. */
  delete(ref: ResourceRef, object: KubeObject): Promise<void>;
  /**
   * Holds the request while `isUnderWay` is true, a few seconds at most unless `maxMs` is given (held-reads.ts). Read the object again afterwards.
   */
  holdWhile(refs: readonly ResourceRef[], isUnderWay: () => boolean, maxMs?: number): Promise<void>;
  /** Records an audit event that is no object's write, such as a read: `type` without `audit.app.`. */
  recordAppEvent(type: string, app: App, data?: Record<string, unknown>): void;
  /** Call it before a reply shows audit events: resolves once the cache has those that this caller's requests to this replica recorded, within two seconds; undefined when it has them. */
  waitForOwnEvents(): Promise<void> | undefined;
  /** Call it before a reply shows other clients' writes: resolves once all replicas have observed of these kinds what this one has. */
  publishObserved(refs: readonly ResourceRef[]): Promise<void>;
}

/** A request, as its session needs it. `permission` is the endpoint's. */
export interface SessionRequest {
  caller: Caller;
  signal: AbortSignal;
  permission: EndpointPermission;
  /** All that the endpoint may ask. */
  declared: DeclaredPermissions;
  /** The request is not a GET. */
  writes: boolean;
  /** As X-Vcap-Request-Id answers it. */
  requestId?: string;
  /** Called with the milliseconds for which the request waited on purpose. */
  onHeld?: (milliseconds: number) => void;
  /** The parsed body, for audit events. */
  body?: unknown;
  /** The body is a manifest. */
  isManifest?: boolean;
  /** Adds an X-Cf-Warnings entry. */
  warn?: (text: string) => void;
}

export type SessionWriter = Pick<Session, "create" | "patch" | "patchWithRetry" | "move" | "delete">;
export type SessionReader = Omit<
  Session,
  keyof SessionWriter | "rehearse" | "platformClient" | "recordAppEvent" | "waitForOwnEvents" | "publishObserved"
>;
