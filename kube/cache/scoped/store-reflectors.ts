// The reflectors of one store: a cluster-wide one and, while that is forbidden, one for each watched namespace.
import type { WatchedNamespaces } from "./watched-namespaces.ts";
import type { KubeObject } from "../../api/object.ts";
import type { ParkReason, WatchState } from "../reader.ts";
import { type Reflector, type ReflectorOptions, startReflector } from "../reflector.ts";
import type { ReflectorStore } from "../reflector-store.ts";
import type { WritableStore } from "../store.ts";

/** The reflectors of one store. With a namespace, only that namespace's reflector is meant, and a parked cluster-wide one. */
export interface StoreReflectors {
  /** Never rejects. */
  readonly stopped: Promise<void>;
  retryNow(namespace?: string): void;
  reopen(namespace?: string): void;
  relist(): Promise<void>;
  /** As in Reflector; the minimum of several. */
  freshAsOf(): number;
  limitStaleness(milliseconds: number): void;
  /** Watches this namespace too while the cluster-wide watch is forbidden. Returns how to undo it. */
  watchNamespace(namespace: string): () => void;
}

type Options = Omit<ReflectorOptions<KubeObject>, "store" | "namespace"> & {
  store: WritableStore<KubeObject>;
  namespaces: WatchedNamespaces;
};

/** Watches a namespaced kind cluster-wide; falls back to namespaces, see FallbackReflectors. */
export function startClusterOrNamespaceReflectors(options: Options, signal: AbortSignal): StoreReflectors {
  return new FallbackReflectors(options, signal);
}

/** A reflector without a fallback. */
export function startSingleReflector(options: ReflectorOptions<KubeObject>, signal: AbortSignal): StoreReflectors {
  const reflector = startReflector(options, signal);
  return {
    ...reflector,
    retryNow: () => reflector.retryNow(),
    reopen: () => reflector.reopen(),
    watchNamespace: () => () => undefined,
  };
}

/** How long `freshAsOf` is cached; far below every staleness bound. */
const FRESHNESS_CACHE_MS = 500;

interface NamespaceReflector {
  reflector: Reflector;
  stop: AbortController;
}

/** Sits between the cluster-wide reflector and the store, and takes over while that reflector is forbidden. */
class FallbackReflectors implements ReflectorStore, StoreReflectors {
  readonly ref;
  readonly stopped: Promise<void>;
  readonly #options: Options;
  readonly #signal: AbortSignal;
  readonly #clusterWide: Reflector;
  readonly #byNamespace = new Map<string, NamespaceReflector>();
  readonly #stopping = new Set<Promise<void>>();
  readonly #requested = new Map<string, number>();
  readonly #unsubscribe: () => void;
  #state: WatchState = "listing";
  #isForbidden = false;
  #maxStalenessMs = Infinity;
  #freshness: { revision: number; asked: number; at: number } | undefined;

