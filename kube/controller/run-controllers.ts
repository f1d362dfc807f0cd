// Runs a list of controllers on one set of watches: wakes keys, works on them, and stops cleanly.
import type { Logger } from "pino";
import { createChildren } from "./owned-objects.ts";
import type { KubeClient } from "../client/client.ts";
import type { Controller, Platform, ReconcileContext, Wake } from "./controller.ts";
import { keyOf, type KubeObject, type ObjectKey, parseKey } from "../api/object.ts";
import type { Term } from "../lease/leader-election.ts";
import { untilAborted } from "../client/backoff.ts";
import { createQueue, LOW_PRIORITY, type Queue } from "./workqueue.ts";
import { type Change, NotPermitted, NotSynced, type Store } from "../cache/reader.ts";
import { createReconciler, type Reconciler } from "./reconciler.ts";
import { resourceId, type ResourceRef } from "../api/resource-ref.ts";
import { whenSightChanges } from "../cache/readability-changes.ts";
import { createStandstill } from "./stale-cache-monitor.ts";
import { gapsOf, untilSightChanges, type Waiting } from "../cache/unsynced-watches.ts";
import type { WatchHandle, Watches } from "../cache/informers.ts";

/** Keys that a controller works on at once: it mostly waits for the API server. */
const WORKERS = 12;

export interface RunOptions {
  client: KubeClient;
  controllers: readonly Controller[];
  watches: Watches;
  platform: Platform;
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
  waiting(): readonly Waiting[];
  /** Kinds whose cache stays behind the API server while objects wait for it: a watch that is silent, or an object that changes faster than it is seen. In order. */
  behind(): readonly string[];
  /** Resolves when no key is ready or in work in any controller (delayed keys do not count). For tests and readiness. */
  idle(): Promise<void>;
}

/** Starts at once and returns at once. A controller begins when all its own watches are synced, whatever the others do. */
export function runControllers(options: RunOptions): ControllerRun {
  const names = new Set(options.controllers.map(({ name }) => name));
  if (names.size !== options.controllers.length) throw new Error("two controllers have the same name");
  const whole = wholeKinds(options.controllers);
  const running = options.controllers.map((controller) => startController(controller, options, whole));
  const waiting = untilSightChanges(running.flatMap(({ stores }) => stores), () => running.flatMap(waitingOf));
  const stopped = Promise.all(running.map((each) => each.stopped)).then(waiting.close);
  const synced = Promise.all(running.map((each) => each.synced)).then(() => undefined);
  // Whoever does not ask about `synced` must not die of it.
  synced.catch(() => undefined);
  return {
    synced,
    stopped,
    waiting: waiting.look,
    behind: () => [...new Set(running.flatMap(({ behind }) => behind()))].sort(),
    async idle() {
      do await Promise.all(running.map(({ queue }) => queue.idle()));
      while (running.some(({ queue }) => !queue.isIdle));
    },
  };
}

/** Kinds that are watched whole for another reason than being owned. The others are watched only as far as they carry the controller label. */
function wholeKinds(controllers: readonly Controller[]): Set<string> {
  const refs = controllers.flatMap(({ for: own, reads = [], watches = [] }) => [own, ...reads, ...watches.filter((rule) => !rule.labelSelector && !rule.namespace).map((rule) => rule.ref)]);
  return new Set(refs.map(resourceId));
}

function waitingOf({ name, stores }: Running): Waiting[] {
  const watches = gapsOf(stores);
  return watches.length > 0 ? [{ controller: name, watches }] : [];
}

interface Running {
  name: string;
  /** All that it reads. */
  stores: readonly Store[];
  behind: () => readonly string[];
  queue: Queue;
  synced: Promise<void>;
  stopped: Promise<void>;
}

interface Wiring {
  controller: Controller;
  options: RunOptions;
  own: Store;
  owned: readonly Store[];
  handles: WatchHandle<KubeObject>[];
  queue: Queue;
  reconciler: Reconciler;
}

