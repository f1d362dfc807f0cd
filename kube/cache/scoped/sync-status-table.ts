// What of one kind can be seen now: everything by one watch, or namespace by namespace, each with a state of its own. Bookkeeping only, no objects.
import { NotPermitted, NotSynced, type ParkReason, type Sight, type WatchState } from "../reader.ts";

/** Compares two resourceVersions; false when either is not a number. */
export function hasReached(current: string, wanted: string): boolean {
  return /^\d+$/.test(current) && /^\d+$/.test(wanted) && BigInt(current) >= BigInt(wanted);
}

/** One watch's view. Changed by Sights only, which keeps count. */
class Part {
  state: WatchState = "listing";
  parkReason: ParkReason | undefined;
  filled = false;
  version = "";

  /** False when nothing changes by it. */
  setState(state: WatchState, parkReason?: ParkReason): boolean {
    if (this.state === state && this.parkReason === parkReason) return false;
    this.state = state;
    this.parkReason = parkReason;
    // Until a resumed watch has listed, what was there before the parking stays unreadable.
    if (state === "parked") this.filled = false;
    return true;
  }

  /** Asked by every read. */
  get synced(): boolean {
    return this.filled && this.state !== "parked";
  }

  sight(): Sight {
    const { state, parkReason, synced } = this;
    return { state, ...(parkReason && { parkReason }), synced };
  }
}

/** Which namespaces stand out, and how many are in which state: kept with every change, so that no question walks over all of them. */
class Census {
  readonly #states = new Map<WatchState, number>();
  readonly parked = new Set<string>();
  /** Neither seen nor refused yet. */
  readonly coming = new Set<string>();
  readonly notWatching = new Set<string>();

  add(namespace: string, { state, filled }: Part): void {
    this.#states.set(state, (this.#states.get(state) ?? 0) + 1);
    if (state === "parked") this.parked.add(namespace);
    else if (!filled) this.coming.add(namespace);
    if (state !== "watching") this.notWatching.add(namespace);
  }

  remove(namespace: string, { state }: Part): void {
    this.#states.set(state, (this.#states.get(state) ?? 1) - 1);
    for (const names of [this.parked, this.coming, this.notWatching]) names.delete(namespace);
  }

