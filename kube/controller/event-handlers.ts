// Event handlers of one controller: which keys a change in a cache enqueues.
import { keyOf, type KubeObject, type ObjectKey } from "../api/object.ts";
import { isUnreadable } from "../cache/errors.ts";
import { onReadabilityChange } from "../cache/readability-changes.ts";
import type { Change, Reader, Store } from "../cache/reader.ts";
import type { Controller, MapResult, OwnershipMarkers } from "./controller.ts";
import type { Reconciler } from "./reconciler.ts";
import { LOW_PRIORITY, type Workqueue } from "./workqueue.ts";

/** A cache whose changes a map function turns into keys. */
export interface MappedWatch {
  store: Store;
  mapTo: (object: KubeObject, read: Reader) => MapResult;
}

export interface RunningHandlers {
  controller: Controller;
  /** Cache of the controller's own kind. */
  primary: Store;
  owned: readonly Store[];
  mappedWatches: readonly MappedWatch[];
  /** All caches, the above included. */
  stores: readonly Store[];
  read: Reader;
  ownership: OwnershipMarkers;
  queue: Workqueue;
  reconciler: Reconciler;
  /** Aborting it removes the handlers. */
  signal: AbortSignal;
}

/** Subscribes to all caches of the controller, then enqueues every object and orphan that they hold. */
export function startEventHandlers(running: RunningHandlers): void {
  const { controller, primary, owned, queue, signal } = running;
  addEventHandlers(running);
  for (const source of controller.sources ?? []) source((key) => void queue.add(keyOf(key)), signal);
  for (const object of primary.list({ partial: true })) queue.add(keyOf(object.metadata), { priority: LOW_PRIORITY });
  for (const store of owned) enqueueOrphans(running, store);
}

function addEventHandlers(running: RunningHandlers): void {
  const { primary, owned, mappedWatches, stores, queue, reconciler, signal } = running;
  const unsubscribe = [
    primary.onChange((change) => {
      const key = keyOf(change.object.metadata);
      if (change.type === "deleted") reconciler.ownerDeleted(key, change.old.metadata.uid ?? "");
      queue.add(key, priorityOf(change));
    }),
    ...owned.map((store) => store.onChange((change) => enqueueOwners(running, change))),
    ...mappedWatches.map((rule) => rule.store.onChange((change) => enqueueMapped(running, rule, change))),
    onReadabilityChange([...new Set(stores)], () => enqueueAll(running)),
  ];
  signal.addEventListener("abort", () => unsubscribe.forEach((stop) => stop()), { once: true });
}

function enqueueMapped(running: RunningHandlers, { mapTo }: MappedWatch, change: Change<KubeObject>): void {
  try {
    for (const object of objectsIn(change)) enqueue(running, mapTo(object, running.read), priorityOf(change));
  } catch (error) {
    if (!isUnreadable(error)) throw error;
    // The map function needs a cache that cannot be read, so the change may concern any object.
    enqueueAll(running);
  }
}

/** Enqueues what a map function returns, for a change outside the controller's own caches. */
export function enqueueMapResult(running: RunningHandlers, map: (read: Reader) => MapResult): void {
  try {
    enqueue(running, map(running.read), { priority: LOW_PRIORITY });
  } catch (error) {
    // Every object is enqueued when the cache can be read again.
    if (!isUnreadable(error)) throw error;
  }
}

function enqueueAll(running: RunningHandlers): void {
  const { primary, owned, queue, reconciler } = running;
  if (primary.synced)
    for (const object of primary.list({ partial: true })) queue.add(keyOf(object.metadata), { priority: LOW_PRIORITY });
  for (const key of reconciler.keysWithOrphans()) queue.add(key, { priority: LOW_PRIORITY });
  for (const store of owned) enqueueOrphans(running, store);
}

/** The objects of a change. An evicted one has no content; onReadabilityChange covers it. */
function objectsIn(change: Change<KubeObject>): KubeObject[] {
  if (change.type === "added") return [change.object];
  if (change.evicted) return change.type === "modified" ? [change.object] : [];
  return [change.object, change.old];
}

function priorityOf(change: Change<KubeObject>): { priority: number } {
  return { priority: change.initial ? LOW_PRIORITY : 0 };
}

function enqueueOwners(running: RunningHandlers, change: Change<KubeObject>): void {
  const { queue, ownership, controller } = running;
  for (const { metadata } of objectsIn(change)) {
    if (metadata.labels?.[ownership.controllerLabel] !== controller.name) continue;
    const owner = ownerOf(running, metadata.labels[ownership.ownerLabel] ?? "");
    if (owner !== "unknown" && owner) queue.add(keyOf(owner.metadata), priorityOf(change));
  }
}

/** "unknown" while the owner's cache cannot be read. */
function ownerOf({ primary }: RunningHandlers, uid: string): KubeObject | undefined | "unknown" {
  try {
    return primary.byUid(uid);
  } catch (error) {
    if (isUnreadable(error)) return "unknown";
    throw error;
  }
}

function enqueue({ primary, queue }: RunningHandlers, mapped: MapResult, priority: { priority: number }): void {
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
    // When the primary cache can be read again, every object is enqueued anyway.
    if (!isUnreadable(error)) throw error;
  }
}

function isKeys(mapped: MapResult): mapped is readonly ObjectKey[] {
  return Array.isArray(mapped);
}

/** Enqueues children whose owner was deleted while the cache was not synced. */
function enqueueOrphans(running: RunningHandlers, store: Store): void {
  const { queue, reconciler, ownership, controller } = running;
  const { ownerLabel, controllerLabel, ownerAnnotation } = ownership;
  if (!store.synced) return;
  for (const { metadata } of listReadable(store, controllerLabel, controller.name)) {
    const uid = metadata.labels?.[ownerLabel];
    const key = metadata.annotations?.[ownerAnnotation];
    if (!uid || !key || ownerOf(running, uid)) continue;
    reconciler.ownerDeleted(key, uid);
    queue.add(key, { priority: LOW_PRIORITY });
  }
}

/** The objects in readable namespaces. */
function listReadable(store: Store, label: string, value: string): KubeObject[] {
  try {
    return store.list({ labels: { [label]: value } });
  } catch (error) {
    // A parked or unlisted namespace must not fail the call: nothing would retry it.
    if (!isUnreadable(error)) throw error;
    return store.list({ partial: true }).filter(({ metadata }) => metadata.labels?.[label] === value);
  }
}
