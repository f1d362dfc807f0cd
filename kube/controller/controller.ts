// How a controller is written: definition, result, context, and the two ways to say "not now". run-controllers.ts runs them.
import type { Logger } from "pino";
import type { KubeClient, Draft } from "../client/client.ts";
import type { Condition, KubeObject, ObjectKey, OwnerReference } from "../api/object.ts";
import type { IndexFunction, Reader } from "../cache/reader.ts";
import type { ResourceRef } from "../api/resource-ref.ts";
import type { Permission } from "../rbac/resource-rules.ts";

/**
 * Waiting for something that a watch will tell us about: Ready=False with this reason, no retry, no error logged.
 * With `requeueAfterMs` it is also tried again by the clock.
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

/** A person must act (change this object or another): Ready=False with this reason, no retry until something changes. */
export class Stalled extends Error {
  readonly reason: string;
  constructor(reason: string, message: string, options: { cause?: unknown } = {}) {
    super(message, { cause: options.cause });
    this.name = "Stalled";
    this.reason = reason;
  }
}

/** A condition as a reconcile states it; times and generation are the runtime's. */
export type ConditionDraft = Pick<Condition, "type" | "status" | "reason" | "message">;

/** The Ready condition. `isFailure` tells a failure, a crash or a refusal from work under way: it is recorded as a Warning Event, and its end as a Normal one. */
export type ReadyDraft = Omit<ConditionDraft, "type"> & { isFailure?: true };

/** What the object should look like around it. Everything is optional; what is left out is left alone, but for children. */
export interface ReconcileResult {
  /**
   * All objects of the owned kinds that should exist. Applied server-side, by force, when they differ from the cache; owned objects
   * that are not named here are deleted. apiVersion and kind are needed. Leave `children` out entirely to touch none.
   */
  children?: readonly Draft[];
  /** Created when absent, by server-side apply without force, so that defaults belong to nobody; never updated, never pruned, no owner label. Kinds must be in `owns` or `reads`. */
  createOnce?: readonly Draft[];
  /** Top-level status fields. A field set to undefined is removed; one not named is left alone. Without conditions and observedGeneration. */
  status?: Readonly<Record<string, unknown>>;
  /** Further conditions beside Ready. A type once written stays until it is stated again. */
  conditions?: readonly ConditionDraft[];
  /** The Ready condition when it is not simply True/Reconciled. */
  ready?: ReadyDraft;
  /** There is nothing new to say yet, and what this waits for wakes it: its status stays as it is, instead of being written twice. */
  keepStatus?: true;
  /** Labels and annotations this object must carry; undefined removes one. Merged into metadata, only on a difference. */
  labels?: Readonly<Record<string, string | undefined>>;
  annotations?: Readonly<Record<string, string | undefined>>;
  /** Owner references this object must carry, told apart by uid. Others of it stay; none is ever removed. */
  ownerReferences?: readonly OwnerReference[];
  /** Published spec fields that the controller may write, as a merge patch on spec, only on a difference. */
  spec?: Readonly<Record<string, unknown>>;
  /** Look again after this time even if nothing changes. */
  requeueAfterMs?: number;
}

export interface ReconcileContext {
  /** Cached, synchronous, over all kinds this controller names. */
  read: Reader;
  /** For the rare side effect; children and status go through the result. */
  client: KubeClient;
  now: () => Date;
  log: Logger;
  /** Aborted when the run ends. */
  signal: AbortSignal;
}

/** Keys to look at again, or a question to an index of the `for` kind: every object filed there is looked at again. */
export type MapResult = readonly ObjectKey[] | Readonly<Record<string, string | readonly string[]>>;

/** A foreign kind whose changes wake objects. Made by `watch`. */
export interface WatchRule<T extends KubeObject = KubeObject> {
  ref: ResourceRef<T>;
  /** Called with the new and, on a change, also the old object. */
  mapTo: (object: T, read: Reader) => MapResult;
  namespace?: string;
  labelSelector?: string;
}

