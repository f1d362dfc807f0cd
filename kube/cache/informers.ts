// The set of watches of one process on one cluster. Whoever needs a kind says so; the union of all wishes runs, each watch once.
import type { Logger } from "pino";
import type { KubeClient } from "../client/client.ts";
import { Namespace } from "../api/builtin.ts";
import { createNamespaces, type Namespaces, type SplitRule } from "./scoped/watched-namespaces.ts";
import type { KubeObject } from "../api/object.ts";
import { createOwnRights } from "../rbac/own-permission-changes.ts";
import { type IndexFunction, NotWatched, type ParkReason, type Reader, type Store, type WatchState } from "./reader.ts";
import type { ErrorVerdict, ReflectorTiming } from "./reflector.ts";
import { createRegistrar, type Registrar, type RegistrarOptions, watchId } from "./dynamic-watches.ts";
import { resourceId, type ResourceRef } from "../api/resource-ref.ts";
import { type Extent, parseSimpleSelector, StoreView } from "./store-view.ts";
import { type Entry, join, startEntry, statusOf } from "./informer.ts";

export interface WatchesOptions {
  client: KubeClient;
  log: Logger;
  /** For kinds whose `ensure` gave none. Runs before managedFields are dropped; may change and return the same object. */
  transform?: (object: KubeObject, ref: ResourceRef) => KubeObject;
  /** Freeze cached objects, so that changing one throws. For tests. */
  freeze?: boolean;
  timing?: Partial<ReflectorTiming>;
  /** How long a watch outlives its last user; 30 s unless said. */
  lingerMs?: number;
  /** Where a namespaced kind is watched when it may not be watched whole. Without it only namespaces that are asked for by name are. */
  split?: SplitRule;
}

export interface EnsureOptions<T extends KubeObject> {
  namespace?: string;
  labelSelector?: string;
  fieldSelector?: string;
  /** Metadata is enough: no spec, no status, no data is held (unless somebody else watches the whole objects anyway). */
  metadata?: boolean;
  /** What to do about a failure of this watch; undefined leaves it to the rules of Reflector. Given for a new watch only. */
  onError?: (error: unknown) => ErrorVerdict | undefined;
  indexes?: Readonly<Record<string, IndexFunction<T>>>;
  /** As in WatchesOptions. The first one given for a watch stays. */
  transform?: (object: T) => T;
  /** Field managers whose applied managedFields entries stay in the cache. */
  keepFieldsOf?: readonly string[];
  /** The watch is opened again, and a silent server taken for dead, so often that `heardAt` need never be older. Milliseconds, 2,000 or more. */
  hearWithinMs?: number;
}

export interface WatchHandle<T extends KubeObject> {
  readonly store: Store<T>;
  /** Resolves when what this `ensure` asked to keep is in the cache (at once for a new watch: then the store is not synced yet). */
  readonly settled: Promise<void>;
  /** When the server last showed that the cache was level with it (`performance.now()`); -Infinity before the first list. */
  heardAt(): number;
  /** This user needs the watch no more. Once only; later calls do nothing. */
  release(): void;
}

export interface WatchStatus {
  resource: string;
  namespace?: string;
  labelSelector?: string;
  fieldSelector?: string;
  state: WatchState;
  parkReason?: ParkReason;
  synced: boolean;
  /** Only where namespaces are watched one by one: how many, and those of them that are not being watched right now. */
  namespaces?: number;
  elsewhere?: { namespace: string; state: WatchState; parkReason?: ParkReason }[];
}

export interface Watches {
  /**
   * Starts the watch unless it runs, adds the indexes, and counts the user; a parked one looks again at once. Never waits.
   * A part of what is watched whole anyway (one namespace, labels by equality or presence) is a view of that.
   */
  ensure<T extends KubeObject>(ref: ResourceRef<T>, options?: EnsureOptions<T>): WatchHandle<T>;
  /** The store that `read` would use. @throws NotWatched */
  store<T extends KubeObject>(ref: ResourceRef<T>, scope?: { namespace?: string }): Store<T>;
  /** Reads go to the unrestricted watch of the kind, else to that of the namespace asked for, else to the kind's only watch. */
  readonly read: Reader;
  /** For those whose needs come and go. Close it when done. */
  registrar(options: Pick<RegistrarOptions, "name" | "deliver">): Registrar;
  /** The very same array while nothing of it changes. */
  status(): readonly WatchStatus[];
  /** True when all watches of this moment are synced; parked ones never are. */
  waitSynced(deadlineMs: number): Promise<boolean>;
  /** Look again at parked watches and those in backoff now; of one kind or of all. */
  wake(ref?: ResourceRef): void;
  /** Opens the watches of a kind (`plural.group`) anew where they were: one that has gone silent without knowing it goes on. */
  recheck(resource: string): void;
  /** Lists a kind again, or all that are not parked, as after a break. Resolves when lists that began after this call are in the stores, or the watches have ended. */
  relist(ref?: ResourceRef): Promise<void>;
  /** Ends all watches. Stores stay readable with what they have. */
  close(): Promise<void>;
}

