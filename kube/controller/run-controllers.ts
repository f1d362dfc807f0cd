// Runs a list of controllers on one set of watches: wakes keys, works on them, and stops cleanly.
import type { Logger } from "pino";
import { createOwnedObjects } from "./owned-objects.ts";
import type { KubeClient } from "../client/client.ts";
import type { Controller, OwnershipMarkers, ReconcileContext, MapResult } from "./controller.ts";
import { keyOf, type KubeObject, type ObjectKey, parseKey } from "../api/object.ts";
import type { Term } from "../lease/leader-election.ts";
import { untilAborted } from "../client/until-aborted.ts";
import { createWorkqueue, LOW_PRIORITY, type Workqueue } from "./workqueue.ts";
import type { Change, Store } from "../cache/reader.ts";
import { NotPermitted, NotSynced } from "../cache/errors.ts";
import { createReconciler, type Reconciler } from "./reconciler.ts";
import { resourceId, type ResourceRef } from "../api/resource-ref.ts";
import { onReadabilityChange } from "../cache/readability-changes.ts";
import { createStaleCacheMonitor } from "./stale-cache-monitor.ts";
import { listUnsyncedWatches, cacheUntilStateChange, type UnsyncedController } from "../cache/unsynced-watches.ts";
import type { InformerHandle, Informers } from "../cache/informers.ts";

/** Keys that a controller works on at once: it mostly waits for the API server. */
const DEFAULT_WORKERS = 12;

export interface RunControllersOptions {
  client: KubeClient;
  controllers: readonly Controller[];
  informers: Informers;
  ownership: OwnershipMarkers;
  /** Aborting it stops all controllers; work in progress is finished. */
  signal: AbortSignal;
  log: Logger;
  /** The term of leadership that these controllers run in. Every write then names the version it was decided on, so that a leader of before cannot undo what the next one did. */
  term?: Term;
  now?: () => Date;
}

export interface ControllerRun {
  /** Every controller has its caches filled and has begun. Pending as long as one of its watches is parked. Rejects when stopped before that. */
  readonly synced: Promise<void>;
  /** All work has ended after the signal. */
  readonly stopped: Promise<void>;
  /** Watches that controllers cannot read now: those that have not begun for it, and those that were cut off later. The very same array while nothing changes. */
  unsyncedControllers(): readonly UnsyncedController[];
  /** Kinds whose cache stays behind the API server while objects wait for it: a watch that is silent, or an object that changes faster than it is seen. In order. */
  staleKinds(): readonly string[];
  /** Resolves when no key is ready or in work in any controller (delayed keys do not count). For tests and readiness. */
  idle(): Promise<void>;
}

/** Starts at once and returns at once. A controller begins when all its own watches are synced, whatever the others do. */
export function runControllers(options: RunControllersOptions): ControllerRun {
  const names = new Set(options.controllers.map(({ name }) => name));
  if (names.size !== options.controllers.length) throw new Error("two controllers have the same name");
  const fullyWatched = fullyWatchedKinds(options.controllers);
  const running = options.controllers.map((controller) => startController(controller, options, fullyWatched));
  const unsynced = cacheUntilStateChange(
    running.flatMap(({ stores }) => stores),
    () => running.flatMap(unsyncedControllerOf),
  );
  const stopped = Promise.all(running.map((each) => each.stopped)).then(unsynced.close);
  const synced = Promise.all(running.map((each) => each.synced)).then(() => undefined);
  // Whoever does not ask about `synced` must not die of it.
  synced.catch(() => undefined);
  return {
    synced,
    stopped,
    unsyncedControllers: unsynced.compute,
    staleKinds: () => [...new Set(running.flatMap(({ staleKinds }) => staleKinds()))].sort(),
    async idle() {
      do await Promise.all(running.map(({ queue }) => queue.idle()));
      while (running.some(({ queue }) => !queue.isIdle));
    },
  };
}

/** Kinds that are watched whole for another reason than being owned. The others are watched only as far as they carry the controller label. */
function fullyWatchedKinds(controllers: readonly Controller[]): Set<string> {
  const refs = controllers.flatMap(({ for: own, reads = [], watches = [] }) => [
    own,
    ...reads,
    ...watches.filter((rule) => !rule.labelSelector && !rule.namespace).map((rule) => rule.ref),
  ]);
  return new Set(refs.map(resourceId));
}

function unsyncedControllerOf({ name, stores }: RunningController): UnsyncedController[] {
  const watches = listUnsyncedWatches(stores);
  return watches.length > 0 ? [{ controller: name, watches }] : [];
}

interface RunningController {
  name: string;
  /** All that it reads. */
  stores: readonly Store[];
  staleKinds: () => readonly string[];
  queue: Workqueue;
  synced: Promise<void>;
  stopped: Promise<void>;
}

interface Wiring {
  controller: Controller;
  options: RunControllersOptions;
  primary: Store;
  owned: readonly Store[];
  handles: InformerHandle<KubeObject>[];
  queue: Workqueue;
  reconciler: Reconciler;
}

