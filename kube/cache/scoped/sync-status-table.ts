// What of one kind can be seen now: everything by one watch, or namespace by namespace, each with a state of its own. Bookkeeping only, no objects.
import { hasReached } from "../../api/resource-version.ts";
import { NotPermitted, NotSynced } from "../errors.ts";
import type { ParkReason, SyncStatus, WatchState } from "../reader.ts";

/** One watch's view. Changed by Sights only, which keeps count. */
class ScopeStatus {
  state: WatchState = "listing";
  parkReason: ParkReason | undefined;
  hasListed = false;
  version = "";

  /** False when nothing changes by it. */
  setState(state: WatchState, parkReason?: ParkReason): boolean {
    if (this.state === state && this.parkReason === parkReason) return false;
    this.state = state;
    this.parkReason = parkReason;
    // Until a resumed watch has listed, what was there before the parking stays unreadable.
    if (state === "parked") this.hasListed = false;
    return true;
  }

  /** Asked by every read. */
  get synced(): boolean {
    return this.hasListed && this.state !== "parked";
  }

  toSyncStatus(): SyncStatus {
    const { state, parkReason, synced } = this;
    return { state, ...(parkReason && { parkReason }), synced };
  }
}

/** Which namespaces stand out, and how many are in which state: kept with every change, so that no question walks over all of them. */
class StatusCounts {
  readonly #states = new Map<WatchState, number>();
  readonly parked = new Set<string>();
  /** Neither seen nor refused yet. */
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

  /** The best that any of them is in. */
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
  /** Every namespace known at the switch has been seen or refused once. Those that come later do not count. */
  #hasInitialSync = false;
  /** There is no namespace beside those that have a part, so even none at all is all there is. */
  #isComplete = false;
  /** Newest version of any part since the switch; undefined when it must be looked for. */
  #newestVersion: string | undefined = "";
  #parkedNamespaces: readonly string[] | undefined = [];
  #changeCount = 0;

  constructor(resource: string) {
    this.#resource = resource;
  }

  /** Another one after every change of what can be seen, new versions apart. */
  get changeCount(): number {
    return this.#changeCount;
  }

  /** Namespaces are watched one by one. */
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

  /** Every namespace that can hold objects has its part. */
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

  // The whole

  /** False when nothing changes by it. */
  setState(state: WatchState, parkReason?: ParkReason): boolean {
    this.#changeCount++;
    return this.#clusterWide.setState(state, parkReason);
  }

  /** All has been listed. A list is the truth as of its version, even one that is behind: a restored server counts anew. True for the first. */
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

  /** The namespace's own part, made when it is new. */
  ensureNamespace(namespace: string): ScopeStatus {
    const parts = (this.#namespaces ??= new Map<string, ScopeStatus>());
    const known = parts.get(namespace);
    if (known) return known;
    const ensureNamespace = new ScopeStatus();
    parts.set(namespace, ensureNamespace);
    this.#counts.add(namespace, ensureNamespace);
    this.#statusChanged();
    return ensureNamespace;
  }

  isCurrent(ensureNamespace: ScopeStatus, namespace: string): boolean {
    return this.#namespaces?.get(namespace) === ensureNamespace;
  }

  removeNamespace(namespace: string): void {
    const ensureNamespace = this.#namespaces?.get(namespace);
    if (!ensureNamespace) return;
    this.#namespaces?.delete(namespace);
    this.#counts.remove(namespace, ensureNamespace);
    this.#statusChanged();
  }

  /** False when nothing changes by it. */
  setNamespaceState(
    namespace: string,
    ensureNamespace: ScopeStatus,
    state: WatchState,
    parkReason?: ParkReason,
  ): boolean {
    return this.#update(namespace, ensureNamespace, () => ensureNamespace.setState(state, parkReason));
  }

  /** As `fill`. */
  recordNamespaceList(namespace: string, version: string): boolean {
    const ensureNamespace = this.ensureNamespace(namespace);
    const first = !ensureNamespace.hasListed;
    this.#update(namespace, ensureNamespace, () => {
      ensureNamespace.hasListed = true;
    });
    // It falls back, and may have been the newest.
    if (ensureNamespace.version !== version && hasReached(ensureNamespace.version, version))
      this.#newestVersion = undefined;
    ensureNamespace.version = version;
    this.#raiseNewest(version);
    return first;
  }

  observeNamespaceVersion(namespace: string, ensureNamespace: ScopeStatus, version: string | undefined): void {
    if (!version || hasReached(ensureNamespace.version, version)) return;
    ensureNamespace.version = version;
    if (this.isCurrent(ensureNamespace, namespace)) this.#raiseNewest(version);
  }

  #update<T>(namespace: string, ensureNamespace: ScopeStatus, how: () => T): T {
    const counts = this.isCurrent(ensureNamespace, namespace);
    if (counts) this.#counts.remove(namespace, ensureNamespace);
    const result = how();
    if (counts) this.#counts.add(namespace, ensureNamespace);
    this.#statusChanged();
    return result;
  }

  #raiseNewest(version: string): void {
    if (this.#newestVersion !== undefined && !hasReached(this.#newestVersion, version)) this.#newestVersion = version;
  }

  /** After every change of a part's state. */
  #statusChanged(): void {
    this.#changeCount++;
    this.#parkedNamespaces = undefined;
    this.#hasInitialSync ||= ((this.#namespaces?.size ?? 0) > 0 || this.#isComplete) && this.#counts.pending.size === 0;
  }

  // Questions

  /** Of namespaces one by one: each has been seen or refused. What is refused is a hole, and every read of it throws. */
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

  /** In order. The same array while nothing changes. */
  get parkedNamespaces(): readonly string[] {
    return (this.#parkedNamespaces ??= [...this.#counts.parked].sort());
  }

  /** Newest version of any part. */
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

  /** How many namespaces are watched one by one; 0 when all is seen by one watch. */
  get namespaceCount(): number {
    return this.#namespaces?.size ?? 0;
  }

  /** Those of them that are not being watched right now, in order. */
  get notWatching(): readonly string[] {
    return [...this.#counts.notWatching].sort();
  }

  /** May this namespace, or with undefined everything, be read? @throws NotPermitted, NotSynced */
  requireReadable(namespace: string | undefined): void {
    this.requireAnyReadable();
    if (!this.#namespaces) return;
    const unreadable =
      namespace === undefined ? (first(this.#counts.parked) ?? first(this.#counts.pending)) : namespace;
    if (unreadable === undefined) return;
    const { state, parkReason, synced } = this.syncStatusOf(unreadable);
    if (state === "parked") throw new NotPermitted(this.#resource, parkReason ?? "Forbidden", unreadable);
    // A namespace nobody has told us of may be about to appear.
    if (!synced) throw new NotSynced(this.#resource, unreadable);
  }

  /** Is nothing still being listed that will be seen in a moment? @throws NotSynced */
  requireNonePending(): void {
    const coming = first(this.#counts.pending);
    if (this.#namespaces && coming !== undefined) throw new NotSynced(this.#resource, coming);
  }

  /** May anything be read? @throws NotPermitted, NotSynced */
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
