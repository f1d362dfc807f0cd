// The API for writing a controller: definition, result, context and errors. run-controllers.ts runs it.
import type { Logger } from "pino";
import type { KubeClient, Draft } from "../client/client.ts";
import type { Condition, KubeObject, ObjectKey, OwnerReference } from "../api/object.ts";
import type { IndexFunction, Reader } from "../cache/reader.ts";
import type { EventDraft } from "./event-recorder.ts";
import type { ResourceRef } from "../api/resource-ref.ts";
import type { Permission } from "../rbac/resource-rules.ts";

/**
 * Waits for a change that an event reports: Ready=False with this reason, no retry, no logged error.
 * With `requeueAfterMs` the key is also requeued after a delay.
 */
export class NotReady extends Error {
  readonly reason: string;
  readonly requeueAfterMs: number | undefined;
  /** As ReadyDraft.isFailure. */
  readonly isFailure: boolean;
  constructor(
    reason: string,
    message: string,
    options: { requeueAfterMs?: number; isFailure?: boolean; cause?: unknown } = {},
  ) {
    super(message, { cause: options.cause });
    this.name = "NotReady";
    this.reason = reason;
    this.requeueAfterMs = options.requeueAfterMs;
    this.isFailure = options.isFailure ?? false;
  }
}

/** A person must act, on this object or another: Ready=False with this reason, no retry until something changes. */
export class Stalled extends Error {
  readonly reason: string;
  constructor(reason: string, message: string, options: { cause?: unknown } = {}) {
    super(message, { cause: options.cause });
    this.name = "Stalled";
    this.reason = reason;
  }
}

/** A condition as a reconcile returns it; the runtime adds times and generation. */
export type ConditionDraft = Pick<Condition, "type" | "status" | "reason" | "message">;

/** The Ready condition. `isFailure` distinguishes a failure from work in progress: it is recorded as a Warning Event, and its end as a Normal one. */
export type ReadyDraft = Omit<ConditionDraft, "type"> & { isFailure?: true };

/** The desired state around an object. Omitted fields are left alone, except children missing from `children`. */
export interface ReconcileResult {
  /**
   * Every child of the owned kinds. A child that differs from the cache is applied server-side with force; other owned objects are
   * deleted. apiVersion and kind are required. Omit `children` to leave all of them alone.
   */
  children?: readonly Draft[];
  /** Children on other clusters, for controllers with `remote`. */
  remote?: RemoteResult;
  /** Created when absent by server-side apply without force, so that nobody owns the defaults; never updated or pruned, no owner label; left out in another namespace than the owner's that is being deleted. Kinds must be in `owns` or `reads`. */
  createOnce?: readonly Draft[];
  /** As createOnce, for objects that nobody else will apply: a plain create, for which the API server works half as long. Its manager owns the defaults, too. One that exists and is not in the cache yet makes the reconcile run again. */
  create?: readonly Draft[];
  /** Top-level status fields, without conditions and observedGeneration. Undefined removes a field; omitted fields stay. */
  status?: Readonly<Record<string, unknown>>;
  /** Conditions besides Ready. An omitted condition stays as it is. */
  conditions?: readonly ConditionDraft[];
  /** The Ready condition, unless it is True/Reconciled. */
  ready?: ReadyDraft;
  /** Skips the status write, when another event will soon reconcile the object again. */
  keepStatus?: true;
  /** Labels and annotations to set; undefined removes one. Written only when they differ. */
  labels?: Readonly<Record<string, string | undefined>>;
  annotations?: Readonly<Record<string, string | undefined>>;
  /** Owner references to add, by uid. None is ever removed. */
  ownerReferences?: readonly OwnerReference[];
  /** Published spec fields that the controller may write, as a merge patch. Written only when they differ. */
  spec?: Readonly<Record<string, unknown>>;
  /** Requeue the key after this time even without a change. */
  requeueAfterMs?: number;
}

/** A terminating object that still waits, with the reason in `ready`; undefined when nothing is left to clean up. */
export type FinalizeResult = (ReconcileResult & { ready: ReadyDraft }) | undefined;

