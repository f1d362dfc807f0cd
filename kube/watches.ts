// The set of watches of one process on one cluster. Whoever needs a kind says so; equal wishes share one watch and one store.
import type { Logger } from "pino";
import type { KubeClient } from "./client/client.ts";
import { stripManagedFields } from "./managed-fields.ts";
import type { KubeObject } from "./object.ts";
import { type IndexFunction, NotWatched, type OrderFunction, type ParkReason, type Reader, type Store, type WatchState } from "./reader.ts";
import { type Reflector, type ReflectorTiming, startReflector } from "./reflector.ts";
import { resourceId, type ResourceRef } from "./resource-ref.ts";
import { FedStore } from "./store.ts";

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
}

export interface EnsureOptions<T extends KubeObject> {
  namespace?: string;
  labelSelector?: string;
  fieldSelector?: string;
  indexes?: Readonly<Record<string, IndexFunction<T>>>;
  orders?: Readonly<Record<string, OrderFunction<T>>>;
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
}

export interface Watches {
  /** Starts the watch unless it runs, adds the indexes, and counts the user. Never waits. */
  ensure<T extends KubeObject>(ref: ResourceRef<T>, options?: EnsureOptions<T>): WatchHandle<T>;
  /** The store that `read` would use. @throws NotWatched */
  store<T extends KubeObject>(ref: ResourceRef<T>, scope?: { namespace?: string }): Store<T>;
  /** Reads go to the unrestricted watch of the kind, else to that of the namespace asked for, else to the kind's only watch. */
  readonly read: Reader;
  status(): WatchStatus[];
  /** True when all watches of this moment are synced; parked ones never are. */
  waitSynced(deadlineMs: number): Promise<boolean>;
  /** Look again at parked watches and those in backoff now; of one kind or of all. */
  wake(ref?: ResourceRef): void;
  /** Lists a kind again, or all that are not parked, as after a break. Resolves when lists that began after this call are in the stores, or the watches have ended. */
  relist(ref?: ResourceRef): Promise<void>;
  /** Ends all watches. Stores stay readable with what they have. */
  close(): Promise<void>;
}

interface Scope {
  namespace?: string;
  labelSelector?: string;
  fieldSelector?: string;
}

interface Entry {
  id: string;
  scope: Scope;
  store: FedStore<KubeObject>;
  reflector: Reflector;
  stop: AbortController;
  users: number;
  keepFieldsOf: Set<string>;
  linger: NodeJS.Timeout | undefined;
}

export function createWatches(options: WatchesOptions): Watches {
  const entries = new Map<string, Entry>();
  const ending = new Set<Promise<void>>();

  const end = (key: string, entry: Entry): Promise<void> => {
    clearTimeout(entry.linger);
    entries.delete(key);
    entry.stop.abort();
    const ended = entry.reflector.stopped.finally(() => ending.delete(ended));
    ending.add(ended);
    return ended;
  };
  const release = (key: string, entry: Entry) => {
    if (--entry.users > 0 || entries.get(key) !== entry) return;
    entry.linger = setTimeout(() => void end(key, entry), options.lingerMs ?? 30_000);
    entry.linger.unref();
  };
  const store = <T extends KubeObject>(ref: ResourceRef<T>, scope: { namespace?: string | undefined } = {}): Store<T> =>
    choose([...entries.values()], resourceId(ref), scope.namespace).store as unknown as Store<T>;

  return {
    store,
    read: createReader(store),
    ensure<T extends KubeObject>(ref: ResourceRef<T>, wish: EnsureOptions<T> = {}): WatchHandle<T> {
      const key = JSON.stringify([ref.group, ref.version, ref.plural, wish.namespace ?? "", wish.labelSelector ?? "", wish.fieldSelector ?? ""]);
      const known = entries.get(key);
      const entry = known ?? startEntry(options, ref, wish as unknown as EnsureOptions<KubeObject>);
      entries.set(key, entry);
      const settled = known ? join(entry, wish as unknown as EnsureOptions<KubeObject>) : Promise.resolve();
      if (wish.hearWithinMs !== undefined) entry.reflector.hearWithin(wish.hearWithinMs);
      clearTimeout(entry.linger);
      entry.users++;
      let held = true;
      return {
        store: entry.store as unknown as Store<T>,
        settled,
        heardAt: () => entry.reflector.heardAt(),
        release() {
          if (held) release(key, entry);
          held = false;
        },
      };
    },
    status: () => [...entries.values()].map(toStatus),
    async waitSynced(deadlineMs) {
      const synced = await Promise.all([...entries.values()].map((entry) => entry.store.waitSynced(deadlineMs)));
      return synced.every(Boolean);
    },
    wake(ref) {
      for (const entry of entries.values()) if (!ref || entry.id === resourceId(ref)) entry.reflector.wake();
    },
    async relist(ref) {
      const concerned = [...entries.values()].filter((entry) => (ref ? entry.id === resourceId(ref) : entry.store.state !== "parked"));
      await Promise.all(concerned.map((entry) => entry.reflector.relist()));
    },
    async close() {
      for (const [key, entry] of [...entries]) void end(key, entry);
      await Promise.all(ending);
    },
  };
}

