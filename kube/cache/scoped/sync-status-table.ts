// Sync status of one kind: of a cluster-wide watch, or of each namespace. Bookkeeping only, no objects.
import { hasReached } from "../../api/resource-version.ts";
import { NotPermitted, NotSynced } from "../errors.ts";
import type { ParkReason, SyncStatus, WatchState } from "../reader.ts";

/** Status of one watch. Only SyncStatusTable changes it, so that counts stay right. */
class ScopeStatus {
  state: WatchState = "listing";
  parkReason: ParkReason | undefined;
  hasListed = false;
  version = "";

  /** Returns false without a change. */
  setState(state: WatchState, parkReason?: ParkReason): boolean {
    if (this.state === state && this.parkReason === parkReason) return false;
    this.state = state;
    this.parkReason = parkReason;
    // Contents from before the parking stay unreadable until a resumed watch has listed.
    if (state === "parked") this.hasListed = false;
    return true;
  }

  /** Checked by every read. */
  get synced(): boolean {
    return this.hasListed && this.state !== "parked";
  }

  toSyncStatus(): SyncStatus {
    const { state, parkReason, synced } = this;
    return { state, ...(parkReason && { parkReason }), synced };
  }
}

/** Namespaces by state, updated with every change, so that no query iterates over all namespaces. */
class StatusCounts {
  readonly #states = new Map<WatchState, number>();
  readonly parked = new Set<string>();
  /** Neither listed nor parked yet. */
  readonly pending = new Set<string>();
  readonly notWatching = new Set<string>();

  add(namespace: string, { state, hasListed }: ScopeStatus): void {
    this.#states.set(state, (this.#states.get(state) ?? 0) + 1);
    if (state === "parked") this.parked.add(namespace);
    else if (!hasListed) this.pending.add(namespace);
    if (state !== "watching") this.notWatching.add(namespace);
  }

  remove(namespace: string, { state }: ScopeStatus): void {
    this.#states.set(state, (this.#states.get(state) ?? 1) - 1);
    for (const names of [this.parked, this.pending, this.notWatching]) names.delete(namespace);
  }

