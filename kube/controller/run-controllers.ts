// Runs controllers on shared informers: starts each when its caches are synced, and stops it cleanly.
import type { Logger } from "pino";
import { type KubeObject, type ObjectKey, parseKey } from "../api/object.ts";
import { resourceId, type ResourceRef } from "../api/resource-ref.ts";
import type { ClusterProvider } from "../cache/cluster-provider.ts";
import { ifReadable } from "../cache/errors.ts";
import type { EnsureOptions } from "../cache/informer-options.ts";
import type { InformerHandle, Informers } from "../cache/informers.ts";
import type { Reader, Store } from "../cache/reader.ts";
import { cacheUntilStateChange, listUnsyncedWatches, type UnsyncedController } from "../cache/unsynced-watches.ts";
import type { KubeClient } from "../client/client.ts";
import { untilAborted } from "../client/until-aborted.ts";
import type { Term } from "../lease/leader-election.ts";
import type { ReconcileTraces } from "../tracing/trace-reconciles.ts";
import { localMarking } from "./child-marking.ts";
import type { ControllerMetrics } from "./controller-metrics.ts";
import type { Controller, OwnershipMarkers, ReconcileContext, RemoteMarkers, WatchRule } from "./controller.ts";
import { enqueueMapResult, type MappedWatch, type RunningHandlers, startEventHandlers } from "./event-handlers.ts";
import { createEventRecorder, type EventRecorder } from "./event-recorder.ts";
import { createFaultLog } from "./fault-log.ts";
import { createOwnedObjects } from "./owned-objects.ts";
import type { IsCached } from "./recorded-reads.ts";
import { createReconciler, type Reconciler } from "./reconciler.ts";
import {
  NO_CLUSTERS,
  startRemoteChildren,
  type RemoteChildren,
  type RemoteChildrenOptions,
} from "./remote-children.ts";
import { createStaleCacheMonitor, type StaleCacheMonitor } from "./stale-cache-monitor.ts";
import { createWorkqueue, type RequeueAction, type Workqueue } from "./workqueue.ts";

/** Keys reconciled at the same time. A worker mostly waits for the API server. */
const DEFAULT_WORKERS = 12;

export interface RunControllersOptions {
  client: KubeClient;
  controllers: readonly Controller[];
  informers: Informers;
  ownership: OwnershipMarkers;
  /** Other clusters, for controllers with `remote`. */
  remote?: { provider: ClusterProvider; markers: () => RemoteMarkers | undefined } | undefined;
  /** Aborting it stops all controllers; running reconciles finish. */
  signal: AbortSignal;
  log: Logger;
  /** The term that these controllers run in. Every patch then carries the resourceVersion it was planned on, so that a former leader cannot undo its successor's writes. */
  term?: Term;
  now?: () => Date;
  metrics?: ControllerMetrics | undefined;
  /** Present where this process makes traces. */
  traces?: ReconcileTraces | undefined;
}

export interface ControllerRun {
  /** Resolves when every controller has synced caches and has started. Pending while one of its watches is parked. Rejects when stopped before. */
  readonly synced: Promise<void>;
  /** Resolves when all work has ended after the signal. */
  readonly stopped: Promise<void>;
  /** Controllers with a watch that is not synced, before or after their start. The same array until it changes. */
  unsyncedControllers(): readonly UnsyncedController[];
  /** Resources whose cache lags behind the API server while reconciles wait for it, sorted. See StaleCacheMonitor. */
  staleKinds(): readonly string[];
  /** Resolves when no controller has a ready or processed key; delayed keys do not count, and no Event is being written. For tests and readiness. */
  idle(): Promise<void>;
}

/** Returns at once. Each controller starts when its own caches are synced, independently of the others. */
export function runControllers(options: RunControllersOptions): ControllerRun {
  const names = new Set(options.controllers.map(({ name }) => name));
  if (names.size !== options.controllers.length) throw new Error("two controllers have the same name");
  const fullyWatched = fullyWatchedKinds(options.controllers);
  const events = createEventRecorder(options);
  const running = options.controllers.map((controller) =>
    startController(controller, options, { fullyWatched, events }),
  );
  const unsynced = cacheUntilStateChange(
    running.flatMap(({ stores }) => stores),
    () => running.flatMap(unsyncedControllerOf),
  );
  const stopped = Promise.all(running.map((each) => each.stopped)).then(unsynced.close);
  const synced = Promise.all(running.map((each) => each.synced)).then(() => undefined);
  // A caller that ignores `synced` must not get an unhandled rejection.
  synced.catch(() => undefined);
  return {
    synced,
    stopped,
    unsyncedControllers: unsynced.compute,
    staleKinds: () => [...new Set(running.flatMap(({ staleKinds }) => staleKinds()))].sort(),
    async idle() {
      do await Promise.all(running.map(({ queue }) => queue.idle()));
      while (running.some(({ queue }) => !queue.isIdle));
      await events.flush();
    },
  };
}

