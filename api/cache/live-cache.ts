// A real ClusterCache over stores that a test writes, and sessions on it: what callers see follows from Roles, bindings and claims as on a cluster.
import type { KubeObject } from "../../kube/api/object.ts";
import type { ResourceRef } from "../../kube/api/resource-ref.ts";
import { resourceId } from "../../kube/api/resource-ref.ts";
import type { Informers } from "../../kube/cache/informers.ts";
import { WritableStore } from "../../kube/cache/store.ts";
import { createSession } from "../access/create-session.ts";
import type { Session, SessionDeps } from "../access/session.ts";
import { type ClusterCache, createClusterCache } from "./cluster-cache.ts";

export interface LiveCache {
  cache: ClusterCache;
  store<T extends KubeObject>(ref: ResourceRef<T>): WritableStore<T>;
  /** A new request of a user. */
  session(user: string): Session;
}

/** Every store is synced and empty. */
export function createLiveCache(): LiveCache {
  const stores = new Map<string, WritableStore<KubeObject>>();
  const informers = {
    ensure(ref: ResourceRef, options: { indexes?: ConstructorParameters<typeof WritableStore>[1]["indexes"] }) {
      const onFault = (error: unknown): never => {
        throw error;
      };
      const store = new WritableStore<KubeObject>(ref, {
        ...(options.indexes && { indexes: options.indexes }),
        onFault,
      });
      stores.set(resourceId(ref), store);
      return { store, freshAsOf: () => performance.now() };
    },
  } as unknown as Informers;
  const cache = createClusterCache(informers);
  for (const store of stores.values()) {
    store.replace([], "1");
    store.setState("watching");
  }
  const deps = { cache, heldReads: {}, now: () => new Date() } as unknown as SessionDeps;
  return {
    cache,
    store: <T extends KubeObject>(ref: ResourceRef<T>) => stores.get(resourceId(ref)) as unknown as WritableStore<T>,
    session: (name) =>
      createSession(deps, {
        caller: { name, groups: [] } as unknown as Session["caller"],
        signal: new AbortController().signal,
        permission: "authenticated",
        writes: false,
      }),
  };
}
