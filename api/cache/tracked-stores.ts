// The stores of all kinds that the API reads, with their change counts.
import { Claim } from "../../crds/claim/claim.ts";
import type { Claimant } from "../../crds/claim/rules.ts";
import type { KubeObject } from "../../kube/api/object.ts";
import { resourceId, type ResourceRef } from "../../kube/api/resource-ref.ts";
import type { Change, Store } from "../../kube/cache/reader.ts";
import { hasReached } from "../../kube/api/resource-version.ts";
import { type ChangeCounter, createChangeCounter } from "./change-counter.ts";

/** A store, its change counts, and the newest version among its changes. */
export interface TrackedStore {
  store: Store;
  changes: ChangeCounter;
  latestVersion: string;
}

export interface TrackedStores {
  /** `byNamespace`: counts the kind's changes by namespace. */
  add(ref: ResourceRef, store: Store, byNamespace: boolean): void;
  /** @throws Error for a kind that was not added */
  get(ref: ResourceRef): TrackedStore;
  /** By id (`plural.group`). */
  find(id: string): TrackedStore | undefined;
  all(): Iterable<TrackedStore>;
}

export function createTrackedStores(): TrackedStores {
  const all = new Map<string, TrackedStore>();
  /** By the ref object, which saves building the id: a page looks stores up hundreds of times. */
  const byRef = new Map<object, TrackedStore>();
  const byKind = new Map<string, TrackedStore>();

  /** A claim shows or hides its claimant, so its change counts as one of the claimant. */
  function trackClaims(store: Store<Claim>): void {
    store.onChange((change) => {
      for (const { kind, namespace } of claimantsOf(change)) byKind.get(kind)?.changes.count(namespace);
    });
    store.onStateChange(() => {
      for (const { changes } of all.values()) changes.countAll();
    });
  }

  return {
    add(ref, store, byNamespace) {
      const tracked: TrackedStore = { store, changes: createChangeCounter(byNamespace), latestVersion: "" };
      all.set(resourceId(ref), tracked);
      byRef.set(ref, tracked);
      byKind.set(ref.kind, tracked);
      store.onChange(({ object: { metadata } }) => {
        const version = metadata.resourceVersion ?? "";
        if (!hasReached(tracked.latestVersion, version)) tracked.latestVersion = version;
        tracked.changes.count(metadata.namespace);
      });
      // The watch may have missed changes in any namespace, so every version increases.
      store.onStateChange(() => tracked.changes.countAll());
      if (ref.kind === Claim.kind) trackClaims(store as unknown as Store<Claim>);
    },
    get(ref) {
      const found = byRef.get(ref) ?? all.get(resourceId(ref));
      if (!found) throw new Error(`the API does not watch ${resourceId(ref)}`);
      return found;
    },
    find: (id) => all.get(id),
    all: () => all.values(),
  };
}

/** The claimants before and after a change. An evicted claim has only metadata; the state change of its watch counts for every kind. */
function claimantsOf(change: Change<Claim>): Claimant[] {
  const claims: Partial<KubeObject & Claim>[] =
    change.type === "modified" ? [change.old, change.object] : [change.object];
  return claims.flatMap(({ spec }) => spec?.claimant ?? []);
}