/** Children on other clusters, by the cluster's name. A cluster without an entry, and one that cannot be read now, is left alone. */
export interface RemoteResult {
  /** The id by which the children's label names their owner. */
  owner: string;
  /** As ReconcileResult.children, of each cluster. */
  children: Readonly<Record<string, readonly Draft[]>>;
  /** Objects that children need, with the marks of their own owners: created when absent, and left alone then. */
  ensured?: Readonly<Record<string, readonly Draft[]>>;
}

/** A cluster as a controller with `remote` sees it. */
export interface RemoteCluster {
  /** Cached reads of the kinds in `remote`. */
  read: Reader;
  /** For rare side effects. */
  client: KubeClient;
  /** Cached children of the owner with this id, terminating ones included. */
  listOwned: <T extends KubeObject>(ref: ResourceRef<T>, ownerId: string) => T[];
  /** How often in the last hour this replica has restored children of the owner that another writer had changed. */
  countRepairs: (ownerId: string) => RepairCount;
}

export interface RepairCount {
  count: number;
  /** When this replica began to count, in milliseconds since 1970: after a restart or a new connection it knows of nothing before. */
  since: number;
}

export interface RemoteClusters {
  /** Marks of children there. */
  readonly markers: RemoteMarkers | undefined;
  /** Undefined while the cluster is not engaged, is silent, or has a cache that cannot be read: nothing is known of it then. */
  find(name: string): RemoteCluster | undefined;
  /** Names of the engaged clusters. */
  names(): string[];
}

export interface ReconcileContext {
  /** Cached, synchronous reads of all kinds that the controller names: from its own watch where it has one of the kind, restricted or not. */
  read: Reader;
  /** For rare side effects; children and status belong into the result. */
  client: KubeClient;
  /** Other clusters; none without `remote`. */
  clusters: RemoteClusters;
  /** Records an Event about any object; never waits. Ready conditions record their own. Needs the permissions on Events. */
  recordEvent: (object: KubeObject, event: EventDraft) => void;
  now: () => Date;
  log: Logger;
  /** Aborted when the controllers stop. */
  signal: AbortSignal;
}

/** Keys to enqueue, or a query of the primary kind's indexes: every match is enqueued. */
export type MapResult = readonly ObjectKey[] | Readonly<Record<string, string | readonly string[]>>;

/** Another kind whose changes enqueue objects. Made by `watch`. */
export interface WatchRule<T extends KubeObject = KubeObject> {
  ref: ResourceRef<T>;
  /** Called with the new object and, on a change, the old one. */
  mapTo: (object: T, read: Reader) => MapResult;
  namespace?: string;
  labelSelector?: string;
  fieldSelector?: string;
  /** Reduces objects before they are cached; the same function in all rules of one kind and selector. */
  transform?: (object: T) => T;
  /** Indexes of this cache, for `read.byIndex`. */
  indexes?: Readonly<Record<string, IndexFunction<T>>>;
}

export interface RemoteDefinition {
  /** Kinds of the children. Their changes enqueue the object with their owner's key. */
  owns: readonly ResourceRef[];
  /** Kind of the children's owners, for a controller that only reads them; its own kind when left out. */
  ownerKind?: ResourceRef;
  /** Kinds that `reconcile` reads there. */
  reads?: readonly ResourceRef[];
  /** Kinds of `ensured` objects that are created and never read: each has a digest of its content in its name. */
  creates?: readonly ResourceRef[];
  /** The objects that a change of a cluster's readability concerns. */
  mapCluster: (cluster: string, read: Reader) => MapResult;
}

