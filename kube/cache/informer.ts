// One running watch with its store: how it is started, joined and described.
import { type Following, followOne, followWhole } from "./scoped/store-reflectors.ts";
import { stripManagedFields } from "../api/managed-fields.ts";
import { defined } from "../api/omit-undefined.ts";
import type { Namespaces } from "./scoped/watched-namespaces.ts";
import type { KubeObject } from "../api/object.ts";
import { resourceId, type ResourceRef } from "../api/resource-ref.ts";
import { FedStore } from "./store.ts";
import type { EnsureOptions, WatchesOptions, WatchStatus } from "./informers.ts";

/**
 * Seconds that a watch lives, at random between the two: a right that is taken away is noticed when it is opened again, so the second
 * number is the published bound of revocation (docs/runtime.md). Namespaced kinds hold what is tenants'.
 */
export const WATCH_SECONDS = { namespaced: [60, 120], cluster: [300, 600] } as const;

export interface Scope {
  namespace?: string;
  labelSelector?: string;
  fieldSelector?: string;
}

export interface Entry {
  id: string;
  ref: ResourceRef;
  scope: Scope;
  metadata: boolean;
  transform: EnsureOptions<KubeObject>["transform"];
  store: FedStore<KubeObject>;
  following: Following;
  stop: AbortController;
  users: number;
  keepFieldsOf: Set<string>;
  linger: NodeJS.Timeout | undefined;
  /** What was last said of it. */
  told?: { revision: number; status: WatchStatus };
}

interface Start {
  ref: ResourceRef;
  wish: EnsureOptions<KubeObject>;
  namespaces: Namespaces;
}

export function startEntry(options: WatchesOptions, { ref, wish, namespaces }: Start): Entry {
  const { client, log, freeze = false } = options;
  const { namespace, labelSelector, fieldSelector, metadata = false, onError, indexes = {} } = wish;
  const id = resourceId(ref);
  const scope: Scope = defined({ namespace, labelSelector, fieldSelector });
  const keepFieldsOf = new Set(wish.keepFieldsOf);
  const store = new FedStore<KubeObject>(ref, { indexes, freeze, onFault: (err) => log.error({ err, resource: id }, "a listener or index of a cache failed") });
  const stop = new AbortController();
  const prepare = preparation(options, { ref, wish, keepFieldsOf });
  const timing = { watchSeconds: ref.namespaced ? WATCH_SECONDS.namespaced : WATCH_SECONDS.cluster, ...options.timing };
  const reflect = { client, store, ...scope, metadata, prepare, log, timing, ...(onError && { onError }) };
  const following = ref.namespaced && !namespace ? followWhole({ ...reflect, namespaces }, stop.signal) : followOne(reflect, stop.signal);
  return { id, ref, scope, metadata, transform: wish.transform, store, following, stop, users: 0, keepFieldsOf, linger: undefined };
}

function preparation(options: WatchesOptions, { ref, wish, keepFieldsOf }: { ref: ResourceRef; wish: EnsureOptions<KubeObject>; keepFieldsOf: ReadonlySet<string> }) {
  const transform = wish.transform ?? ((object: KubeObject) => options.transform?.(object, ref) ?? object);
  return (object: KubeObject): KubeObject => stripManagedFields(transform(object), keepFieldsOf);
}

export async function join(entry: Entry, wish: EnsureOptions<KubeObject>): Promise<void> {
  for (const [name, of] of Object.entries(wish.indexes ?? {})) entry.store.addIndex(name, of);
  // Whoever asks again for what is parked knows of a reason to look.
  if (entry.store.sightOf(wish.namespace).state === "parked") entry.following.wake(wish.namespace);
  const missing = (wish.keepFieldsOf ?? []).filter((manager) => !entry.keepFieldsOf.has(manager));
  for (const manager of missing) entry.keepFieldsOf.add(manager);
  // What is cached already has lost these entries.
  if (missing.length > 0) await entry.following.relist();
}

/** The very same object while nothing of it changes: it is asked for all the time. */
export function statusOf(entry: Entry): WatchStatus {
  const revision = entry.store.sightRevision;
  if (entry.told?.revision !== revision) entry.told = { revision, status: toStatus(entry) };
  return entry.told.status;
}

function toStatus({ id, scope, store }: Entry): WatchStatus {
  const { state, parkReason, synced, parts } = store;
  const elsewhere = (parts?.notWatching ?? []).map((namespace) => {
    const { state: at, parkReason: why } = store.sightOf(namespace);
    return { namespace, state: at, ...(why && { parkReason: why }) };
  });
  return { resource: id, ...scope, state, ...(parkReason && { parkReason }), synced, ...(parts && { namespaces: parts.count, elsewhere }) };
}