function startController(controller: Controller, options: RunOptions, whole: Set<string>): Running {
  const { client, watches, platform, signal, term, now = () => new Date() } = options;
  const log = options.log.child({ controller: controller.name });
  const fieldManager = `${platform.fieldManagerPrefix}-${controller.name}`;
  const handles: WatchHandle<KubeObject>[] = [];
  const ensure = (ref: ResourceRef, wish: Parameters<Watches["ensure"]>[1] = {}): Store => {
    const handle = watches.ensure(ref, wish);
    handles.push(handle);
    return handle.store;
  };
  const own = ensure(controller.for, { indexes: controller.indexes ?? {} });
  const owned = (controller.owns ?? []).map((ref) => ensure(ref, { keepFieldsOf: managersOf(ref, options), ...(!whole.has(resourceId(ref)) && { labelSelector: platform.controllerLabel }) }));
  const reads = (controller.reads ?? []).map((ref) => ensure(ref));
  const rules = (controller.watches ?? []).map(({ ref, wakes, namespace, labelSelector }) => ({ wakes, store: ensure(ref, { ...(namespace && { namespace }), ...(labelSelector && { labelSelector }) }) }));

  const wholeStores = [own, ...reads, ...rules.map(({ store }) => store)].filter((store) => whole.has(resourceId(store.ref)));
  const children = createChildren({ client, platform, controller: controller.name, ownerRef: controller.for, stores: owned, wholeStores });
  const context: ReconcileContext = { read: watches.read, client, now, log, signal };
  const standstill = createStandstill({ log, recheck: (resource) => watches.recheck(resource) });
  const reconciler = createReconciler({ controller, client, fieldManager, store: own, children, context, log, versioned: term !== undefined, standstill });
  const queue = createQueue({
    workers: controller.workers ?? WORKERS,
    work: (id) => reconciler.run(parseKey(id)),
    onFault: (key, err) => log.warn({ key, err }, "reconcile failed; it is tried again"),
  });
  const wiring: Wiring = { controller, options, own, owned, handles, queue, reconciler };
  const synced = begin(wiring, rules);
  const stopped = stopWith(wiring, synced);
  return { name: controller.name, stores: handles.map(({ store }) => store), behind: () => standstill.behind, queue, synced, stopped };
}

/** The field managers of all controllers that own the kind, so that the first list serves all of them. */
function managersOf(ref: ResourceRef, { controllers, platform }: RunOptions): string[] {
  const owners = controllers.filter(({ owns = [] }) => owns.some((owned) => resourceId(owned) === resourceId(ref)));
  return owners.map(({ name }) => `${platform.fieldManagerPrefix}-${name}`);
}

interface Rule {
  store: Store;
  wakes: (object: KubeObject, read: Watches["read"]) => Wake;
}

async function begin(wiring: Wiring, rules: readonly Rule[]): Promise<void> {
  const { handles, own, owned, queue, options } = wiring;
  const stores = handles.map(({ store }) => store);
  do {
    await untilSynced(stores, options.signal);
    await Promise.all(handles.map(({ settled }) => settled));
    // One may have gone out of sight meanwhile, and of what is as it was when it comes back nobody is told.
  } while (!stores.every(({ synced }) => synced));
  listen(wiring, rules);
  for (const source of wiring.controller.sources ?? []) source((key) => void queue.add(keyOf(key)), options.signal);
  for (const object of own.list({ partial: true })) queue.add(keyOf(object.metadata), { priority: LOW_PRIORITY });
  for (const store of owned) findOrphans(wiring, store);
}

/** All at the same time. */
function untilSynced(stores: readonly Store[], signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const look = () => {
      const missing = stores.find(({ synced }) => !synced);
      if (missing && !signal.aborted) return;
      signal.removeEventListener("abort", look);
      stops.forEach((stop) => stop());
      if (missing) reject(new Error(`stopped before ${resourceId(missing.ref)} was synced`));
      else resolve();
    };
    const stops = stores.map((store) => store.onState(look));
    signal.addEventListener("abort", look);
    look();
  });
}

function listen(wiring: Wiring, rules: readonly Rule[]): void {
  const { own, owned, queue, reconciler, options, handles } = wiring;
  const undo = [
    own.onChange((change) => {
      const key = keyOf(change.object.metadata);
      if (change.type === "deleted") reconciler.gone(key, change.old.metadata.uid ?? "");
      queue.add(key, priorityOf(change));
    }),
    ...owned.map((store) => store.onChange((change) => wakeOwners(wiring, change))),
    ...rules.map((rule) => rule.store.onChange((change) => follow(wiring, rule, change))),
    whenSightChanges([...new Set(handles.map(({ store }) => store))], () => wakeAll(wiring)),
  ];
  options.signal.addEventListener("abort", () => undo.forEach((stop) => stop()), { once: true });
}

