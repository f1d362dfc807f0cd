// What of one kind can be seen now: everything by one watch, or namespace by namespace, each with a state of its own. Bookkeeping only, no objects.
import { NotPermitted, NotSynced, type ParkReason, type Sight, type WatchState } from "./reader.ts";

/** Compares two resourceVersions; false when either is not a number. */
export function hasReached(current: string, wanted: string): boolean {
  return /^\d+$/.test(current) && /^\d+$/.test(wanted) && BigInt(current) >= BigInt(wanted);
}

/** One watch's view. */
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

  reached(version: string | undefined): void {
    if (version && !hasReached(this.version, version)) this.version = version;
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

export class Sights {
  readonly whole = new Part();
  readonly #resource: string;
  #parts: Map<string, Part> | undefined;
  /** Every namespace known at the switch has been seen or refused once. Those that come later do not count. */
  #settled = false;
  /** There is no namespace beside those that have a part, so even none at all is all there is. */
  #complete = false;
  #splitState: WatchState = "listing";
  #holes: readonly string[] = [];
  #unseen: readonly string[] = [];

  constructor(resource: string) {
    this.#resource = resource;
  }

  /** Namespaces are watched one by one. */
  get isSplit(): boolean {
    return this.#parts !== undefined;
  }

  split(): void {
    this.#parts ??= new Map();
    this.#settled = false;
    this.#complete = false;
    this.whole.filled = false;
    this.settle();
  }

  /** Every namespace that can hold objects has its part. */
  complete(): void {
    this.#complete = true;
    this.settle();
  }

  join(): void {
    this.#parts = undefined;
    this.settle();
  }

  /** The namespace's own part, made when it is new. */
  part(namespace: string): Part {
    const parts = (this.#parts ??= new Map<string, Part>());
    const part = parts.get(namespace) ?? new Part();
    parts.set(namespace, part);
    this.settle();
    return part;
  }

  has(part: Part, namespace: string): boolean {
    return this.#parts?.get(namespace) === part;
  }

  forget(namespace: string): void {
    this.#parts?.delete(namespace);
    this.settle();
  }

  /** To be called after every change of a part's state. Kept, since every read asks. */
  settle(): void {
    const parts = [...(this.#parts ?? [])];
    this.#settled ||= (parts.length > 0 || this.#complete) && parts.every(([, part]) => part.filled || part.state === "parked");
    const states = new Set(parts.map(([, part]) => part.state));
    const state = (["watching", "listing", "backoff", "parked"] as const).find((one) => states.has(one)) ?? "watching";
    this.#splitState = this.#settled ? state : "listing";
    const namesOf = (test: (part: Part) => boolean): string[] => parts.flatMap(([namespace, part]) => (test(part) ? [namespace] : [])).sort();
    this.#holes = namesOf((part) => part.state === "parked");
    this.#unseen = namesOf((part) => !part.synced);
  }

  /** Of namespaces one by one: each has been seen or refused. What is refused is a hole, and every read of it throws. */
  get synced(): boolean {
    return this.#parts ? this.#settled : this.whole.synced;
  }

  get state(): WatchState {
    return this.#parts && this.whole.state !== "stopped" ? this.#splitState : this.whole.state;
  }

  get parkReason(): ParkReason | undefined {
    return this.state === "parked" ? (this.whole.parkReason ?? "Forbidden") : undefined;
  }

  get holes(): readonly string[] {
    return this.#holes;
  }

  /** Newest version of any part. */
  get version(): string {
    if (!this.#parts) return this.whole.version;
    return [...this.#parts.values()].reduce((newest, { version }) => (version === "" || hasReached(newest, version) ? newest : version), "");
  }

  versionIn(namespace: string | undefined): string {
    if (!this.#parts) return this.whole.version;
    return namespace === undefined ? this.version : (this.#parts.get(namespace)?.version ?? "");
  }

  sightOf(namespace: string | undefined): Sight {
    if (!this.#parts || namespace === undefined) {
      const { state, parkReason, synced } = this;
      return { state, ...(parkReason && { parkReason }), synced };
    }
    return this.#parts.get(namespace)?.sight() ?? { state: "listing", synced: false };
  }

  /** Namespaces watched one by one, in order; empty when all is seen by one watch. */
  get namespaces(): readonly string[] {
    return [...(this.#parts?.keys() ?? [])].sort();
  }

  /** May this namespace, or with undefined everything, be read? @throws NotPermitted, NotSynced */
  require(namespace: string | undefined): void {
    this.requireSome();
    if (!this.#parts) return;
    const blind = namespace === undefined ? (this.holes[0] ?? this.#unseen[0]) : namespace;
    if (blind === undefined) return;
    const { state, parkReason, synced } = this.sightOf(blind);
    if (state === "parked") throw new NotPermitted(this.#resource, parkReason ?? "Forbidden", blind);
    // A namespace nobody has told us of may be about to appear.
    if (!synced) throw new NotSynced(this.#resource, blind);
  }

  /** Is nothing still being listed that will be seen in a moment? @throws NotSynced */
  requireListed(): void {
    const coming = this.#unseen.find((namespace) => !this.#holes.includes(namespace));
    if (this.#parts && coming !== undefined) throw new NotSynced(this.#resource, coming);
  }

  /** May anything be read? @throws NotPermitted, NotSynced */
  requireSome(): void {
    if (!this.#parts && this.state === "parked") throw new NotPermitted(this.#resource, this.parkReason ?? "Forbidden");
    if (!this.synced) throw new NotSynced(this.#resource);
  }
}
