// A pass over a key: read, finalize or reconcile, then every write of the result. Only this file writes for controllers.
import type { Logger } from "pino";
import type { EventRecorder } from "./event-recorder.ts";
import type { OwnedObjects } from "./owned-objects.ts";
import type { KubeClient } from "../client/client.ts";
import { isConflict, isNotFound } from "../client/errors.ts";
import type { Controller, ReconcileContext, ReconcileResult } from "./controller.ts";
import {
  DONE,
  type ReconcileOutcome,
  isStaleRead,
  skipsStatusWrite,
  RECONCILED,
  toReconcileOutcome,
  toRequeue,
} from "./reconcile-outcome.ts";
import { type IsCached, type ReadSet, createReadSet } from "./recorded-reads.ts";
import type { RemoteChildren } from "./remote-children.ts";
import { flattenErrors } from "./aggregate-errors.ts";
import { createReadyEvents } from "./ready-events.ts";
import { mergeDiffNamed } from "../api/merge-diff.ts";
import { type Condition, keyOf, type KubeObject, type ObjectKey, type OwnerReference } from "../api/object.ts";
import { planStatus } from "./plan-status.ts";
import type { RequeueAction } from "./workqueue.ts";
import type { Store } from "../cache/reader.ts";
import { NotPermitted, NotSynced } from "../cache/errors.ts";
import { resourceId } from "../api/resource-ref.ts";
import type { StaleCacheMonitor } from "./stale-cache-monitor.ts";
import { hasReached } from "../api/resource-version.ts";

export interface ReconcilerOptions {
  controller: Controller;
  client: KubeClient;
  fieldManager: string;
  /** As in OwnershipMarkers. */
  pausedAnnotation?: string | undefined;
  store: Store;
  ownedObjects: OwnedObjects;
  /** For a controller with `remote`. */
  remoteChildren?: RemoteChildren | undefined;
  context: ReconcileContext;
  log: Logger;
  isCached?: IsCached;
  /** Every patch of the object carries the resourceVersion it was planned on. */
  hasOptimisticLock?: boolean;
  /** Receives keys that read a stale cache. */
  staleCaches?: StaleCacheMonitor;
  /** Receives failures and recoveries of Ready conditions. */
  events?: EventRecorder;
}

export interface Reconciler {
  /** Processes the key once; a thrown error is a fault to retry. */
  reconcile(key: ObjectKey): Promise<RequeueAction>;
  /** The owner with that uid seems deleted; its children are checked when the key is processed next. */
  ownerDeleted(key: string, uid: string): void;
  /** Keys of deleted owners that may still have children. */
  keysWithOrphans(): string[];
}

/** How long a version that the server rejected is not retried, since the watch will bring a newer one. Then once more, in case of another cause. */
const REFUSED_VERSION_TTL_MS = 5_000;

export function createReconciler(options: ReconcilerOptions): Reconciler {
  return new KeyReconciler(options);
}

class KeyReconciler implements Reconciler {
  readonly #options: ReconcilerOptions;
  /** Answers to our writes that the cache has not reached. */
  readonly #lastWrites = new Map<string, KubeObject>();
  readonly #deletedOwners = new Map<string, Set<string>>();
  /** Versions that the server rejected as outdated, by key. */
  readonly #refusedVersions = new Map<string, { version: string; at: number }>();
  readonly #readyEvents = createReadyEvents();

  constructor(options: ReconcilerOptions) {
    this.#options = options;
  }

  ownerDeleted(key: string, uid: string): void {
    this.#lastWrites.delete(uid);
    const uids = this.#deletedOwners.get(key) ?? new Set();
    this.#deletedOwners.set(key, uids.add(uid));
  }

  keysWithOrphans(): string[] {
    return [...this.#deletedOwners.keys()];
  }

  async reconcile(key: ObjectKey): Promise<RequeueAction> {
    try {
      return await this.#reconcileKey(key);
    } catch (error) {
      this.#options.staleCaches?.clear(keyOf(key));
      // Neither the object nor its status is accessible; the resumed watch enqueues it.
      if (error instanceof NotPermitted) return DONE;
      throw error;
    }
  }

  async #reconcileKey(key: ObjectKey): Promise<RequeueAction> {
    await this.#deleteOrphans(key);
    const cached = this.#options.store.find(key);
    const object = cached && this.#newest(cached);
    this.#clearRefusedVersion(key, object?.metadata.resourceVersion);
    try {
      const outcome = object ? await this.#dispatch(object) : DONE;
      this.#options.staleCaches?.clear(keyOf(key));
      return outcome;
    } catch (error) {
      if (isStaleRead(error)) return this.#retryStale(key, error);
      if (isNotFound(error) && !this.#options.store.find(key)) return DONE;
      throw error;
    }
  }

  #retryStale(key: ObjectKey, error: unknown): RequeueAction {
    const [stale] = flattenErrors(error).filter((one) => one instanceof NotSynced);
    return (
      this.#options.staleCaches?.recordStale(
        keyOf(key),
        stale?.resource ?? resourceId(this.#options.controller.for),
      ) ?? { kind: "retry" }
    );
  }