function startController(
  controller: Controller,
  options: RunControllersOptions,
  fullyWatched: Set<string>,
): RunningController {
  const { client, informers, ownership, signal, term, now = () => new Date() } = options;
  const log = options.log.child({ controller: controller.name });
  const fieldManager = `${ownership.fieldManagerPrefix}-${controller.name}`;
  const handles: InformerHandle<KubeObject>[] = [];
  const ensure = (ref: ResourceRef, request: Parameters<Informers["ensure"]>[1] = {}): Store => {
    const handle = informers.ensure(ref, request);
    handles.push(handle);
    return handle.store;
  };
  const primary = ensure(controller.for, { indexes: controller.indexes ?? {} });
  const owned = (controller.owns ?? []).map((ref) =>
    ensure(ref, {
      keepFieldsOf: managersOf(ref, options),
      ...(!fullyWatched.has(resourceId(ref)) && { labelSelector: ownership.controllerLabel }),
    }),
  );
  const reads = (controller.reads ?? []).map((ref) => ensure(ref));
  const mappedWatches = (controller.watches ?? []).map(({ ref, mapTo, namespace, labelSelector }) => ({
    mapTo,
    store: ensure(ref, { ...(namespace && { namespace }), ...(labelSelector && { labelSelector }) }),
  }));

  const completeStores = [primary, ...reads, ...mappedWatches.map(({ store }) => store)].filter((store) =>
    fullyWatched.has(resourceId(store.ref)),
  );
  const ownedObjects = createOwnedObjects({
    client,
    ownership,
    controller: controller.name,
    ownerRef: controller.for,
    stores: owned,
    completeStores,
  });
  const context: ReconcileContext = { read: informers.read, client, now, log, signal };
  const staleCaches = createStaleCacheMonitor({ log, reopen: (resource) => informers.reopen(resource) });
  const reconciler = createReconciler({
    controller,
    client,
    fieldManager,
    store: primary,
    ownedObjects,
    context,
    log,
    hasOptimisticLock: term !== undefined,
    staleCaches,
  });
  const queue = createWorkqueue({
    workers: controller.workers ?? DEFAULT_WORKERS,
    process: (id) => reconciler.reconcile(parseKey(id)),
    onFault: (key, err) => log.warn({ key, err }, "reconcile failed; it is tried again"),
  });
  const wiring: Wiring = { controller, options, primary, owned, handles, queue, reconciler };
  const synced = startWhenSynced(wiring, mappedWatches);
  const stopped = stopOnAbort(wiring, synced);
  return {
    name: controller.name,
    stores: handles.map(({ store }) => store),
    staleKinds: () => staleCaches.staleKinds,
    queue,
    synced,
    stopped,
  };
}

/** The field managers of all controllers that own the kind, so that the first list serves all of them. */
function managersOf(ref: ResourceRef, { controllers, ownership }: RunControllersOptions): string[] {
  const owners = controllers.filter(({ owns = [] }) => owns.some((owned) => resourceId(owned) === resourceId(ref)));
  return owners.map(({ name }) => `${ownership.fieldManagerPrefix}-${name}`);
}

interface MappedWatch {
  store: Store;
  mapTo: (object: KubeObject, read: Informers["read"]) => MapResult;
}

async function startWhenSynced(wiring: Wiring, mappedWatches: readonly MappedWatch[]): Promise<void> {
  const { handles, primary, owned, queue, options } = wiring;
  const stores = handles.map(({ store }) => store);
  do {
    await waitSynced(stores, options.signal);
    await Promise.all(handles.map(({ fieldsKept }) => fieldsKept));
    // One may have gone out of sight meanwhile, and of what is as it was when it comes back nobody is told.
  } while (!stores.every(({ synced }) => synced));
  addEventHandlers(wiring, mappedWatches);
  for (const source of wiring.controller.sources ?? []) source((key) => void queue.add(keyOf(key)), options.signal);
  for (const object of primary.list({ partial: true })) queue.add(keyOf(object.metadata), { priority: LOW_PRIORITY });
  for (const store of owned) enqueueOrphans(wiring, store);
}

/** All at the same time. */
function waitSynced(stores: readonly Store[], signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const check = () => {
      const missing = stores.find(({ synced }) => !synced);
      if (missing && !signal.aborted) return;
      signal.removeEventListener("abort", check);
      stops.forEach((stop) => stop());
      if (missing) reject(new Error(`stopped before ${resourceId(missing.ref)} was synced`));
      else resolve();
    };
    const stops = stores.map((store) => store.onStateChange(check));
    signal.addEventListener("abort", check);
    check();
  });
}