/** Kinds watched without a selector for another reason than ownership. Other owned kinds are watched by the controller label. */
function fullyWatchedKinds(controllers: readonly Controller[]): Set<string> {
  const refs = controllers.flatMap(({ for: own, reads = [], watches = [] }) => [
    own,
    ...reads,
    ...watches.filter(isUnrestricted).map((rule) => rule.ref),
  ]);
  return new Set(refs.map(resourceId));
}

function isUnrestricted({ namespace, labelSelector, fieldSelector, transform }: WatchRule): boolean {
  return !namespace && !labelSelector && !fieldSelector && !transform;
}

function unsyncedControllerOf({ name, stores }: RunningController): UnsyncedController[] {
  const watches = listUnsyncedWatches(stores);
  return watches.length > 0 ? [{ controller: name, watches }] : [];
}

interface RunningController {
  name: string;
  /** Every cache that the controller reads. */
  stores: readonly Store[];
  staleKinds: () => readonly string[];
  queue: Workqueue;
  synced: Promise<void>;
  stopped: Promise<void>;
}

function startController(
  controller: Controller,
  options: RunControllersOptions,
  { fullyWatched, events }: { fullyWatched: Set<string>; events: EventRecorder },
): RunningController {
  const log = options.log.child({ controller: controller.name });
  const caches = ensureCaches(controller, options, fullyWatched);
  const staleCaches = createStaleCacheMonitor({ log, reopen: (resource) => options.informers.reopen(resource) });
  const fieldManager = `${options.ownership.fieldManagerPrefix}-${controller.name}`;
  const remoteChildren = startRemote(controller, options, {
    recordEvent: (object, event) => events.record(object, fieldManager, event),
    enqueueKey: (key, priority) => queue.add(key, { priority }),
    enqueue: (map) => enqueueMapResult(running, map),
  });
  const parts = { caches, staleCaches, events, log, remoteChildren };
  const reconciler = createControllerReconciler(controller, options, parts);
  const { ownership, signal, metrics } = options;
  const reconcile = traced(controller.name, caches.primary, reconciler, options.traces);
  const workers = controller.workers ?? DEFAULT_WORKERS;
  const queue = createWorkqueue({
    workers,
    process: (id) => reconcile(parseKey(id)),
    onFault: createFaultLog(log),
    ...(metrics && { onPass: (pass) => metrics.observe(controller.name, pass) }),
  });
  const unfollow = metrics?.follow(controller.name, queue, workers);
  const running: RunningHandlers = { controller, ...caches, ownership, queue, reconciler, signal };
  const synced = startWhenSynced(running, caches.handles);
  return {
    name: controller.name,
    stores: running.stores,
    staleKinds: () => staleCaches.staleKinds,
    queue,
    synced,
    stopped: stopOnAbort(running, caches.handles, synced).finally(() => unfollow?.()),
  };
}

function startRemote(
  controller: Controller,
  { remote, signal, now = () => new Date() }: RunControllersOptions,
  parts: Pick<RemoteChildrenOptions, "enqueueKey" | "enqueue" | "recordEvent">,
): RemoteChildren | undefined {
  return remote && controller.remote
    ? startRemoteChildren({ controller, ...remote, ...parts, now, signal })
    : undefined;
}

interface Caches {
  read: Reader;
  primary: Store;
  owned: readonly Store[];
  /** Whether the cache that the controller reads would hold an object. */
  isCached: IsCached;
  mappedWatches: readonly MappedWatch[];
  /** Those of them that hold every object of their kind. */
  completeStores: readonly Store[];
  stores: readonly Store[];
  handles: readonly InformerHandle<KubeObject>[];
}