function startEntry(options: WatchesOptions, ref: ResourceRef, wish: EnsureOptions<KubeObject>): Entry {
  const { client, log, freeze = false, timing = {} } = options;
  const { namespace, labelSelector, fieldSelector, indexes = {}, orders = {} } = wish;
  const id = resourceId(ref);
  const scope: Scope = { ...(namespace && { namespace }), ...(labelSelector && { labelSelector }), ...(fieldSelector && { fieldSelector }) };
  const keepFieldsOf = new Set(wish.keepFieldsOf);
  const transform = wish.transform ?? ((object: KubeObject) => options.transform?.(object, ref) ?? object);
  const store = new FedStore<KubeObject>(ref, { indexes, orders, freeze, onFault: (err) => log.error({ err, resource: id }, "a listener or index of a cache failed") });
  const stop = new AbortController();
  const prepare = (object: KubeObject) => stripManagedFields(transform(object), keepFieldsOf);
  const reflector = startReflector({ client, store, ...scope, prepare, log, timing }, stop.signal);
  return { id, scope, store, reflector, stop, users: 0, keepFieldsOf, linger: undefined };
}

async function join(entry: Entry, wish: EnsureOptions<KubeObject>): Promise<void> {
  for (const [name, of] of Object.entries(wish.indexes ?? {})) entry.store.addIndex(name, of);
  for (const [name, of] of Object.entries(wish.orders ?? {})) entry.store.addOrder(name, of);
  const missing = (wish.keepFieldsOf ?? []).filter((manager) => !entry.keepFieldsOf.has(manager));
  for (const manager of missing) entry.keepFieldsOf.add(manager);
  // What is cached already has lost these entries.
  if (missing.length > 0) await entry.reflector.relist();
}

function choose(entries: readonly Entry[], id: string, namespace: string | undefined): Entry {
  const ofKind = entries.filter((entry) => entry.id === id);
  const whole = ofKind.find((entry) => Object.keys(entry.scope).length === 0);
  const fitting = whole ?? ofKind.find((entry) => namespace !== undefined && entry.scope.namespace === namespace && Object.keys(entry.scope).length === 1);
  const only = ofKind.length === 1 ? ofKind[0] : undefined;
  const chosen = fitting ?? only;
  if (!chosen) throw new NotWatched(id, ofKind.length > 1 ? "it has several restricted watches; read from the handle's store" : undefined);
  return chosen;
}

type StoreOf = <T extends KubeObject>(ref: ResourceRef<T>, scope?: { namespace?: string | undefined }) => Store<T>;

function createReader(store: StoreOf): Reader {
  return {
    find: (ref, key) => store(ref, key).find(key),
    get: (ref, key) => store(ref, key).get(key),
    getMany: (ref, keys) => (keys.length > 0 ? store(ref, keys[0]).getMany(keys) : []),
    list: (ref, filter) => store(ref, filter).list(filter),
    byIndex: (ref, index, value) => store(ref).byIndex(index, value),
    byUid: (ref, uid) => store(ref).byUid(uid),
  };
}

function toStatus(entry: Entry): WatchStatus {
  const { state, parkReason, synced } = entry.store;
  return { resource: entry.id, ...entry.scope, state, ...(parkReason && { parkReason }), synced };
}