export interface ControllerDefinition<T extends KubeObject = KubeObject> {
  /** A unique DNS label, part of the field manager and of log lines. */
  name: string;
  /**
   * `leaderless` (default): a pure function of observed objects with deterministic names; all replicas run it.
   * `singleton`: has side effects that must not happen twice; only the leader runs it (lease/leader-work.ts).
   */
  kind?: "leaderless" | "singleton";
  for: ResourceRef<T>;
  /** Kinds of the children. A kind may be owned by several controllers. */
  owns?: readonly ResourceRef[];
  watches?: readonly WatchRule[];
  /** Children on other clusters. */
  remote?: RemoteDefinition;
  /** Kinds that `reconcile` reads, but whose changes enqueue nothing. */
  reads?: readonly ResourceRef[];
  /** Indexes on the primary kind, for map functions and `read.byIndex`. */
  indexes?: Readonly<Record<string, IndexFunction<T>>>;
  /** A predicate: the controller handles only these objects (of one class, for example) and never touches others. */
  selects?: (object: T) => boolean;
  /** Not called for terminating objects. Must not mutate cached objects. */
  reconcile: (object: T, context: ReconcileContext) => Promise<ReconcileResult> | ReconcileResult;
  /**
   * Added before the first reconcile and removed when `finalize` has nothing left to do. Requires `finalize`.
   * `needsFinalizer` restricts it to objects that need one.
   */
  finalizer?: string;
  needsFinalizer?: (object: T, context: Pick<ReconcileContext, "read" | "clusters">) => boolean;
  /** Removes the finalizer of an object that does not need it any more. */
  dropsFinalizer?: true;
  /**
   * The reconcile of a terminating object: a result is written as `reconcile`'s is, and the object waits; errors count as there, too.
   * Undefined removes the children and the finalizer. Must be idempotent. The status of an object that is no longer selected is not written.
   */
  finalize?: (object: T, context: ReconcileContext) => Promise<FinalizeResult> | FinalizeResult;
  /** The summary condition; "Ready" by default. With another name status.observedGeneration is not written. */
  condition?: string;
  /** False for kinds without our status, such as Namespaces: /status is never written. */
  writesStatus?: boolean;
  /** False for a controller that also never patches the object itself: it then has no permission to. */
  writesObject?: boolean;
  /** Keys reconciled at the same time; 12 by default. Lower it for pure status controllers, so that others go first under load. */
  workers?: number;
  /**
   * Event sources outside the cluster. Each is called once at the start and may call `enqueue` until `signal` aborts. Keys that do not
   * exist or are not selected are ignored.
   */
  sources?: readonly ((enqueue: (key: ObjectKey) => void, signal: AbortSignal) => void)[];
  /** Permissions beyond those that the definition implies: for `context.client`, and for `createOnce` of kinds that are only read. For the generated roles. */
  permissions?: readonly Permission[];
}

/** A definition without its object type, for lists of controllers. */
export type Controller = ControllerDefinition;

/** Validates the definition and erases its object type. */
export function defineController<T extends KubeObject>(definition: ControllerDefinition<T>): Controller {
  if (!/^[a-z0-9]([-a-z0-9]{0,38}[a-z0-9])?$/.test(definition.name))
    throw new Error(`controller name ${definition.name} is not a DNS label of at most 40 characters`);
  if (Boolean(definition.finalizer) !== Boolean(definition.finalize))
    throw new Error(`controller ${definition.name} needs both finalizer and finalize, or neither`);
  return definition as unknown as Controller;
}

/** A change of a `ref` object enqueues the result of `mapTo`. */
export function watch<T extends KubeObject>(
  ref: ResourceRef<T>,
  mapTo: (object: T, read: Reader) => MapResult,
  scope: Omit<WatchRule<T>, "ref" | "mapTo"> = {},
): WatchRule {
  return { ref, mapTo, ...scope } as unknown as WatchRule;
}

/** Labels and annotations by which one platform marks its children. */
export interface OwnershipMarkers {
  /** Field managers are `<fieldManagerPrefix>-<controller name>`. */
  fieldManagerPrefix: string;
  /** Label of children: the owner's uid. */
  ownerLabel: string;
  /** Label of children: the controller's name. Two controllers that own one kind leave each other's children alone. */
  controllerLabel: string;
  /** Annotation of children: the owner's key, `namespace/name`. */
  ownerAnnotation: string;
  /** Annotation of objects that no controller reconciles until it is removed. */
  pausedAnnotation?: string;
  /** Annotation of an object: the traceparent of the span that created it, where spans are made. */
  traceAnnotation?: string;
}

/** Labels and annotations of children on other clusters. `hub` tells this platform from others that use the same cluster. */
export interface RemoteMarkers {
  fieldManager: string;
  hub: string;
  /** Label of children: the hub. */
  hubLabel: string;
  /** Label of children: an id of the owner that a restored backup keeps. */
  ownerLabel: string;
  /** Annotation of children: the owner's kind and key. */
  ownerAnnotation: string;
  /** Label of a foreign object that the hub may take over: the hub. */
  adoptableLabel: string;
}