export interface ControllerDefinition<T extends KubeObject = KubeObject> {
  /** Unique, DNS label; it is in the field manager and the log. */
  name: string;
  /**
   * `leaderless` (unless said): a pure function of what is observed, with deterministic names; all replicas run it at once.
   * `singleton`: it has side effects that two processes must not have at once; it runs while this process leads (elected.ts).
   */
  kind?: "leaderless" | "singleton";
  for: ResourceRef<T>;
  /** Kinds of the children. A kind may be owned by several controllers. */
  owns?: readonly ResourceRef[];
  watches?: readonly WatchRule[];
  /** Kinds that reconcile reads without being woken by them. */
  reads?: readonly ResourceRef[];
  /** Indexes on the `for` kind, for Wake and for `read.byIndex`. */
  indexes?: Readonly<Record<string, IndexFunction<T>>>;
  /** Only these objects are this controller's business (a class, for example). The others are never touched by it. */
  selects?: (object: T) => boolean;
  /** Objects under deletion do not come here. Must not change what it reads. */
  reconcile: (object: T, context: ReconcileContext) => Promise<ReconcileResult> | ReconcileResult;
  /**
   * Present on the object from before the first reconcile until `finalize` has returned. Needs `finalize`.
   * `needsFinalizer` limits it to objects that need one.
   */
  finalizer?: string;
  needsFinalizer?: (object: T) => boolean;
  /** Clean-up under deletion. Returning means done; NotReady means not yet. After it, children are deleted and the finalizer is removed. Must be repeatable. */
  finalize?: (object: T, context: ReconcileContext) => Promise<void> | void;
  /** The condition that sums up; "Ready" unless said. With another name status.observedGeneration is not written. */
  condition?: string;
  /** False for kinds without our status (Namespaces, …): nothing is written to /status. */
  writesStatus?: boolean;
  /** How many of its keys are worked on at once; 12 unless said. Fewer where it only says how things stand, so that what makes apps run goes first when there is much to do. */
  workers?: number;
  /**
   * State outside the cluster that a reconcile reads: each is called once when the run starts and may then call `wake` at any
   * time, until `signal` aborts. Keys that do not exist or are not selected are ignored.
   */
  sources?: readonly ((wake: (key: ObjectKey) => void, signal: AbortSignal) => void)[];
  /** What it does to the cluster beyond what its result says: through `context.client`, and in `createOnce` of kinds that it only reads. For the generated roles. */
  permissions?: readonly Permission[];
}

/** Typed at the definition, erased for the list of controllers. */
export type Controller = ControllerDefinition;

/** Checks the definition and forgets the object type. */
export function defineController<T extends KubeObject>(definition: ControllerDefinition<T>): Controller {
  if (!/^[a-z0-9]([-a-z0-9]{0,38}[a-z0-9])?$/.test(definition.name))
    throw new Error(`controller name ${definition.name} is not a DNS label of at most 40 characters`);
  if (Boolean(definition.finalizer) !== Boolean(definition.finalize))
    throw new Error(`controller ${definition.name} needs both finalizer and finalize, or neither`);
  return definition as unknown as Controller;
}

/** A change of a `ref` object wakes what `wakes` says. */
export function watch<T extends KubeObject>(
  ref: ResourceRef<T>,
  mapTo: (object: T, read: Reader) => MapResult,
  scope: { namespace?: string; labelSelector?: string } = {},
): WatchRule {
  return { ref, mapTo, ...scope } as unknown as WatchRule;
}

/** The words that one platform puts on what its controllers make. kube/ itself knows none. */
export interface OwnershipMarkers {
  /** Field managers are `<fieldManagerPrefix>-<controller name>`. */
  fieldManagerPrefix: string;
  /** Label of children: the owner's uid. */
  ownerLabel: string;
  /** Label of children: the controller's name, so that two controllers owning one kind leave each other's children alone. */
  controllerLabel: string;
  /** Annotation of children: the owner's key, `namespace/name`. */
  ownerAnnotation: string;
}