function follow(wiring: Wiring, { wakes }: Rule, change: Change<KubeObject>): void {
  try {
    for (const object of versions(change)) wake(wiring, wakes(object, wiring.options.watches.read), priorityOf(change));
  } catch (error) {
    if (!isBlind(error)) throw error;
    // Whom it concerns cannot be told without what is out of sight, so it may concern anybody.
    wakeAll(wiring);
  }
}

function isBlind(error: unknown): boolean {
  return error instanceof NotSynced || error instanceof NotPermitted;
}

function wakeAll(wiring: Wiring): void {
  const { own, owned, queue, reconciler } = wiring;
  if (own.synced) for (const object of own.list({ partial: true })) queue.add(keyOf(object.metadata), { priority: LOW_PRIORITY });
  for (const key of reconciler.left()) queue.add(key, { priority: LOW_PRIORITY });
  for (const store of owned) findOrphans(wiring, store);
}

/** The contents of a change. Of those who went while they were out of sight there are none; that they were is told by another way. */
function versions(change: Change<KubeObject>): KubeObject[] {
  if (change.type === "added") return [change.object];
  if (change.evicted) return change.type === "modified" ? [change.object] : [];
  return [change.object, change.old];
}

function priorityOf(change: Change<KubeObject>): { priority: number } {
  return { priority: change.initial ? LOW_PRIORITY : 0 };
}

function wakeOwners(wiring: Wiring, change: Change<KubeObject>): void {
  const { queue, options, controller } = wiring;
  for (const { metadata } of versions(change)) {
    if (metadata.labels?.[options.platform.controllerLabel] !== controller.name) continue;
    const owner = ownerOf(wiring, metadata.labels[options.platform.ownerLabel] ?? "");
    if (owner !== "unseen" && owner) queue.add(keyOf(owner.metadata), priorityOf(change));
  }
}

/** "unseen" when there may be one that we cannot see. */
function ownerOf({ own }: Wiring, uid: string): KubeObject | undefined | "unseen" {
  try {
    return own.byUid(uid);
  } catch (error) {
    if (isBlind(error)) return "unseen";
    throw error;
  }
}

function wake({ own, queue }: Wiring, wish: Wake, priority: { priority: number }): void {
  if (isKeys(wish)) {
    for (const key of wish) queue.add(keyOf(key), priority);
    return;
  }
  try {
    const asked = Object.entries(wish).flatMap(([index, values]) => [values].flat().map((value) => ({ index, value })));
    for (const object of asked.flatMap(({ index, value }) => own.byIndex(index, value))) queue.add(keyOf(object.metadata), priority);
  } catch (error) {
    // Our own kind cannot be seen now; when it can, every object of it is looked at anyway.
    if (!isBlind(error)) throw error;
  }
}

function isKeys(wish: Wake): wish is readonly ObjectKey[] {
  return Array.isArray(wish);
}

/** Children whose owner went while nobody was looking. */
function findOrphans(wiring: Wiring, store: Store): void {
  const { queue, reconciler, options, controller } = wiring;
  const { ownerLabel, controllerLabel, ownerAnnotation } = options.platform;
  if (!store.synced) return;
  for (const { metadata } of listSeen(store, controllerLabel, controller.name)) {
    const uid = metadata.labels?.[ownerLabel];
    const key = metadata.annotations?.[ownerAnnotation];
    if (!uid || !key || ownerOf(wiring, uid)) continue;
    reconciler.gone(key, uid);
    queue.add(key, { priority: LOW_PRIORITY });
  }
}

/** What of it is in sight, whoever else may be out of it. */
function listSeen(store: Store, label: string, value: string): KubeObject[] {
  try {
    return store.list({ labels: { [label]: value } });
  } catch (error) {
    // A namespace may be out of sight, or not be listed yet; this must not fail for it, since nobody is there to try again.
    if (!isBlind(error)) throw error;
    return store.list({ partial: true }).filter(({ metadata }) => metadata.labels?.[label] === value);
  }
}

async function stopWith({ queue, handles, options }: Wiring, synced: Promise<void>): Promise<void> {
  await untilAborted(options.signal);
  await queue.close();
  await synced.catch(() => undefined);
  for (const handle of handles) handle.release();
}