  #dispatch(object: KubeObject): Promise<RequeueAction> {
    const { controller } = this.#options;
    if (object.metadata.deletionTimestamp) return this.#finalize(object);
    if (this.#isPaused(object)) return Promise.resolve(DONE);
    if (controller.selects && !controller.selects(object)) return this.#releaseUnselected(object);
    return this.#reconcile(object);
  }

  /** The removal of the annotation enqueues it. */
  #isPaused({ metadata }: KubeObject): boolean {
    const { pausedAnnotation } = this.#options;
    return pausedAnnotation !== undefined && metadata.annotations?.[pausedAnnotation] !== undefined;
  }

  async #reconcile(found: KubeObject): Promise<RequeueAction> {
    const object = await this.#settleFinalizer(found);
    const readSet = this.#readSetFor(object);
    const context = { ...this.#options.context, read: readSet.read };
    const outcome = await withErrors(async () => toOutcome(await this.#options.controller.reconcile(object, context)));
    return this.#write(object, outcome, readSet);
  }

  /** The primary kind is included, because its watch may be the dead one. */
  #readSetFor(object: KubeObject): ReadSet {
    const { controller, context, isCached } = this.#options;
    const readSet = createReadSet(context.read, context.client, isCached);
    readSet.add(controller.for, object);
    return readSet;
  }

  async #write(object: KubeObject, outcome: ReconcileOutcome, readSet: ReadSet): Promise<RequeueAction> {
    let current = object;
    let last = outcome;
    let hasCreated = false;
    try {
      current = await this.#writeObject(object, outcome.result);
      readSet.add(this.#options.controller.for, current);
      await this.#createMissing(current, outcome.result);
      hasCreated = true;
      if (outcome.result.children)
        await this.#options.ownedObjects.sync(
          { id: current.metadata.uid ?? "", object: current },
          outcome.result.children,
          readSet.verify,
        );
      if (!(await this.#syncRemote(current, outcome.result, readSet)))
        last = { ...outcome, requeue: { kind: "retry" } };
    } catch (error) {
      if (isStaleRead(error)) throw error;
      // The status may refer to objects of `createOnce` and `create`, so it needs them to exist.
      last = { ...toReconcileOutcome(error), result: hasCreated ? outcome.result : {} };
    }
    return this.#complete(current, last);
  }

  /** False when a cluster did not answer. */
  async #syncRemote(object: KubeObject, { remote }: ReconcileResult, readSet: ReadSet): Promise<boolean> {
    const { remoteChildren } = this.#options;
    return !remote || !remoteChildren || remoteChildren.sync(object, remote, readSet.verify);
  }

  async #createMissing(object: KubeObject, { createOnce = [], create = [] }: ReconcileResult): Promise<void> {
    const { ownedObjects } = this.#options;
    if (createOnce.length > 0) await ownedObjects.createOnce(object, createOnce);
    if (create.length > 0) await ownedObjects.createOnce(object, create, "create");
  }

  async #complete(object: KubeObject, outcome: ReconcileOutcome): Promise<RequeueAction> {
    if (!skipsStatusWrite(outcome)) await this.#writeStatus(object, outcome);
    if (outcome.fault !== undefined) throw outcome.fault;
    return outcome.requeue;
  }

  async #writeObject(object: KubeObject, result: ReconcileResult): Promise<KubeObject> {
    const labels = mergeDiffNamed(object.metadata.labels, result.labels);
    const annotations = mergeDiffNamed(object.metadata.annotations, result.annotations);
    const spec = mergeDiffNamed(object["spec"] as Record<string, unknown> | undefined, result.spec);
    const owners = missingOwnerReferences(object, result.ownerReferences ?? []);
    if (!labels && !annotations && !spec && !owners) return object;
    const metadata = { ...(labels && { labels }), ...(annotations && { annotations }), ...owners };
    return this.#patch(object, { ...(Object.keys(metadata).length > 0 && { metadata }), ...(spec && { spec }) });
  }

  async #writeStatus(object: KubeObject, { result, ready }: ReconcileOutcome): Promise<void> {
    const { controller, context } = this.#options;
    if (controller.writesStatus === false) return;
    const type = controller.condition ?? "Ready";
    const conditions = [{ type, ...ready }, ...(result.conditions ?? [])];
    const body = planStatus({
      object,
      status: result.status,
      conditions,
      writesObservedGeneration: type === "Ready",
      now: context.now(),
    });
    const uid = object.metadata.uid ?? "";
    this.#readyEvents.observe(uid, ready);
    if (!body) return;
    await this.#patch(object, body, "status");
    const event = this.#readyEvents.planEvent(uid, findCondition(object, type), ready);
    if (event) this.#options.events?.record(object, this.#options.fieldManager, event);
  }

  /** Finalizes a terminating object. Without our finalizer it is none of our business. */
  async #finalize(object: KubeObject): Promise<RequeueAction> {
    const { controller, ownedObjects } = this.#options;
    if (!controller.finalizer || !object.metadata.finalizers?.includes(controller.finalizer)) return DONE;
    const readSet = this.#readSetFor(object);
    const waiting = await this.#runFinalize(object, readSet);
    if (waiting) return this.#write(object, waiting, readSet);
    await ownedObjects.remove(ownedObjects.listOwnedBy(object.metadata.uid ?? ""));
    await this.#withoutFinalizer(object, controller.finalizer);
    return DONE;
  }

  /** The object is no longer selected: remove its children and finalizer, as on deletion. */
  async #releaseUnselected(object: KubeObject): Promise<RequeueAction> {
    const { controller, ownedObjects } = this.#options;
    const readSet = this.#readSetFor(object);
    const owned = ownedObjects.listOwnedBy(object.metadata.uid ?? "");
    // A stale cache may show an outdated selection.
    if (owned.length > 0) await readSet.verify();
    await ownedObjects.remove(owned);
    if (!controller.finalizer || !object.metadata.finalizers?.includes(controller.finalizer)) return DONE;
    const waiting = await this.#runFinalize(object, readSet);
    if (waiting) return retryUnselected(waiting);
    await this.#withoutFinalizer(object, controller.finalizer);
    return DONE;
  }

  #runFinalize(object: KubeObject, readSet: ReadSet): Promise<ReconcileOutcome | undefined> {
    const context = { ...this.#options.context, read: readSet.read };
    return withErrors(async () => {
      const result = await this.#options.controller.finalize?.(object, context);
      return result && toOutcome(result);
    });
  }

  /** Deletes children of deleted owners. Asks the server, because another replica's owner may be newer than our cache. */
  async #deleteOrphans(key: ObjectKey): Promise<void> {
    const id = key.namespace ? `${key.namespace}/${key.name}` : key.name;
    const { ownedObjects, client, controller } = this.#options;
    for (const uid of this.#deletedOwners.get(id) ?? []) {
      // Kubernetes garbage-collects children with an owner reference.
      const orphans = ownedObjects
        .listOwnedBy(uid)
        .filter(({ child }) => !child.metadata.ownerReferences?.some((reference) => reference.uid === uid));
      const owner = orphans.length > 0 ? await client.find(controller.for, key) : undefined;
      if (owner?.metadata.uid !== uid) await ownedObjects.remove(orphans);
      this.#deletedOwners.get(id)?.delete(uid);
    }
    if (this.#deletedOwners.get(id)?.size === 0) this.#deletedOwners.delete(id);
  }

  /** Adds the finalizer to an object that needs it, and removes it from one that does not any more. */
  async #settleFinalizer(object: KubeObject): Promise<KubeObject> {
    const { controller, context } = this.#options;
    const { finalizer, needsFinalizer, dropsFinalizer } = controller;
    if (finalizer === undefined) return object;
    const hasFinalizer = object.metadata.finalizers?.includes(finalizer) ?? false;
    if (hasFinalizer && !dropsFinalizer) return object;
    const isNeeded = needsFinalizer?.(object, context) ?? true;
    if (isNeeded === hasFinalizer) return object;
    if (isNeeded) return this.#withFinalizer(object);
    await this.#withoutFinalizer(object, finalizer);
    return this.#newest(object);
  }

  #withFinalizer(object: KubeObject): Promise<KubeObject> {
    const finalizers = [...(object.metadata.finalizers ?? []), this.#options.controller.finalizer];
    return this.#patch(object, { metadata: { resourceVersion: object.metadata.resourceVersion, finalizers } });
  }

  async #withoutFinalizer(object: KubeObject, finalizer: string): Promise<void> {
    const current = this.#newest(object);
    const finalizers = (current.metadata.finalizers ?? []).filter((name) => name !== finalizer);
    try {
      await this.#patch(current, { metadata: { resourceVersion: current.metadata.resourceVersion, finalizers } });
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }

  async #patch(object: KubeObject, body: Record<string, unknown>, subresource?: string): Promise<KubeObject> {
    const { client, controller, fieldManager, hasOptimisticLock } = this.#options;
    const metadata = {
      ...(hasOptimisticLock && { resourceVersion: object.metadata.resourceVersion }),
      ...(body["metadata"] as { resourceVersion?: string } | undefined),
    };
    this.#requireNotRefused(object, metadata.resourceVersion);
    const sent = Object.keys(metadata).length > 0 ? { ...body, metadata } : body;
    const answer = await client
      .patch(
        controller.for,
        object.metadata,
        { type: "merge", body: sent },
        { fieldManager, ...(subresource && { subresource }) },
      )
      .catch((error: unknown) => {
        if (metadata.resourceVersion !== undefined && isConflict(error))
          this.#refusedVersions.set(keyOf(object.metadata), {
            version: metadata.resourceVersion,
            at: performance.now(),
          });
        throw error;
      });
    const { uid, deletionTimestamp, finalizers } = answer.metadata;
    // After the last finalizer the object is deleted, and no event may come to forget it here.
    if (uid && !(deletionTimestamp && !finalizers?.length)) this.#lastWrites.set(uid, answer);
    return answer;
  }

  #clearRefusedVersion(key: ObjectKey, version: string | undefined): void {
    if (this.#refusedVersions.get(keyOf(key))?.version !== version) this.#refusedVersions.delete(keyOf(key));
  }

  /** The cache lags behind, so the server would reject the patch again. @throws NotSynced */
  #requireNotRefused({ metadata }: KubeObject, version: string | undefined): void {
    const refused = this.#refusedVersions.get(keyOf(metadata));
    if (
      version === undefined ||
      refused?.version !== version ||
      performance.now() - refused.at > REFUSED_VERSION_TTL_MS
    )
      return;
    throw new NotSynced(resourceId(this.#options.controller.for), metadata.namespace);
  }

  /** The cached object, or the answer to our last write while the cache lags behind it. */
  #newest(cached: KubeObject): KubeObject {
    const uid = cached.metadata.uid ?? "";
    const written = this.#lastWrites.get(uid);
    if (!written) return cached;
    if (!hasReached(cached.metadata.resourceVersion ?? "", written.metadata.resourceVersion ?? "")) return written;
    this.#lastWrites.delete(uid);
    return cached;
  }
}