const LOOK_DEADLINE_MS = 10_000;
const SERVED_LOOKS_MS = [500, 2_000, 8_000];

export function createWatches(options: WatchesOptions): Watches {
  return new WatchSet(options);
}

class WatchSet implements Watches {
  readonly read: Reader;
  readonly #options: WatchesOptions;
  readonly #entries = new Map<string, Entry>();
  readonly #ending = new Set<Promise<void>>();
  readonly #closing = new AbortController();
  readonly #namespaces: Namespaces;
  readonly #rights;
  #told: readonly WatchStatus[] = [];

  constructor(options: WatchesOptions) {
    this.#options = options;
    this.#namespaces = createNamespaces(options.split, {
      open: (labelSelector) => this.ensure(Namespace, { labelSelector, metadata: true }).store as unknown as Store,
      look: (name, signal) => lookAtNamespace(options.client, name, signal),
      signal: this.#closing.signal,
    });
    this.#rights = createOwnRights(options.client, options.log, (namespace) => {
      for (const { following } of this.#entries.values()) following.recheck(namespace);
    });
    this.read = createReader((ref, scope) => this.store(ref, scope));
  }

  ensure<T extends KubeObject>(ref: ResourceRef<T>, wish: EnsureOptions<T> = {}): WatchHandle<T> {
    return this.#ensure(ref, wish as unknown as EnsureOptions<KubeObject>) as unknown as WatchHandle<T>;
  }

  store<T extends KubeObject>(ref: ResourceRef<T>, scope: { namespace?: string | undefined } = {}): Store<T> {
    return choose([...this.#entries.values()], resourceId(ref), scope.namespace).store as unknown as Store<T>;
  }

  registrar(options: Pick<RegistrarOptions, "name" | "deliver">): Registrar {
    return createRegistrar({ ...options, log: this.#options.log, ensure: ({ ref, ...wish }) => this.#ensure(ref, wish) });
  }

  status(): readonly WatchStatus[] {
    const now = [...this.#entries.values()].map(statusOf);
    if (now.length !== this.#told.length || now.some((one, at) => one !== this.#told[at])) this.#told = now;
    return this.#told;
  }

  async waitSynced(deadlineMs: number): Promise<boolean> {
    const synced = await Promise.all([...this.#entries.values()].map((entry) => entry.store.waitSynced(deadlineMs)));
    return synced.every(Boolean);
  }

  wake(ref?: ResourceRef): void {
    for (const entry of this.#entries.values()) if (!ref || entry.id === resourceId(ref)) entry.following.wake();
  }

  recheck(resource: string): void {
    for (const entry of this.#entries.values()) if (entry.id === resource) entry.following.recheck();
  }

  async relist(ref?: ResourceRef): Promise<void> {
    const concerned = [...this.#entries.values()].filter((entry) => (ref ? entry.id === resourceId(ref) : entry.store.state !== "parked"));
    await Promise.all(concerned.map((entry) => entry.following.relist()));
  }

  async close(): Promise<void> {
    this.#closing.abort();
    this.#rights.close();
    for (const [key, entry] of [...this.#entries]) void this.#end(key, entry);
    await Promise.all(this.#ending);
  }

  #ensure(ref: ResourceRef, wish: EnsureOptions<KubeObject>): WatchHandle<KubeObject> {
    const own = watchId({ ref, ...wish });
    const cover = this.#entries.has(own) ? undefined : this.#covering(ref, wish);
    const key = cover?.key ?? own;
    const known = this.#entries.get(key);
    const entry = known ?? this.#start(key, ref, wish);
    const settled = known ? join(known, wish) : Promise.resolve();
    entry.following.hearWithin(wish.hearWithinMs ?? Infinity);
    clearTimeout(entry.linger);
    entry.users++;
    const undo = cover && wish.namespace !== undefined ? entry.following.demand(wish.namespace) : undefined;
    return {
      store: cover ? new StoreView(entry.store, cover.extent) : entry.store,
      settled,
      heardAt: () => entry.following.heardAt(),
      release: once(() => {
        undo?.();
        this.#release(key, entry);
      }),
    };
  }

  /** A watch of the whole kind that shows all that is wished, if one runs. */
  #covering(ref: ResourceRef, wish: EnsureOptions<KubeObject>): { key: string; extent: Extent } | undefined {
    if (wish.fieldSelector) return undefined;
    const labels = wish.labelSelector ? parseSimpleSelector(wish.labelSelector) : new Map<string, undefined>();
    const key = watchId({ ref });
    const whole = this.#entries.get(key);
    if (!labels || !whole || (wish.transform && wish.transform !== whole.transform)) return undefined;
    return { key, extent: { namespace: wish.namespace, labels } };
  }

  #start(key: string, ref: ResourceRef, wish: EnsureOptions<KubeObject>): Entry {
    const entry = startEntry(this.#options, { ref, wish, namespaces: this.#namespaces });
    this.#entries.set(key, entry);
    if (["rolebindings", "clusterrolebindings"].includes(ref.plural) && ref.group === "rbac.authorization.k8s.io" && !wish.metadata) this.#rights.observe(entry.store);
    if (entry.id === "customresourcedefinitions.apiextensions.k8s.io") this.#wakeServed(entry.store);
    return entry;
  }

  /** A kind that was not served may be so after any change of its definition, or a moment later: the API server tells of a definition before it serves it. */
  #wakeServed(definitions: Store): void {
    const wake = (id: string): boolean => {
      const parked = [...this.#entries.values()].filter((entry) => entry.id === id && entry.store.state === "parked");
      for (const { following } of parked) following.wake();
      return parked.length > 0;
    };
    definitions.onChange(({ object: { metadata } }) => {
      if (wake(metadata.name)) for (const afterMs of SERVED_LOOKS_MS) setTimeout(() => wake(metadata.name), afterMs).unref();
    });
  }

  #release(key: string, entry: Entry): void {
    if (--entry.users > 0 || this.#entries.get(key) !== entry) return;
    entry.linger = setTimeout(() => void this.#end(key, entry), this.#options.lingerMs ?? 30_000);
    entry.linger.unref();
  }

  #end(key: string, entry: Entry): Promise<void> {
    clearTimeout(entry.linger);
    this.#entries.delete(key);
    entry.stop.abort();
    const ended = entry.following.stopped.finally(() => this.#ending.delete(ended));
    this.#ending.add(ended);
    return ended;
  }
}

/** By a list, which whoever may watch may ask for. */
async function lookAtNamespace(client: KubeClient, name: string, signal: AbortSignal): Promise<KubeObject | undefined> {
  const { items } = await client.list(Namespace, { fieldSelector: `metadata.name=${name}`, metadata: true, deadlineMs: LOOK_DEADLINE_MS, signal });
  return items[0];
}

function choose(entries: readonly Entry[], id: string, namespace: string | undefined): Entry {
  const ofKind = entries.filter((entry) => entry.id === id && !entry.metadata);
  const whole = ofKind.find((entry) => Object.keys(entry.scope).length === 0);
  const fitting = whole ?? ofKind.find((entry) => namespace !== undefined && entry.scope.namespace === namespace && Object.keys(entry.scope).length === 1);
  const only = ofKind.length === 1 ? ofKind[0] : undefined;
  const chosen = fitting ?? only;
  if (!chosen) throw new NotWatched(id, ofKind.length > 1 ? "it has several restricted watches; read from the handle's store" : undefined);
  return chosen;
}

function once(call: () => void): () => void {
  let done = false;
  return () => {
    if (!done) call();
    done = true;
  };
}

type StoreOf = <T extends KubeObject>(ref: ResourceRef<T>, scope?: { namespace?: string | undefined }) => Store<T>;

function createReader(store: StoreOf): Reader {
  return {
    find: (ref, key) => store(ref, key).find(key),
    get: (ref, key) => store(ref, key).get(key),
    getMany: (ref, keys) => (keys.length > 0 ? store(ref, keys[0]).getMany(keys) : []),
    list: (ref, filter) => store(ref, filter).list(filter),
    byIndex: (ref, index, value, namespace) => store(ref, { namespace }).byIndex(index, value, namespace),
    byUid: (ref, uid) => store(ref).byUid(uid),
  };
}