  /** The best that any of them is in. */
  get state(): WatchState {
    return (["watching", "listing", "backoff", "parked"] as const).find((one) => (this.#states.get(one) ?? 0) > 0) ?? "watching";
  }
}

export class Sights {
  readonly #whole = new Part();
  readonly #resource: string;
  #parts: Map<string, Part> | undefined;
  #census = new Census();
  /** Every namespace known at the switch has been seen or refused once. Those that come later do not count. */
  #settled = false;
  /** There is no namespace beside those that have a part, so even none at all is all there is. */
  #complete = false;
  /** Newest version of any part since the switch; undefined when it must be looked for. */
  #newest: string | undefined = "";
  #holes: readonly string[] | undefined = [];
  #revision = 0;

  constructor(resource: string) {
    this.#resource = resource;
  }

  /** Another one after every change of what can be seen, new versions apart. */
  get revision(): number {
    return this.#revision;
  }

  /** Namespaces are watched one by one. */
  get isSplit(): boolean {
    return this.#parts !== undefined;
  }

  split(): void {
    this.#parts ??= new Map();
    this.#settled = false;
    this.#complete = false;
    this.#whole.filled = false;
    this.#settle();
  }

  /** Every namespace that can hold objects has its part. */
  complete(): void {
    if (this.#complete) return;
    this.#complete = true;
    this.#settle();
  }

  join(): void {
    this.#parts = undefined;
    this.#census = new Census();
    this.#newest = "";
    this.#settle();
  }

  // The whole

  /** False when nothing changes by it. */
  setState(state: WatchState, parkReason?: ParkReason): boolean {
    this.#revision++;
    return this.#whole.setState(state, parkReason);
  }

  /** All has been listed. A list is the truth as of its version, even one that is behind: a restored server counts anew. True for the first. */
  fill(version: string): boolean {
    const first = !this.#whole.filled;
    this.#whole.filled = true;
    this.#whole.version = version;
    this.#revision++;
    return first;
  }

  reached(version: string | undefined): void {
    if (version && !hasReached(this.#whole.version, version)) this.#whole.version = version;
  }

  // Namespaces

  /** The namespace's own part, made when it is new. */
  part(namespace: string): Part {
    const parts = (this.#parts ??= new Map<string, Part>());
    const known = parts.get(namespace);
    if (known) return known;
    const part = new Part();
    parts.set(namespace, part);
    this.#census.add(namespace, part);
    this.#settle();
    return part;
  }

  has(part: Part, namespace: string): boolean {
    return this.#parts?.get(namespace) === part;
  }

  forget(namespace: string): void {
    const part = this.#parts?.get(namespace);
    if (!part) return;
    this.#parts?.delete(namespace);
    this.#census.remove(namespace, part);
    this.#settle();
  }

  /** False when nothing changes by it. */
  setPart(namespace: string, part: Part, state: WatchState, parkReason?: ParkReason): boolean {
    return this.#change(namespace, part, () => part.setState(state, parkReason));
  }

  /** As `fill`. */
  fillPart(namespace: string, version: string): boolean {
    const part = this.part(namespace);
    const first = !part.filled;
    this.#change(namespace, part, () => {
      part.filled = true;
    });
    // It falls back, and may have been the newest.
    if (part.version !== version && hasReached(part.version, version)) this.#newest = undefined;
    part.version = version;
    this.#rise(version);
    return first;
  }

  reachedPart(namespace: string, part: Part, version: string | undefined): void {
    if (!version || hasReached(part.version, version)) return;
    part.version = version;
    if (this.has(part, namespace)) this.#rise(version);
  }

  #change<T>(namespace: string, part: Part, how: () => T): T {
    const counts = this.has(part, namespace);
    if (counts) this.#census.remove(namespace, part);
    const result = how();
    if (counts) this.#census.add(namespace, part);
    this.#settle();
    return result;
  }

  #rise(version: string): void {
    if (this.#newest !== undefined && !hasReached(this.#newest, version)) this.#newest = version;
  }

  /** After every change of a part's state. */
  #settle(): void {
    this.#revision++;
    this.#holes = undefined;
    this.#settled ||= ((this.#parts?.size ?? 0) > 0 || this.#complete) && this.#census.coming.size === 0;
  }

  // Questions

  /** Of namespaces one by one: each has been seen or refused. What is refused is a hole, and every read of it throws. */
  get synced(): boolean {
    return this.#parts ? this.#settled : this.#whole.synced;
  }

  get state(): WatchState {
    if (!this.#parts || this.#whole.state === "stopped") return this.#whole.state;
    return this.#settled ? this.#census.state : "listing";
  }

  get parkReason(): ParkReason | undefined {
    return this.state === "parked" ? (this.#whole.parkReason ?? "Forbidden") : undefined;
  }

  /** In order. The same array while nothing changes. */
  get holes(): readonly string[] {
    return (this.#holes ??= [...this.#census.parked].sort());
  }

  /** Newest version of any part. */
  get version(): string {
    if (!this.#parts) return this.#whole.version;
    return (this.#newest ??= [...this.#parts.values()].reduce((newest, { version }) => (version === "" || hasReached(newest, version) ? newest : version), ""));
  }

  versionIn(namespace: string | undefined): string {
    if (!this.#parts) return this.#whole.version;
    return namespace === undefined ? this.version : (this.#parts.get(namespace)?.version ?? "");
  }

  sightOf(namespace: string | undefined): Sight {
    if (!this.#parts || namespace === undefined) {
      const { state, parkReason, synced } = this;
      return { state, ...(parkReason && { parkReason }), synced };
    }
    return this.#parts.get(namespace)?.sight() ?? { state: "listing", synced: false };
  }

  /** How many namespaces are watched one by one; 0 when all is seen by one watch. */
  get count(): number {
    return this.#parts?.size ?? 0;
  }

  /** Those of them that are not being watched right now, in order. */
  get notWatching(): readonly string[] {
    return [...this.#census.notWatching].sort();
  }

  /** May this namespace, or with undefined everything, be read? @throws NotPermitted, NotSynced */
  require(namespace: string | undefined): void {
    this.requireSome();
    if (!this.#parts) return;
    const blind = namespace === undefined ? (first(this.#census.parked) ?? first(this.#census.coming)) : namespace;
    if (blind === undefined) return;
    const { state, parkReason, synced } = this.sightOf(blind);
    if (state === "parked") throw new NotPermitted(this.#resource, parkReason ?? "Forbidden", blind);
    // A namespace nobody has told us of may be about to appear.
    if (!synced) throw new NotSynced(this.#resource, blind);
  }

  /** Is nothing still being listed that will be seen in a moment? @throws NotSynced */
  requireListed(): void {
    const coming = first(this.#census.coming);
    if (this.#parts && coming !== undefined) throw new NotSynced(this.#resource, coming);
  }

  /** May anything be read? @throws NotPermitted, NotSynced */
  requireSome(): void {
    if (!this.#parts && this.state === "parked") throw new NotPermitted(this.#resource, this.parkReason ?? "Forbidden");
    if (!this.synced) throw new NotSynced(this.#resource);
  }
}

function first(names: Iterable<string>): string | undefined {
  for (const name of names) return name;
  return undefined;
}
