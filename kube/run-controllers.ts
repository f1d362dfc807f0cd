// Runs a list of controllers on one set of watches: wakes keys, works on them, and stops cleanly.
import type { Logger } from "pino";
import { createChildren } from "./children.ts";
import type { KubeClient } from "./client/client.ts";
import type { Controller, Platform, ReconcileContext, Wake } from "./controller.ts";
import { keyOf, type KubeObject, type ObjectKey } from "./object.ts";
import type { Term } from "./leader.ts";
import { createQueue, LOW_PRIORITY, type Queue } from "./queue.ts";
import { type Change, NotPermitted, NotSynced, type Store } from "./reader.ts";
import { createReconciler, type Reconciler } from "./reconciler.ts";
import { resourceId, type ResourceRef } from "./resource-ref.ts";
import type { WatchHandle, Watches } from "./watches.ts";

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
  /** Resolves when no key is ready or in work in any controller (delayed keys do not count). For tests and readiness. */
  idle(): Promise<void>;
}

/** Starts at once and returns at once. A controller begins when all its own watches are synced, whatever the others do. */
export function runControllers(options: RunOptions): ControllerRun {
  const names = new Set(options.controllers.map(({ name }) => name));
  if (names.size !== options.controllers.length) throw new Error("two controllers have the same name");
  const whole = wholeKinds(options.controllers);
  const running = options.controllers.map((controller) => startController(controller, options, whole));
  const stopped = Promise.all(running.map((each) => each.stopped)).then(() => undefined);
  const synced = Promise.all(running.map((each) => each.synced)).then(() => undefined);
  // Whoever does not ask about `synced` must not die of it.
  synced.catch(() => undefined);
  return {
    synced,
    stopped,
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

interface Running {
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
  const reconciler = createReconciler({ controller, client, fieldManager, store: own, children, context, log, versioned: term !== undefined });
  const queue = createQueue({
    workers: controller.workers ?? 4,
    work: (id) => reconciler.run(toKey(id)),
    onFault: (key, err) => log.warn({ key, err }, "reconcile failed; it is tried again"),
  });
  const wiring: Wiring = { controller, options, own, owned, handles, queue, reconciler };
  const synced = begin(wiring, rules);
  const stopped = stopWith(wiring, synced);
  return { queue, synced, stopped };
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
  await Promise.all(handles.map(({ store }) => untilSynced(store, options.signal)));
  await Promise.all(handles.map(({ settled }) => settled));
  listen(wiring, rules);
  for (const source of wiring.controller.sources ?? []) source((key) => void queue.add(keyOf(key)), options.signal);
  for (const object of own.list()) queue.add(keyOf(object.metadata), { priority: LOW_PRIORITY });
  for (const store of owned) findOrphans(wiring, store);
}

function untilSynced(store: Store, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const look = () => {
      if (!store.synced && !signal.aborted) return;
      signal.removeEventListener("abort", look);
      stop();
      if (store.synced) resolve();
      else reject(new Error(`stopped before ${resourceId(store.ref)} was synced`));
    };
    const stop = store.onState(look);
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
    ...rules.map(({ store, wakes }) =>
      store.onChange((change) => {
        for (const object of versions(change)) wake(wiring, wakes(object, options.watches.read), priorityOf(change));
      }),
    ),
    // Whoever met NotPermitted waits for the watch to come back.
    ...new Set(handles.map(({ store }) => store)).values().map((store) => onResume(store, () => wakeAll(wiring))),
  ];
  options.signal.addEventListener("abort", () => undo.forEach((stop) => stop()), { once: true });
}

function onResume(store: Store, resumed: () => void): () => void {
  let parked = store.state === "parked";
  return store.onState((state) => {
    if (state === "parked") parked = true;
    else if (parked && store.synced) {
      parked = false;
      resumed();
    }
  });
}

function wakeAll({ own, queue }: Wiring): void {
  if (own.synced) for (const object of own.list()) queue.add(keyOf(object.metadata), { priority: LOW_PRIORITY });
}

function versions(change: Change<KubeObject>): KubeObject[] {
  return change.type === "added" ? [change.object] : [change.object, change.old];
}

function priorityOf(change: Change<KubeObject>): { priority: number } {
  return { priority: change.initial ? LOW_PRIORITY : 0 };
}

function wakeOwners(wiring: Wiring, change: Change<KubeObject>): void {
  const { own, queue, options, controller } = wiring;
  if (!own.synced) return;
  for (const { metadata } of versions(change)) {
    if (metadata.labels?.[options.platform.controllerLabel] !== controller.name) continue;
    const owner = own.byUid(metadata.labels[options.platform.ownerLabel] ?? "");
    if (owner) queue.add(keyOf(owner.metadata), priorityOf(change));
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
    if (!(error instanceof NotSynced) && !(error instanceof NotPermitted)) throw error;
  }
}

function isKeys(wish: Wake): wish is readonly ObjectKey[] {
  return Array.isArray(wish);
}

/** Children whose owner went while nobody was looking. */
function findOrphans({ own, queue, reconciler, options, controller }: Wiring, store: Store): void {
  const { ownerLabel, controllerLabel, ownerAnnotation } = options.platform;
  for (const { metadata } of store.list({ labels: { [controllerLabel]: controller.name } })) {
    const uid = metadata.labels?.[ownerLabel];
    const key = metadata.annotations?.[ownerAnnotation];
    if (!uid || !key || own.byUid(uid)) continue;
    reconciler.gone(key, uid);
    queue.add(key, { priority: LOW_PRIORITY });
  }
}

function toKey(id: string): ObjectKey {
  const [first = "", second] = id.split("/");
  return second === undefined ? { name: first } : { namespace: first, name: second };
}

async function stopWith({ queue, handles, options }: Wiring, synced: Promise<void>): Promise<void> {
  const { signal } = options;
  await new Promise<void>((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
  await queue.close();
  await synced.catch(() => undefined);
  for (const handle of handles) handle.release();
}
