// Watches on behalf of things that come and go: each names the watches it needs, the union of all wishes runs, and what changes is handed over as keys.
import type { Logger } from "pino";
import { keyOf, type KubeObject, type ObjectKey } from "../api/object.ts";
import type { Change, Store } from "./reader.ts";
import type { ResourceRef } from "../api/resource-ref.ts";

/** One watch, as a wish. Equal wishes are one watch, whoever has them. */
export interface WatchKey {
  ref: ResourceRef;
  namespace?: string;
  labelSelector?: string;
  fieldSelector?: string;
  metadata?: boolean;
}

/** Something changed at this key, or is there for one who came late: read it from the store. */
export interface ChangedKey {
  ref: ResourceRef;
  store: Store;
  key: ObjectKey;
}

export interface DynamicWatches {
  readonly name: string;
  /** `dependent` needs the watch. Said twice, it counts once. Never waits; what is there already is delivered as well. */
  add(key: WatchKey, dependent: string): void;
  remove(key: WatchKey, dependent: string): void;
  /** The dependent is gone, and with it all its needs. */
  removeDependent(dependent: string): void;
  /** These are all needs from now on. What stays is not interrupted. */
  replace(dependencies: Iterable<readonly [WatchKey, string]>): void;
  /** How many watches it holds. */
  readonly size: number;
  /** Lets all go; resolves when what is being delivered has been. */
  close(): Promise<void>;
}

export interface DynamicWatchesOptions {
  name: string;
  /**
   * Takes what changed since the last call, each key once; not called again before it is done, so one who is slow gets fewer and bigger
   * batches and delays nobody else. What it throws is logged and the batch is delivered again after RETRY_MS.
   */
  deliver: (batch: readonly ChangedKey[]) => Promise<void> | void;
  log: Logger;
  /** Starts or joins the watch. */
  ensure: (key: WatchKey) => { store: Store; release(): void };
}

const RETRY_MS = 3_000;

/** The identity of a watch, in full: two different wishes never share one. */
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
  /** Stops listening and gives the watch back. */
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
    if (this.#closed) throw new Error(`registrar ${this.name} is closed`);
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
    // New ones first: a watch that changes hands does not stop.
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
    // Whoever comes late has missed the first list.
    if (store.synced) for (const object of store.list({ partial: true })) enqueue(object);
    const unwatch = (): void => {
      stop();
      // What reads the store at this moment reads on; the watch goes after that.
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
    // In a turn of its own, so that a listener of the store is never held up.
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
      this.#options.log.warn({ err, registrar: this.name }, "changes could not be taken; they are delivered again");
      // Those given back meanwhile are nobody's business any more.
      for (const [at, one] of batch) if (this.#watches.has(one.id)) this.#pending.set(at, one);
      if (!this.#closed) this.#retry = setTimeout(() => this.#resume(), RETRY_MS).unref();
    }
  }

  #resume(): void {
    this.#retry = undefined;
    if (this.#pending.size > 0) this.#start();
  }
}
