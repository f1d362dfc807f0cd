// Watches for dependents that come and go: the union of their watches runs, and changes are delivered as batches of keys.
import type { Logger } from "pino";
import { keyOf, type KubeObject, type ObjectKey } from "../api/object.ts";
import type { Change, Store } from "./reader.ts";
import type { ResourceRef } from "../api/resource-ref.ts";

/** Identifies a watch. Dependents with equal keys share one watch. */
export interface WatchKey {
  ref: ResourceRef;
  namespace?: string;
  labelSelector?: string;
  fieldSelector?: string;
  metadata?: boolean;
}

/** A key that was added, changed or deleted; read its object from the store. */
export interface ChangedKey {
  ref: ResourceRef;
  store: Store;
  key: ObjectKey;
}

export interface DynamicWatches {
  readonly name: string;
  /** Adds a dependent of the watch; idempotent. Returns at once. Objects already in the cache are delivered too. */
  add(key: WatchKey, dependent: string): void;
  remove(key: WatchKey, dependent: string): void;
  /** Removes the dependent from all its watches. */
  removeDependent(dependent: string): void;
  /** Replaces all dependencies. Watches in both sets keep running. */
  replace(dependencies: Iterable<readonly [WatchKey, string]>): void;
  /** Number of watches held. */
  readonly size: number;
  /** Releases all watches; resolves when the running delivery has ended. */
  close(): Promise<void>;
}

export interface DynamicWatchesOptions {
  name: string;
  /**
   * Receives the keys changed since the last call, each once. Calls never overlap, so a slow consumer gets fewer and larger
   * batches and delays no other. After an error, which is logged, the batch is delivered again after RETRY_MS.
   */
  deliver: (batch: readonly ChangedKey[]) => Promise<void> | void;
  log: Logger;
  /** Starts or joins a watch. */
  ensure: (key: WatchKey) => { store: Store; release(): void };
}

const RETRY_MS = 3_000;

/** Every field of the key, so that two different watches never share an id. */
export function watchId({
  ref,
  namespace = "",
  labelSelector = "",
  fieldSelector = "",
  metadata = false,
}: WatchKey): string {
  return JSON.stringify([
    ref.group,
    ref.version,
    ref.plural,
    namespace,
    labelSelector,
    fieldSelector,
    metadata ? "metadata" : "full",
  ]);
}

export function createDynamicWatches(options: DynamicWatchesOptions): DynamicWatches {
  return new DynamicWatchSet(options);
}

interface DependentWatch {
  dependents: Set<string>;
  store: Store;
  /** Unsubscribes and releases the watch. */
  unwatch: () => void;
}

class DynamicWatchSet implements DynamicWatches {
  readonly name: string;
  readonly #options: DynamicWatchesOptions;
  readonly #watches = new Map<string, DependentWatch>();
  readonly #pending = new Map<string, ChangedKey & { id: string }>();
  #delivering: Promise<void> | undefined;
  #retry: NodeJS.Timeout | undefined;
  #closed = false;

  constructor(options: DynamicWatchesOptions) {
    this.name = options.name;
    this.#options = options;
  }

  get size(): number {
    return this.#watches.size;
  }

  add(key: WatchKey, dependent: string): void {
    if (this.#closed) throw new Error(`the dynamic watches ${this.name} are closed`);
    const id = watchId(key);
    const held = this.#watches.get(id) ?? this.#watch(id, key);
    held.dependents.add(dependent);
  }

  remove(key: WatchKey, dependent: string): void {
    this.#removeDependency(watchId(key), dependent);
  }

  removeDependent(dependent: string): void {
    for (const id of [...this.#watches.keys()]) this.#removeDependency(id, dependent);
  }

  replace(dependencies: Iterable<readonly [WatchKey, string]>): void {
    const wanted = [...dependencies];
    const kept = new Set(wanted.map(([key, dependent]) => `${watchId(key)} ${dependent}`));
    // Add before removing: a watch that only changes its dependent keeps running.
    for (const [key, dependent] of wanted) this.add(key, dependent);
    for (const [id, { dependents }] of [...this.#watches])
      for (const one of [...dependents]) if (!kept.has(`${id} ${one}`)) this.#removeDependency(id, one);
  }

  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#retry);
    this.#pending.clear();
    for (const [id, { unwatch }] of [...this.#watches]) {
      this.#watches.delete(id);
      unwatch();
    }
    await this.#delivering;
  }

  #watch(id: string, key: WatchKey): DependentWatch {
    const { store, release } = this.#options.ensure(key);
    const enqueue = (object: KubeObject): void => this.#enqueue(id, store, object);
    const stop = store.onChange((change: Change<KubeObject>) => enqueue(change.object));
    // The first list may be over; its events are not replayed.
    if (store.synced) for (const object of store.list({ partial: true })) enqueue(object);
    const unwatch = (): void => {
      stop();
      // A running delivery may still read the store, so the release waits for it.
      void (this.#delivering ?? Promise.resolve()).then(release);
    };
    const held: DependentWatch = { dependents: new Set(), store, unwatch };
    this.#watches.set(id, held);
    return held;
  }

  #removeDependency(id: string, dependent: string): void {
    const held = this.#watches.get(id);
    if (!held?.dependents.delete(dependent) || held.dependents.size > 0) return;
    this.#watches.delete(id);
    for (const [at, { id: of }] of [...this.#pending]) if (of === id) this.#pending.delete(at);
    held.unwatch();
  }

  #enqueue(id: string, store: Store, { metadata }: KubeObject): void {
    const key: ObjectKey = { name: metadata.name, ...(metadata.namespace && { namespace: metadata.namespace }) };
    this.#pending.set(`${id} ${keyOf(key)}`, { id, ref: store.ref, store, key });
    this.#start();
  }

  #start(): void {
    if (this.#delivering || this.#retry || this.#closed) return;
    // Deliver in a later microtask, so that the store's event handler returns at once.
    this.#delivering = Promise.resolve().then(() => this.#drain());
  }

  async #drain(): Promise<void> {
    while (this.#pending.size > 0 && !this.#retry) await this.#deliverBatch();
    this.#delivering = undefined;
    if (this.#pending.size > 0) this.#start();
  }

  async #deliverBatch(): Promise<void> {
    const batch = new Map(this.#pending);
    this.#pending.clear();
    try {
      await this.#options.deliver([...batch.values()].map(({ ref, store, key }) => ({ ref, store, key })));
    } catch (err) {
      this.#options.log.warn({ err, registrar: this.name }, "a delivery of changes failed; it is retried");
      // Skip keys of watches that were released meanwhile.
      for (const [at, one] of batch) if (this.#watches.has(one.id)) this.#pending.set(at, one);
      if (!this.#closed) this.#retry = setTimeout(() => this.#resume(), RETRY_MS).unref();
    }
  }

  #resume(): void {
    this.#retry = undefined;
    if (this.#pending.size > 0) this.#start();
  }
}