  constructor(options: Options, signal: AbortSignal) {
    this.ref = options.store.ref;
    this.#options = options;
    this.#signal = signal;
    this.#unsubscribe = options.namespaces.onChange(
      (namespace) =>
        this.#isForbidden && (namespace === undefined ? this.#syncNamespaces() : this.#syncNamespace(namespace)),
    );
    this.#clusterWide = startReflector({ ...options, store: this }, signal);
    this.stopped = this.#clusterWide.stopped.then(async () => {
      this.#unsubscribe();
      await Promise.all(this.#stopping);
    });
  }

  // ReflectorStore of the cluster-wide reflector

  get synced(): boolean {
    return !this.#isForbidden && this.#options.store.synced;
  }

  get state(): WatchState {
    return this.#state;
  }

  setState(state: WatchState, parkReason?: ParkReason): void {
    this.#state = state;
    if (state === "stopped") {
      this.#stopNamespaces();
      return this.#options.store.setState(state);
    }
    if (state === "parked" && parkReason === "Forbidden") {
      this.#isForbidden = true;
      return this.#syncNamespaces();
    }
    // The namespaces' contents stay until the cluster-wide list is complete.
    if (!this.#isForbidden) this.#options.store.setState(state, parkReason);
  }

  replace(objects: readonly KubeObject[], resourceVersion: string): void {
    const { store } = this.#options;
    this.#isForbidden = false;
    this.#stopNamespaces();
    store.setState(this.#state);
    store.replace(objects, resourceVersion);
  }

  upsert(object: KubeObject): void {
    this.#options.store.upsert(object);
  }

  remove(object: KubeObject): void {
    this.#options.store.remove(object);
  }

  observeVersion(resourceVersion: string | undefined): void {
    this.#options.store.observeVersion(resourceVersion);
  }

  // StoreReflectors

  retryNow(namespace?: string): void {
    this.#clusterWide.retryNow();
    for (const { reflector } of this.#reflectorsOf(namespace)) reflector.retryNow();
  }

  reopen(namespace?: string): void {
    if (namespace === undefined) this.#clusterWide.reopen();
    for (const { reflector } of this.#reflectorsOf(namespace)) reflector.reopen();
  }

  async relist(): Promise<void> {
    // A forbidden cluster-wide reflector may never list again.
    const asked = this.#isForbidden ? this.#reflectorsOf(undefined) : [{ reflector: this.#clusterWide }];
    await Promise.all(asked.map(({ reflector }) => reflector.relist()));
  }

  freshAsOf(): number {
    if (!this.#isForbidden) return this.#clusterWide.freshAsOf();
    // Every RBAC decision reads this. A cached value errs on the safe side while the same namespaces are synced.
    const { statusChangeCount } = this.#options.store;
    const now = performance.now();
    if (this.#freshness?.revision !== statusChangeCount || now - this.#freshness.asked > FRESHNESS_CACHE_MS)
      this.#freshness = { revision: statusChangeCount, asked: now, at: this.#computeFreshness() };
    return this.#freshness.at;
  }

  limitStaleness(milliseconds: number): void {
    this.#maxStalenessMs = Math.min(this.#maxStalenessMs, milliseconds);
    for (const { limitStaleness } of [
      this.#clusterWide,
      ...this.#reflectorsOf(undefined).map(({ reflector }) => reflector),
    ])
      limitStaleness(milliseconds);
  }

  watchNamespace(namespace: string): () => void {
    this.#requested.set(namespace, (this.#requested.get(namespace) ?? 0) + 1);
    if (this.#isForbidden) this.#syncNamespace(namespace);
    return () => {
      const remaining = (this.#requested.get(namespace) ?? 1) - 1;
      if (remaining > 0) this.#requested.set(namespace, remaining);
      else this.#requested.delete(namespace);
      if (this.#isForbidden) this.#syncNamespace(namespace);
    };
  }

  // Inside

  #computeFreshness(): number {
    const seen = [...this.#byNamespace].filter(([namespace]) => this.#options.store.syncStatusOf(namespace).synced);
    return seen.reduce(
      (oldest, [, { reflector }]) => Math.min(oldest, reflector.freshAsOf()),
      seen.length > 0 ? Infinity : -Infinity,
    );
  }

  #reflectorsOf(namespace: string | undefined): NamespaceReflector[] {
    if (namespace === undefined) return [...this.#byNamespace.values()];
    const part = this.#byNamespace.get(namespace);
    return part ? [part] : [];
  }

  /** Starts and stops reflectors so that each watched namespace has one, in the order of names. */
  #syncNamespaces(): void {
    if (this.#signal.aborted) return;
    const { namespaces, store } = this.#options;
    const wanted = new Set([...namespaces.listFor(this.ref), ...this.#requested.keys()].sort());
    if (!namespaces.isKnown || namespaces.isComplete || wanted.size > 0) store.switchToNamespaces();
    else store.setState("parked", "Forbidden");
    for (const [namespace, part] of this.#byNamespace) if (!wanted.has(namespace)) this.#dropNamespace(namespace, part);
    for (const namespace of [...wanted].filter((one) => !this.#byNamespace.has(one))) this.#start(namespace);
    if (namespaces.isComplete) store.markNamespacesComplete();
  }

  /** As `#syncNamespaces`, after a change of this namespace only. */
  #syncNamespace(namespace: string): void {
    if (this.#signal.aborted) return;
    const { namespaces, store } = this.#options;
    const part = this.#byNamespace.get(namespace);
    const isWanted = this.#requested.has(namespace) || namespaces.has(this.ref, namespace);
    if (part && !isWanted) this.#dropNamespace(namespace, part);
    // The first and the last namespace decide whether the store is scoped at all.
    if (!store.isScoped || (part && this.#byNamespace.size === 0)) return this.#syncNamespaces();
    if (!part && isWanted) this.#start(namespace);
  }

  #start(namespace: string): void {
    const stop = new AbortController();
    const reflector = startReflector(
      { ...this.#options, store: this.#options.store.namespaceStore(namespace), namespace },
      AbortSignal.any([stop.signal, this.#signal]),
    );
    if (this.#maxStalenessMs < Infinity) reflector.limitStaleness(this.#maxStalenessMs);
    this.#byNamespace.set(namespace, { reflector, stop });
  }

  #dropNamespace(namespace: string, part: NamespaceReflector): void {
    this.#stopNamespace(namespace, part);
    this.#options.store.removeNamespace(namespace, this.#options.namespaces.removalOf(namespace));
  }

  #stopNamespaces(): void {
    for (const [namespace, part] of this.#byNamespace) this.#stopNamespace(namespace, part);
  }

  #stopNamespace(namespace: string, { reflector, stop }: NamespaceReflector): void {
    stop.abort();
    this.#byNamespace.delete(namespace);
    const ended = reflector.stopped.finally(() => this.#stopping.delete(ended));
    this.#stopping.add(ended);
  }
}
