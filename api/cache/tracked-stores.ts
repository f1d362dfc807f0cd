// The stores of all kinds that the API reads, with their change counts and latest changes.
import { Claim } from "../../crds/claim/claim.ts";
import type { Claimant } from "../../crds/claim/rules.ts";
import { guidOf } from "../../crds/guid.ts";
import type { KubeObject } from "../../kube/api/object.ts";
import { resourceId, type ResourceRef } from "../../kube/api/resource-ref.ts";
import { ifSynced } from "../../kube/cache/errors.ts";
import type { Change, Store } from "../../kube/cache/reader.ts";
import { hasReached } from "../../kube/api/resource-version.ts";
import { type ChangeCounter, createChangeCounter } from "./change-counter.ts";
import { type ChangeLog, createChangeLog } from "./change-log.ts";

/** A store, its change counts, its latest changes, and the newest version among them. */
export interface TrackedStore {
  store: Store;
  changes: ChangeCounter;
  log: ChangeLog;
  latestVersion: string;
}

/** How the changes of a kind bear on other objects. */
export interface TrackOptions {
  /** Counts the kind's changes by namespace. */
  byNamespace?: boolean;
  /** The kinds whose objects share GUIDs with this kind: which object keeps a GUID depends on the others that have it. They have the index `guid`. */
  sharesGUIDs?: readonly ResourceRef[];
  /** The kinds whose names depend on objects of this kind. */
  names?: readonly ResourceRef[];
}

export interface TrackedStores {
  add(ref: ResourceRef, store: Store, options?: TrackOptions): void;
  /** @throws Error for a kind that was not added */
  get(ref: ResourceRef): TrackedStore;
  /** By id (`plural.group`). */
  find(id: string): TrackedStore | undefined;
  all(): Iterable<TrackedStore>;
  /** Increases with every change of any of them. */
  changeCount(): number;
}

interface Tables {
  all: Map<string, TrackedStore>;
  /** By the ref object, which saves building the id: a page looks stores up hundreds of times. */
  byRef: Map<object, TrackedStore>;
  /** With the kinds that it names. */
  byKind: Map<string, { tracked: TrackedStore; names: readonly ResourceRef[] }>;
}

export function createTrackedStores(): TrackedStores {
  const tables: Tables = { all: new Map(), byRef: new Map(), byKind: new Map() };
  const { all, byRef, byKind } = tables;
  let changeCount = 0;
  return {
    add(ref, store, { byNamespace = false, sharesGUIDs = [], names = [] } = {}) {
      const changes = createChangeCounter(byNamespace, () => void changeCount++);
      const tracked: TrackedStore = { store, changes, log: createChangeLog(), latestVersion: "" };
      all.set(resourceId(ref), tracked);
      byRef.set(ref, tracked);
      byKind.set(ref.kind, { tracked, names });
      store.onChange((change) => {
        recordChange(tracked, change);
        forgetAll(
          tables,
          sharesGUIDs.filter((other) => hasSharedGUID(byRef.get(other)?.store, change)),
        );
        if (bearsOnNames(change)) forgetAll(tables, names);
      });
      // The watch may have missed changes in any namespace, so every version increases.
      store.onStateChange(() => forget(tracked));
      if (ref.kind === Claim.kind) trackClaims(tables, store as unknown as Store<Claim>);
    },
    get(ref) {
      const found = byRef.get(ref) ?? all.get(resourceId(ref));
      if (!found) throw new Error(`the API does not watch ${resourceId(ref)}`);
      return found;
    },
    find: (id) => all.get(id),
    all: () => all.values(),
    changeCount: () => changeCount,
  };
}

/** A claim shows or hides its claimant, so its change counts as one of the claimant. */
function trackClaims(tables: Tables, store: Store<Claim>): void {
  store.onChange((change) => {
    for (const claimant of claimantsOf(change)) {
      const claiming = tables.byKind.get(claimant.kind);
      if (!claiming) continue;
      const { tracked, names } = claiming;
      tracked.changes.count(claimant.namespace);
      const object = findClaimant(tracked.store, claimant);
      if (object) tracked.log.add(object);
      forgetAll(tables, names);
    }
  });
  store.onStateChange(() => {
    for (const tracked of tables.all.values()) forget(tracked);
  });
}

function forgetAll({ byRef }: Tables, refs: readonly ResourceRef[]): void {
  for (const ref of refs) forget(byRef.get(ref));
}

function recordChange(tracked: TrackedStore, change: Change<KubeObject>): void {
  const { metadata } = change.object;
  const version = metadata.resourceVersion ?? "";
  if (!hasReached(tracked.latestVersion, version)) tracked.latestVersion = version;
  tracked.changes.count(metadata.namespace);
  tracked.log.add(change.type === "added" ? change.object : change.old);
}

/** Any object of the kind may have changed. */
function forget(tracked: TrackedStore | undefined): void {
  tracked?.changes.countAll();
  tracked?.log.reset();
}

/** Whether another object has a GUID that this one has or had: then the change may give that object another one. */
function hasSharedGUID(store: Store | undefined, change: Change<KubeObject>): boolean {
  if (!store?.synced) return false;
  const versions = change.type === "modified" ? [change.old, change.object] : [change.object];
  const isOther = (other: KubeObject): boolean => other.metadata.uid !== change.object.metadata.uid;
  try {
    return versions.some((version) => store.byIndex("guid", guidOf(version)).some(isOther));
  } catch {
    // A namespace that cannot be read may hold one.
    return true;
  }
}

/** A change of the status alone bears on no name, unless it says where the object's namespace is. */
function bearsOnNames(change: Change<KubeObject>): boolean {
  if (change.type !== "modified") return true;
  const { old, object } = change;
  return old.metadata.generation !== object.metadata.generation || namespaceIn(old) !== namespaceIn(object);
}

function namespaceIn(object: KubeObject & { status?: { namespace?: string } }): string | undefined {
  return object.status?.namespace;
}

function findClaimant(store: Store, { namespace = "", name }: Claimant): KubeObject | undefined {
  return store.synced ? ifSynced(() => store.find({ namespace, name })) : undefined;
}

/** The claimants before and after a change. An evicted claim has only metadata; the state change of its watch counts for every kind. */
function claimantsOf(change: Change<Claim>): Claimant[] {
  const claims: Partial<KubeObject & Claim>[] = change.type === "added" ? [change.object] : [change.old, change.object];
  return claims.flatMap(({ spec }) => spec?.claimant ?? []);
}