  /** The best state of any namespace. */
  get state(): WatchState {
    return (
      (["watching", "listing", "backoff", "parked"] as const).find((one) => (this.#states.get(one) ?? 0) > 0) ??
      "watching"
    );
  }
}

export class SyncStatusTable {
  readonly #clusterWide = new ScopeStatus();
  readonly #resource: string;
  #namespaces: Map<string, ScopeStatus> | undefined;
  #counts = new StatusCounts();
  /** Every namespace known at the switch has listed or parked once. Later namespaces do not count. */
  #hasInitialSync = false;
  /** All namespaces that can hold objects are in the table, so an empty table is complete. */
  #isComplete = false;
  /** Newest version of any namespace since the switch; undefined when it must be recomputed. */
  #newestVersion: string | undefined = "";
  #parkedNamespaces: readonly string[] | undefined = [];
  #changeCount = 0;

  constructor(resource: string) {
    this.#resource = resource;
  }

  /** Changes with every change of readability; new versions do not count. */
  get changeCount(): number {
    return this.#changeCount;
  }

  /** Whether namespaces are watched one by one. */
  get isScoped(): boolean {
    return this.#namespaces !== undefined;
  }

  switchToNamespaces(): void {
    this.#namespaces ??= new Map();
    this.#hasInitialSync = false;
    this.#isComplete = false;
    this.#clusterWide.hasListed = false;
    this.#statusChanged();
  }

  /** Every namespace that can hold objects is in the table. */
  markComplete(): void {
    if (this.#isComplete) return;
    this.#isComplete = true;
    this.#statusChanged();
  }

  switchToClusterWide(): void {
    this.#namespaces = undefined;
    this.#counts = new StatusCounts();
    this.#newestVersion = "";
    this.#statusChanged();
  }

  // Cluster-wide

  /** Returns false without a change. */
  setState(state: WatchState, parkReason?: ParkReason): boolean {
    this.#changeCount++;
    return this.#clusterWide.setState(state, parkReason);
  }

  /** A list is the truth at its version, even when it is older: a restored server counts from a backup. Returns true for the first list. */
  recordList(version: string): boolean {
    const first = !this.#clusterWide.hasListed;
    this.#clusterWide.hasListed = true;
    this.#clusterWide.version = version;
    this.#changeCount++;
    return first;
  }

  observeVersion(version: string | undefined): void {
    if (version && !hasReached(this.#clusterWide.version, version)) this.#clusterWide.version = version;
  }

  // Namespaces

  /** The status of the namespace, created on first use. */
  ensureNamespace(namespace: string): ScopeStatus {
    const parts = (this.#namespaces ??= new Map<string, ScopeStatus>());
    const known = parts.get(namespace);
    if (known) return known;
    const status = new ScopeStatus();
    parts.set(namespace, status);
    this.#counts.add(namespace, status);
    this.#statusChanged();
    return status;
  }

  isCurrent(status: ScopeStatus, namespace: string): boolean {
    return this.#namespaces?.get(namespace) === status;
  }

  removeNamespace(namespace: string): void {
    const status = this.#namespaces?.get(namespace);
    if (!status) return;
    this.#namespaces?.delete(namespace);
    this.#counts.remove(namespace, status);
    this.#statusChanged();
  }

  /** Returns false without a change. */
  setNamespaceState(namespace: string, status: ScopeStatus, state: WatchState, parkReason?: ParkReason): boolean {
    return this.#update(namespace, status, () => status.setState(state, parkReason));
  }

  /** As `recordList`. */
  recordNamespaceList(namespace: string, version: string): boolean {
    const status = this.ensureNamespace(namespace);
    const first = !status.hasListed;
    this.#update(namespace, status, () => {
      status.hasListed = true;
    });
    // The version decreased, and may have been the newest.
    if (status.version !== version && hasReached(status.version, version)) this.#newestVersion = undefined;
    status.version = version;
    this.#raiseNewest(version);
    return first;
  }

  observeNamespaceVersion(namespace: string, status: ScopeStatus, version: string | undefined): void {
    if (!version || hasReached(status.version, version)) return;
    status.version = version;
    if (this.isCurrent(status, namespace)) this.#raiseNewest(version);
  }

  #update<T>(namespace: string, status: ScopeStatus, how: () => T): T {
    const counts = this.isCurrent(status, namespace);
    if (counts) this.#counts.remove(namespace, status);
    const result = how();
    if (counts) this.#counts.add(namespace, status);
    this.#statusChanged();
    return result;
  }

  #raiseNewest(version: string): void {
    if (this.#newestVersion !== undefined && !hasReached(this.#newestVersion, version)) this.#newestVersion = version;
  }

  /** Call after every change of a namespace's status. */
  #statusChanged(): void {
    this.#changeCount++;
    this.#parkedNamespaces = undefined;
    this.#hasInitialSync ||= ((this.#namespaces?.size ?? 0) > 0 || this.#isComplete) && this.#counts.pending.size === 0;
  }

  // Queries

  /** For namespaces watched one by one: each has listed or parked. Reads of parked ones throw. */
  get synced(): boolean {
    return this.#namespaces ? this.#hasInitialSync : this.#clusterWide.synced;
  }

  get state(): WatchState {
    if (!this.#namespaces || this.#clusterWide.state === "stopped") return this.#clusterWide.state;
    return this.#hasInitialSync ? this.#counts.state : "listing";
  }

  get parkReason(): ParkReason | undefined {
    return this.state === "parked" ? (this.#clusterWide.parkReason ?? "Forbidden") : undefined;
  }

  /** Sorted; the same array until it changes. */
  get parkedNamespaces(): readonly string[] {
    return (this.#parkedNamespaces ??= [...this.#counts.parked].sort());
  }

  /** Newest version of any namespace. */
  get version(): string {
    if (!this.#namespaces) return this.#clusterWide.version;
    return (this.#newestVersion ??= [...this.#namespaces.values()].reduce(
      (newest, { version }) => (version === "" || hasReached(newest, version) ? newest : version),
      "",
    ));
  }

  resourceVersionIn(namespace: string | undefined): string {
    if (!this.#namespaces) return this.#clusterWide.version;
    return namespace === undefined ? this.version : (this.#namespaces.get(namespace)?.version ?? "");
  }

  syncStatusOf(namespace: string | undefined): SyncStatus {
    if (!this.#namespaces || namespace === undefined) {
      const { state, parkReason, synced } = this;
      return { state, ...(parkReason && { parkReason }), synced };
    }
    return this.#namespaces.get(namespace)?.toSyncStatus() ?? { state: "listing", synced: false };
  }

  /** Number of namespaces watched one by one; 0 for a cluster-wide watch. */
  get namespaceCount(): number {
    return this.#namespaces?.size ?? 0;
  }

  /** Namespaces not in state "watching", sorted. */
  get notWatching(): readonly string[] {
    return [...this.#counts.notWatching].sort();
  }

  /** Throws unless this namespace (undefined: every namespace) is readable. @throws NotPermitted, NotSynced */
  requireReadable(namespace: string | undefined): void {
    this.requireAnyReadable();
    if (!this.#namespaces) return;
    const unreadable =
      namespace === undefined ? (first(this.#counts.parked) ?? first(this.#counts.pending)) : namespace;
    if (unreadable === undefined) return;
    const { state, parkReason, synced } = this.syncStatusOf(unreadable);
    if (state === "parked") throw new NotPermitted(this.#resource, parkReason ?? "Forbidden", unreadable);
    // An unknown namespace may be new and not listed yet.
    if (!synced) throw new NotSynced(this.#resource, unreadable);
  }

  /** Throws while a namespace is still being listed. @throws NotSynced */
  requireNonePending(): void {
    const coming = first(this.#counts.pending);
    if (this.#namespaces && coming !== undefined) throw new NotSynced(this.#resource, coming);
  }

  /** Throws when nothing is readable. @throws NotPermitted, NotSynced */
  requireAnyReadable(): void {
    if (!this.#namespaces && this.state === "parked")
      throw new NotPermitted(this.#resource, this.parkReason ?? "Forbidden");
    if (!this.synced) throw new NotSynced(this.#resource);
  }
}

function first(names: Iterable<string>): string | undefined {
  for (const name of names) return name;
  return undefined;
}
