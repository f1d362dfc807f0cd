// A real ClusterCache over stores that a test writes, and sessions on it: what callers see follows from Roles, bindings and claims as on a cluster.
import type { KubeObject } from "../../../kube/api/object.ts";
import type { ResourceRef } from "../../../kube/api/resource-ref.ts";
import { resourceId } from "../../../kube/api/resource-ref.ts";
import type { Informers } from "../../../kube/cache/informers.ts";
import type { IndexFunction } from "../../../kube/cache/reader.ts";
import { WritableStore } from "../../../kube/cache/store.ts";
import { NO_POLICIES } from "../../../crds/policy-template/policies.ts";
import { declaredPermissions } from "../declared-permissions.ts";
import { createSession } from "../create-session.ts";
import type { Session, SessionDeps } from "../session.ts";
import { type ClusterCache, createClusterCache } from "../../cache/cluster-cache.ts";

export interface MemoryInformers {
  /** Their stores are empty, and as good as unreadable before `sync`. */
  informers: Informers;
  /** The store of a kind that was ensured. */
  store<T extends KubeObject>(ref: ResourceRef<T>): WritableStore<T>;
  /** Every store is watching. */
  sync(): void;
}

/** Informers without a cluster: whoever has them writes the stores. */
export function createMemoryInformers(): MemoryInformers {
  const stores = new Map<string, WritableStore<KubeObject>>();
  const onFault = (error: unknown): never => {
    throw error;
  };
  const ensure = (ref: ResourceRef, { indexes = {} }: { indexes?: Record<string, IndexFunction<KubeObject>> } = {}) => {
    const id = resourceId(ref);
    const store = stores.get(id) ?? new WritableStore<KubeObject>(ref, { indexes, onFault });
    stores.set(id, store);
    return { store, freshAsOf: () => performance.now() };
  };
  return {
    informers: { ensure } as unknown as Informers,
    store: <T extends KubeObject>(ref: ResourceRef<T>) => stores.get(resourceId(ref)) as unknown as WritableStore<T>,
    sync() {
      for (const store of stores.values()) {
        store.replace([], "1");
        store.setState("watching");
      }
    },
  };
}

export interface LiveCache {
  cache: ClusterCache;
  store<T extends KubeObject>(ref: ResourceRef<T>): WritableStore<T>;
  /** A new request of a user. */
  session(user: string): Session;
}

/** Every store is synced and empty. */
export function createLiveCache(): LiveCache {
  const { informers, store, sync } = createMemoryInformers();
  const cache = createClusterCache(informers);
  sync();
  // Its sessions are of no endpoint, so a question that no row declares is no fault here.
  const log = { error: () => undefined };
  const deps = {
    cache,
    log,
    heldReads: {},
    now: () => new Date(),
    policies: () => NO_POLICIES,
  } as unknown as SessionDeps;
  return {
    cache,
    store,
    session: (name) =>
      createSession(deps, {
        caller: { name, groups: [] } as unknown as Session["caller"],
        signal: new AbortController().signal,
        permission: "authenticated",
        declared: declaredPermissions({ method: "GET", path: "", permission: "authenticated" }),
        writes: false,
      }),
  };
}