function ensureCaches(controller: Controller, options: RunControllersOptions, fullyWatched: Set<string>): Caches {
  const { informers, ownership } = options;
  const handles: InformerHandle<KubeObject>[] = [];
  const ensure = (ref: ResourceRef, request: EnsureOptions<KubeObject> = {}): Store => {
    const handle = informers.ensure(ref, request);
    handles.push(handle);
    return handle.store;
  };
  const primary = ensure(controller.for, { indexes: controller.indexes ?? {} });
  const byLabel = new Set((controller.owns ?? []).map(resourceId).filter((id) => !fullyWatched.has(id)));
  const owned = (controller.owns ?? []).map((ref) =>
    ensure(ref, {
      keepFieldsOf: managersOf(ref, options),
      ...(byLabel.has(resourceId(ref)) && { labelSelector: ownership.controllerLabel }),
    }),
  );
  const reads = (controller.reads ?? []).map((ref) => ensure(ref));
  const mappedWatches = (controller.watches ?? []).map(({ ref, mapTo, ...restriction }) => ({
    mapTo,
    store: ensure(ref, restriction),
  }));
  const completeStores = [primary, ...reads, ...mappedWatches.map(({ store }) => store)].filter((store) =>
    fullyWatched.has(resourceId(store.ref)),
  );
  const stores = handles.map(({ store }) => store as Store);
  const isCached: IsCached = (ref, { metadata }) =>
    !byLabel.has(resourceId(ref)) || metadata.labels?.[ownership.controllerLabel] !== undefined;
  const read = informers.readPreferring(stores);
  return { read, primary, owned, isCached, mappedWatches, completeStores, stores, handles };
}

interface ReconcilerParts {
  caches: Caches;
  staleCaches: StaleCacheMonitor;
  events: EventRecorder;
  log: Logger;
  remoteChildren: RemoteChildren | undefined;
}

function createControllerReconciler(
  controller: Controller,
  { client, ownership, signal, term, now = () => new Date() }: RunControllersOptions,
  { caches, staleCaches, events, log, remoteChildren }: ReconcilerParts,
): Reconciler {
  const ownedObjects = createOwnedObjects({
    client,
    marking: localMarking(ownership, controller.name, controller.for),
    controller: controller.name,
    stores: caches.owned,
    completeStores: caches.completeStores,
  });
  const fieldManager = `${ownership.fieldManagerPrefix}-${controller.name}`;
  const clusters = remoteChildren?.clusters ?? NO_CLUSTERS;
  const recordEvent: ReconcileContext["recordEvent"] = (object, event) => events.record(object, fieldManager, event);
  return createReconciler({
    controller,
    client,
    fieldManager,
    pausedAnnotation: ownership.pausedAnnotation,
    store: caches.primary,
    ownedObjects,
    remoteChildren,
    isCached: caches.isCached,
    context: { read: caches.read, client, clusters, recordEvent, now, log, signal },
    log,
    hasOptimisticLock: term !== undefined,
    staleCaches,
    events,
  });
}

/** The reconciles, within spans where this process makes traces. The reconcile itself says that its kind cannot be read. */
function traced(
  name: string,
  store: Store,
  reconciler: Reconciler,
  traces: ReconcileTraces | undefined,
): (key: ObjectKey) => Promise<RequeueAction> {
  if (!traces) return (key) => reconciler.reconcile(key);
  const find = (key: ObjectKey): KubeObject | undefined => ifReadable(() => store.find(key));
  return (key) => traces.run(name, find(key), () => reconciler.reconcile(key));
}

/** Field managers of all controllers that own the kind, so that one list keeps the fields of all of them. */
function managersOf(ref: ResourceRef, { controllers, ownership }: RunControllersOptions): string[] {
  const owners = controllers.filter(({ owns = [] }) => owns.some((owned) => resourceId(owned) === resourceId(ref)));
  return owners.map(({ name }) => `${ownership.fieldManagerPrefix}-${name}`);
}

async function startWhenSynced(
  running: RunningHandlers,
  handles: readonly InformerHandle<KubeObject>[],
): Promise<void> {
  const { stores, signal } = running;
  do {
    await waitSynced(stores, signal);
    await Promise.all(handles.map(({ fieldsKept }) => fieldsKept));
    // A watch may have parked meanwhile, and objects unchanged after a resync emit no event.
  } while (!stores.every(({ synced }) => synced));
  startEventHandlers(running);
}

/** Resolves when all stores are synced at the same time. */
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

async function stopOnAbort(
  { queue, signal }: RunningHandlers,
  handles: readonly InformerHandle<KubeObject>[],
  synced: Promise<void>,
): Promise<void> {
  await untilAborted(signal);
  await queue.close();
  await synced.catch(() => undefined);
  for (const handle of handles) handle.release();
}
