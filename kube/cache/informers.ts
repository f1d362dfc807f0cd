// The informers of one process on one cluster. Each watch runs once, for the union of all users.
import type { KubeClient } from "../client/client.ts";
import { Namespace } from "../api/builtin.ts";
import { createWatchedNamespaces, type WatchedNamespaces } from "./scoped/watched-namespaces.ts";
import type { KubeObject } from "../api/object.ts";
import { watchOwnPermissions } from "../rbac/own-permission-changes.ts";
import type { Reader, Store } from "./reader.ts";
import { NotWatched } from "./errors.ts";
import type { EnsureOptions, InformersOptions, InformerStatus } from "./informer-options.ts";
import { createDynamicWatches, type DynamicWatches, type DynamicWatchesOptions, watchId } from "./dynamic-watches.ts";
import { resourceId, type ResourceRef } from "../api/resource-ref.ts";
import { type ViewScope, parseEqualitySelector, StoreView } from "./filtered-store.ts";
import { type Informer, extendInformer, startInformer, statusOfInformer } from "./informer.ts";

export interface InformerHandle<T extends KubeObject> {
  readonly store: Store<T>;
  /** Resolves when the entries of `keepFieldsOf` are in the cache; at once for a new watch, whose store is not synced yet. */
  readonly fieldsKept: Promise<void>;
  /** Last time (`performance.now()`) at which the server confirmed that the cache was current; -Infinity before the first list. */
  freshAsOf(): number;
  /** Releases this user's reference. Idempotent. */
  release(): void;
}

export interface Informers {
  /**
   * Starts or joins the watch, adds the indexes and counts a user; a parked watch retries at once. Returns at once.
   * A request for one namespace, or for labels by equality or presence, is a view of a cluster-wide watch that runs.
   */
  ensure<T extends KubeObject>(ref: ResourceRef<T>, options?: EnsureOptions<T>): InformerHandle<T>;
  /** The store that `read` uses. @throws NotWatched */
  store<T extends KubeObject>(ref: ResourceRef<T>, scope?: { namespace?: string }): Store<T>;
  /** As `read`, but where only several restricted watches of a kind run, it reads from the one among `own`. */
  readPreferring(own: readonly Store[]): Reader;
  /** Reads use the cluster-wide watch of the kind, else the watch of the requested namespace, else the only watch of the kind. */
  readonly read: Reader;
  /** For watches that come and go. Close it when done. */
  dynamicWatches(options: Pick<DynamicWatchesOptions, "name" | "deliver">): DynamicWatches;
  /** The same array until a status changes. */
  status(): readonly InformerStatus[];
  /** Whether all current watches synced before the deadline; parked watches never do. */
  waitSynced(deadlineMs: number): Promise<boolean>;
  /** Retries parked watches and those in backoff now; of one kind or of all. */
  retryNow(ref?: ResourceRef): void;
  /** Reopens the watches of a kind (`plural.group`) at their resourceVersion, in case a connection is dead without notice. */
  reopen(resource: string): void;
  /** Lists a kind again, or every kind that is not parked. Resolves when lists started after this call are in the stores, or the watches have ended. */
  relist(ref?: ResourceRef): Promise<void>;
  /** Stops all watches. Stores stay readable with their last contents. */
  close(): Promise<void>;
}

const NAMESPACE_LOOKUP_DEADLINE_MS = 10_000;
const KIND_SERVED_RETRIES_MS = [500, 2_000, 8_000];

export function createInformers(options: InformersOptions): Informers {
  return new InformerSet(options);
}

class InformerSet implements Informers {
  readonly read: Reader;
  readonly #options: InformersOptions;
  readonly #informers = new Map<string, Informer>();
  readonly #stopping = new Set<Promise<void>>();
  readonly #closing = new AbortController();
  readonly #namespaces: WatchedNamespaces;
  readonly #permissionChanges;
  #lastStatus: readonly InformerStatus[] = [];