function toOutcome(result: ReconcileResult): ReconcileOutcome {
  return { result, ready: result.ready ?? RECONCILED, requeue: toRequeue(result.requeueAfterMs) };
}

async function withErrors<T>(step: () => Promise<T>): Promise<T | ReconcileOutcome> {
  try {
    return await step();
  } catch (error) {
    return toReconcileOutcome(error);
  }
}

/** Its status is another controller's by now, and its events are none of ours. */
function retryUnselected({ fault, requeue }: ReconcileOutcome): RequeueAction {
  if (fault !== undefined) throw fault;
  return requeue === DONE ? { kind: "retry" } : requeue;
}

function findCondition(object: KubeObject, type: string): Condition | undefined {
  const status = object["status"] as { conditions?: Condition[] } | undefined;
  return status?.conditions?.find((condition) => condition.type === type);
}

/** The patch replaces the whole list, so it carries resourceVersion. */
function missingOwnerReferences(
  { metadata }: KubeObject,
  wanted: readonly OwnerReference[],
): { ownerReferences: OwnerReference[]; resourceVersion: string | undefined } | undefined {
  const have = metadata.ownerReferences ?? [];
  const missing = wanted.filter(({ uid }) => !have.some((owner) => owner.uid === uid));
  return missing.length > 0
    ? { ownerReferences: [...have, ...missing], resourceVersion: metadata.resourceVersion }
    : undefined;
}