function addEventHandlers(wiring: Wiring, mappedWatches: readonly MappedWatch[]): void {
  const { primary, owned, queue, reconciler, options, handles } = wiring;
  const unsubscribe = [
    primary.onChange((change) => {
      const key = keyOf(change.object.metadata);
      if (change.type === "deleted") reconciler.ownerDeleted(key, change.old.metadata.uid ?? "");
      queue.add(key, priorityOf(change));
    }),
    ...owned.map((store) => store.onChange((change) => enqueueOwners(wiring, change))),
    ...mappedWatches.map((rule) => rule.store.onChange((change) => enqueueMapped(wiring, rule, change))),
    onReadabilityChange([...new Set(handles.map(({ store }) => store))], () => enqueueAll(wiring)),
  ];
  options.signal.addEventListener("abort", () => unsubscribe.forEach((stop) => stop()), { once: true });
}

function enqueueMapped(wiring: Wiring, { mapTo }: MappedWatch, change: Change<KubeObject>): void {
  try {
    for (const object of objectsIn(change))
      enqueue(wiring, mapTo(object, wiring.options.informers.read), priorityOf(change));
  } catch (error) {
    if (!isUnreadable(error)) throw error;
    // Whom it concerns cannot be told without what is out of sight, so it may concern anybody.
    enqueueAll(wiring);
  }
}

function isUnreadable(error: unknown): boolean {
  return error instanceof NotSynced || error instanceof NotPermitted;
}

function enqueueAll(wiring: Wiring): void {
  const { primary, owned, queue, reconciler } = wiring;
  if (primary.synced)
    for (const object of primary.list({ partial: true })) queue.add(keyOf(object.metadata), { priority: LOW_PRIORITY });
  for (const key of reconciler.keysWithOrphans()) queue.add(key, { priority: LOW_PRIORITY });
  for (const store of owned) enqueueOrphans(wiring, store);
}

/** The contents of a change. Of those who went while they were out of sight there are none; that they were is told by another way. */
function objectsIn(change: Change<KubeObject>): KubeObject[] {
  if (change.type === "added") return [change.object];
  if (change.evicted) return change.type === "modified" ? [change.object] : [];
  return [change.object, change.old];
}

function priorityOf(change: Change<KubeObject>): { priority: number } {
  return { priority: change.initial ? LOW_PRIORITY : 0 };
}

function enqueueOwners(wiring: Wiring, change: Change<KubeObject>): void {
  const { queue, options, controller } = wiring;
  for (const { metadata } of objectsIn(change)) {
    if (metadata.labels?.[options.ownership.controllerLabel] !== controller.name) continue;
    const owner = ownerOf(wiring, metadata.labels[options.ownership.ownerLabel] ?? "");
    if (owner !== "unknown" && owner) queue.add(keyOf(owner.metadata), priorityOf(change));
  }
}

/** "unknown" when there may be one that we cannot see. */
function ownerOf({ primary }: Wiring, uid: string): KubeObject | undefined | "unknown" {
  try {
    return primary.byUid(uid);
  } catch (error) {
    if (isUnreadable(error)) return "unknown";
    throw error;
  }
}

function enqueue({ primary, queue }: Wiring, mapped: MapResult, priority: { priority: number }): void {
  if (isKeys(mapped)) {
    for (const key of mapped) queue.add(keyOf(key), priority);
    return;
  }
  try {
    const asked = Object.entries(mapped).flatMap(([index, values]) =>
      [values].flat().map((value) => ({ index, value })),
    );
    for (const object of asked.flatMap(({ index, value }) => primary.byIndex(index, value)))
      queue.add(keyOf(object.metadata), priority);
  } catch (error) {
    // Our own kind cannot be seen now; when it can, every object of it is looked at anyway.
    if (!isUnreadable(error)) throw error;
  }
}

function isKeys(mapped: MapResult): mapped is readonly ObjectKey[] {
  return Array.isArray(mapped);
}

/** Children whose owner went while nobody was looking. */
function enqueueOrphans(wiring: Wiring, store: Store): void {
  const { queue, reconciler, options, controller } = wiring;
  const { ownerLabel, controllerLabel, ownerAnnotation } = options.ownership;
  if (!store.synced) return;
  for (const { metadata } of listReadable(store, controllerLabel, controller.name)) {
    const uid = metadata.labels?.[ownerLabel];
    const key = metadata.annotations?.[ownerAnnotation];
    if (!uid || !key || ownerOf(wiring, uid)) continue;
    reconciler.ownerDeleted(key, uid);
    queue.add(key, { priority: LOW_PRIORITY });
  }
}

/** What of it is in sight, whoever else may be out of it. */
function listReadable(store: Store, label: string, value: string): KubeObject[] {
  try {
    return store.list({ labels: { [label]: value } });
  } catch (error) {
    // A namespace may be out of sight, or not be listed yet; this must not fail for it, since nobody is there to try again.
    if (!isUnreadable(error)) throw error;
    return store.list({ partial: true }).filter(({ metadata }) => metadata.labels?.[label] === value);
  }
}

async function stopOnAbort({ queue, handles, options }: Wiring, synced: Promise<void>): Promise<void> {
  await untilAborted(options.signal);
  await queue.close();
  await synced.catch(() => undefined);
  for (const handle of handles) handle.release();
}
