// An informer: a watch, its store, its users and its status.
import {
  type StoreReflectors,
  startSingleReflector,
  startClusterOrNamespaceReflectors,
} from "./scoped/store-reflectors.ts";
import { stripManagedFields } from "../api/managed-fields.ts";
import { omitUndefined } from "../api/omit-undefined.ts";
import type { WatchedNamespaces } from "./scoped/watched-namespaces.ts";
import type { KubeObject } from "../api/object.ts";
import { apiVersionOf, resourceId, type ResourceRef } from "../api/resource-ref.ts";
import { shareFieldSets } from "./shared-fields.ts";
import { WritableStore } from "./store.ts";
import type { EnsureOptions, InformersOptions, InformerStatus } from "./informer-options.ts";

/**
 * Lifetime of a watch, chosen at random between the two bounds. A revoked permission is noticed when the watch is reopened, so the
 * upper bound is the published bound of revocation (docs/runtime.md). Namespaced kinds hold tenants' objects, so theirs is shorter.
 */
const WATCH_SECONDS = { namespaced: [60, 120], cluster: [300, 600] } as const;

export interface InformerScope {
  namespace?: string;
  labelSelector?: string;
  fieldSelector?: string;
}

export interface Informer {
  id: string;
  ref: ResourceRef;
  scope: InformerScope;
  metadata: boolean;
  transform: EnsureOptions<KubeObject>["transform"];
  store: WritableStore<KubeObject>;
  reflectors: StoreReflectors;
  stop: AbortController;
  users: number;
  keepFieldsOf: Set<string>;
  lingerTimer: NodeJS.Timeout | undefined;
  /** The last status, reused until the store's status changes. */
  lastStatus?: { revision: number; status: InformerStatus };
}

interface StartRequest {
  ref: ResourceRef;
  request: EnsureOptions<KubeObject>;
  namespaces: WatchedNamespaces;
}

export function startInformer(options: InformersOptions, { ref, request, namespaces }: StartRequest): Informer {
  const { client, log, freeze = false } = options;
  const { namespace, labelSelector, fieldSelector, metadata = false, onError, indexes = {} } = request;
  const id = resourceId(ref);
  const scope: InformerScope = omitUndefined({ namespace, labelSelector, fieldSelector });
  const keepFieldsOf = new Set(request.keepFieldsOf);
  const store = new WritableStore<KubeObject>(ref, {
    indexes,
    freeze,
    onFault: (err) => log.error({ err, resource: id }, "an event handler or index function of a cache threw"),
  });
  const stop = new AbortController();
  const prepare = createPrepare(options, { ref, request, keepFieldsOf });
  const timing = { watchSeconds: ref.namespaced ? WATCH_SECONDS.namespaced : WATCH_SECONDS.cluster, ...options.timing };
  const reflectorOptions = { client, store, ...scope, metadata, prepare, log, timing, ...(onError && { onError }) };
  const following =
    ref.namespaced && !namespace
      ? startClusterOrNamespaceReflectors({ ...reflectorOptions, namespaces }, stop.signal)
      : startSingleReflector(reflectorOptions, stop.signal);
  return {
    id,
    ref,
    scope,
    metadata,
    transform: request.transform,
    store,
    reflectors: following,
    stop,
    users: 0,
    keepFieldsOf,
    lingerTimer: undefined,
  };
}

function createPrepare(
  options: InformersOptions,
  {
    ref,
    request,
    keepFieldsOf,
  }: { ref: ResourceRef; request: EnsureOptions<KubeObject>; keepFieldsOf: ReadonlySet<string> },
) {
  const transform = request.transform ?? ((object: KubeObject) => options.transform?.(object, ref) ?? object);
  const apiVersion = apiVersionOf(ref);
  return (object: KubeObject): KubeObject => {
    const prepared = shareFieldSets(stripManagedFields(transform(object), keepFieldsOf));
    // Parsed anew with each object: one string is enough for all.
    if (prepared.apiVersion === apiVersion) prepared.apiVersion = apiVersion;
    return prepared;
  };
}

export async function extendInformer(informer: Informer, request: EnsureOptions<KubeObject>): Promise<void> {
  for (const [name, of] of Object.entries(request.indexes ?? {})) informer.store.addIndex(name, of);
  // A caller that asks for a parked watch again may have been granted the permission.
  if (informer.store.syncStatusOf(request.namespace).state === "parked")
    informer.reflectors.retryNow(request.namespace);
  const missing = (request.keepFieldsOf ?? []).filter((manager) => !informer.keepFieldsOf.has(manager));
  for (const manager of missing) informer.keepFieldsOf.add(manager);
  // Cached objects have lost these entries, so list again.
  if (missing.length > 0) await informer.reflectors.relist();
}

/** The same object until the status changes, since it is read often. */
export function statusOfInformer(informer: Informer): InformerStatus {
  const revision = informer.store.statusChangeCount;
  if (informer.lastStatus?.revision !== revision) informer.lastStatus = { revision, status: toStatus(informer) };
  return informer.lastStatus.status;
}

function toStatus({ id, scope, store }: Informer): InformerStatus {
  const { state, parkReason, synced, namespaceWatches } = store;
  const elsewhere = (namespaceWatches?.notWatching ?? []).map((namespace) => {
    const { state: at, parkReason: why } = store.syncStatusOf(namespace);
    return { namespace, state: at, ...(why && { parkReason: why }) };
  });
  return {
    resource: id,
    ...scope,
    state,
    ...(parkReason && { parkReason }),
    synced,
    ...(namespaceWatches && { namespaces: namespaceWatches.count, notWatching: elsewhere }),
  };
}