  constructor(options: InformersOptions) {
    this.#options = options;
    this.#namespaces = createWatchedNamespaces(options.namespaceScope, {
      watchLabelled: (labelSelector) =>
        this.ensure(Namespace, { labelSelector, metadata: true }).store as unknown as Store,
      findLive: (name, signal) => findLiveNamespace(options.client, name, signal),
      signal: this.#closing.signal,
    });
    this.#permissionChanges = watchOwnPermissions(options.client, options.log, (namespace) => {
      for (const { reflectors } of this.#informers.values()) reflectors.reopen(namespace);
    });
    this.read = createReader((ref, scope) => this.store(ref, scope));
  }

  ensure<T extends KubeObject>(ref: ResourceRef<T>, request: EnsureOptions<T> = {}): InformerHandle<T> {
    return this.#ensure(ref, request as unknown as EnsureOptions<KubeObject>) as unknown as InformerHandle<T>;
  }

  store<T extends KubeObject>(ref: ResourceRef<T>, scope: { namespace?: string | undefined } = {}): Store<T> {
    return chooseInformer([...this.#informers.values()], resourceId(ref), scope.namespace).store as unknown as Store<T>;
  }

  readPreferring(own: readonly Store[]): Reader {
    const ownStores = new Map(own.map((store) => [resourceId(store.ref), store]));
    return createReader(<T extends KubeObject>(ref: ResourceRef<T>, scope: { namespace?: string | undefined } = {}) => {
      const id = resourceId(ref);
      const chosen = findInformer([...this.#informers.values()], id, scope.namespace);
      return (chosen?.store ?? ownStores.get(id) ?? this.store(ref, scope)) as unknown as Store<T>;
    });
  }

  dynamicWatches(options: Pick<DynamicWatchesOptions, "name" | "deliver">): DynamicWatches {
    return createDynamicWatches({
      ...options,
      log: this.#options.log,
      ensure: ({ ref, ...request }) => this.#ensure(ref, request),
    });
  }

  status(): readonly InformerStatus[] {
    const now = [...this.#informers.values()].map(statusOfInformer);
    if (now.length !== this.#lastStatus.length || now.some((one, at) => one !== this.#lastStatus[at]))
      this.#lastStatus = now;
    return this.#lastStatus;
  }

  async waitSynced(deadlineMs: number): Promise<boolean> {
    const synced = await Promise.all([...this.#informers.values()].map((entry) => entry.store.waitSynced(deadlineMs)));
    return synced.every(Boolean);
  }

  retryNow(ref?: ResourceRef): void {
    for (const entry of this.#informers.values()) if (!ref || entry.id === resourceId(ref)) entry.reflectors.retryNow();
  }

  reopen(resource: string): void {
    for (const entry of this.#informers.values()) if (entry.id === resource) entry.reflectors.reopen();
  }

  async relist(ref?: ResourceRef): Promise<void> {
    const concerned = [...this.#informers.values()].filter((entry) =>
      ref ? entry.id === resourceId(ref) : entry.store.state !== "parked",
    );
    await Promise.all(concerned.map((entry) => entry.reflectors.relist()));
  }

  async close(): Promise<void> {
    this.#closing.abort();
    this.#permissionChanges.close();
    for (const [key, entry] of [...this.#informers]) void this.#stop(key, entry);
    await Promise.all(this.#stopping);
  }

  #ensure(ref: ResourceRef, request: EnsureOptions<KubeObject>): InformerHandle<KubeObject> {
    const own = watchId({ ref, ...request });
    const cover = this.#informers.has(own) ? undefined : this.#findCovering(ref, request);
    const key = cover?.key ?? own;
    const known = this.#informers.get(key);
    const entry = known ?? this.#start(key, ref, request);
    const settled = known ? extendInformer(known, request) : Promise.resolve();
    entry.reflectors.limitStaleness(request.maxStalenessMs ?? Infinity);
    clearTimeout(entry.lingerTimer);
    entry.users++;
    const undo =
      cover && request.namespace !== undefined ? entry.reflectors.watchNamespace(request.namespace) : undefined;
    return {
      store: cover ? new StoreView(entry.store, cover.extent) : entry.store,
      fieldsKept: settled,
      freshAsOf: () => entry.reflectors.freshAsOf(),
      release: once(() => {
        undo?.();
        this.#release(key, entry);
      }),
    };
  }

  /** A running cluster-wide watch that covers the request. */
  #findCovering(ref: ResourceRef, request: EnsureOptions<KubeObject>): { key: string; extent: ViewScope } | undefined {
    if (request.fieldSelector) return undefined;
    const labels = request.labelSelector ? parseEqualitySelector(request.labelSelector) : new Map<string, undefined>();
    const key = watchId({ ref });
    const whole = this.#informers.get(key);
    if (!labels || !whole || (request.transform && request.transform !== whole.transform)) return undefined;
    return { key, extent: { namespace: request.namespace, labels } };
  }

  #start(key: string, ref: ResourceRef, request: EnsureOptions<KubeObject>): Informer {
    const entry = startInformer(this.#options, { ref, request, namespaces: this.#namespaces });
    this.#informers.set(key, entry);
    if (
      ["rolebindings", "clusterrolebindings"].includes(ref.plural) &&
      ref.group === "rbac.authorization.k8s.io" &&
      !request.metadata
    )
      this.#permissionChanges.observe(entry.store);
    if (entry.id === "customresourcedefinitions.apiextensions.k8s.io") this.#retryWhenServed(entry.store);
    return entry;
  }

  /** Retries watches of a kind after its CRD changed, and again later: the API server reports a CRD before it serves the kind. */
  #retryWhenServed(definitions: Store): void {
    const retryParked = (id: string): boolean => {
      const parked = [...this.#informers.values()].filter((entry) => entry.id === id && entry.store.state === "parked");
      for (const { reflectors } of parked) reflectors.retryNow();
      return parked.length > 0;
    };
    definitions.onChange(({ object: { metadata } }) => {
      if (retryParked(metadata.name))
        for (const afterMs of KIND_SERVED_RETRIES_MS) setTimeout(() => retryParked(metadata.name), afterMs).unref();
    });
  }

  #release(key: string, entry: Informer): void {
    if (--entry.users > 0 || this.#informers.get(key) !== entry) return;
    entry.lingerTimer = setTimeout(() => void this.#stop(key, entry), this.#options.lingerMs ?? 30_000);
    entry.lingerTimer.unref();
  }

  #stop(key: string, entry: Informer): Promise<void> {
    clearTimeout(entry.lingerTimer);
    this.#informers.delete(key);
    entry.stop.abort();
    const ended = entry.reflectors.stopped.finally(() => this.#stopping.delete(ended));
    this.#stopping.add(ended);
    return ended;
  }
}

/** Uses list, because permission to watch usually comes with permission to list. */
async function findLiveNamespace(
  client: KubeClient,
  name: string,
  signal: AbortSignal,
): Promise<KubeObject | undefined> {
  const { items } = await client.list(Namespace, {
    fieldSelector: `metadata.name=${name}`,
    metadata: true,
    deadlineMs: NAMESPACE_LOOKUP_DEADLINE_MS,
    signal,
  });
  return items[0];
}

function chooseInformer(entries: readonly Informer[], id: string, namespace: string | undefined): Informer {
  const chosen = findInformer(entries, id, namespace);
  if (chosen) return chosen;
  const isAmbiguous = entries.filter((entry) => entry.id === id && !entry.metadata).length > 1;
  throw new NotWatched(id, isAmbiguous ? "it has several restricted watches; read from the handle's store" : undefined);
}

function findInformer(entries: readonly Informer[], id: string, namespace: string | undefined): Informer | undefined {
  const ofKind = entries.filter((entry) => entry.id === id && !entry.metadata);
  const whole = ofKind.find((entry) => Object.keys(entry.scope).length === 0);
  const fitting =
    whole ??
    ofKind.find(
      (entry) =>
        namespace !== undefined && entry.scope.namespace === namespace && Object.keys(entry.scope).length === 1,
    );
  return fitting ?? (ofKind.length === 1 ? ofKind[0] : undefined);
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
