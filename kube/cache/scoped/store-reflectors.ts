// What feeds one store: a reflector, and where the whole kind is forbidden, one reflector for each namespace that is ours until it is not.
import type { Namespaces } from "./watched-namespaces.ts";
import type { KubeObject } from "../../api/object.ts";
import type { ParkReason, WatchState } from "../reader.ts";
import { type Reflector, type ReflectorOptions, startReflector } from "../reflector.ts";
import type { Feed } from "../reflector-store.ts";
import type { FedStore } from "../store.ts";

/** Those in charge of a store. With a namespace only what is seen there is meant (and the whole, when it is parked). */
export interface Following {
  /** Never rejects. */
  readonly stopped: Promise<void>;
  wake(namespace?: string): void;
  recheck(namespace?: string): void;
  relist(): Promise<void>;
  /** As in Reflector; of several, the one that was heard longest ago. */
  heardAt(): number;
  hearWithin(milliseconds: number): void;
  /** Somebody reads this namespace: it is watched too when the whole cannot be. Returns how to take it back. */
  demand(namespace: string): () => void;
}

type Options = Omit<ReflectorOptions<KubeObject>, "store" | "namespace"> & { store: FedStore<KubeObject>; namespaces: Namespaces };

/** Follows a whole namespaced kind; see `Following`. */
export function followWhole(options: Options, signal: AbortSignal): Following {
  return new SplitFeed(options, signal);
}

/** Follows what one watch shows, whatever happens. */
export function followOne(options: ReflectorOptions<KubeObject>, signal: AbortSignal): Following {
  const reflector = startReflector(options, signal);
  return { ...reflector, wake: () => reflector.wake(), recheck: () => reflector.recheck(), demand: () => () => undefined };
}

/** So long an answer of `heardAt` is given again; far less than any bound that it is compared with. */
const HEARD_KEPT_MS = 500;

interface Part {
  reflector: Reflector;
  stop: AbortController;
}

/** Stands between the reflector of the whole kind and the store, and takes over when that reflector is refused. */
class SplitFeed implements Feed, Following {
  readonly ref;
  readonly stopped: Promise<void>;
  readonly #options: Options;
  readonly #signal: AbortSignal;
  readonly #whole: Reflector;
  readonly #parts = new Map<string, Part>();
  readonly #ending = new Set<Promise<void>>();
  readonly #demanded = new Map<string, number>();
  readonly #undo: () => void;
  #state: WatchState = "listing";
  #refused = false;
  #hearWithinMs = Infinity;
  #heard: { revision: number; asked: number; at: number } | undefined;

  constructor(options: Options, signal: AbortSignal) {
    this.ref = options.store.ref;
    this.#options = options;
    this.#signal = signal;
    this.#undo = options.namespaces.onChange((namespace) => this.#refused && (namespace === undefined ? this.#arrange() : this.#arrangeOne(namespace)));
    this.#whole = startReflector({ ...options, store: this }, signal);
    this.stopped = this.#whole.stopped.then(async () => {
      this.#undo();
      await Promise.all(this.#ending);
    });
  }

  // As a feed of the whole

  get synced(): boolean {
    return !this.#refused && this.#options.store.synced;
  }

  get state(): WatchState {
    return this.#state;
  }

  setState(state: WatchState, parkReason?: ParkReason): void {
    this.#state = state;
    if (state === "stopped") {
      this.#stopParts();
      return this.#options.store.setState(state);
    }
    if (state === "parked" && parkReason === "Forbidden") {
      this.#refused = true;
      return this.#arrange();
    }
    // What the parts see holds until the whole has listed.
    if (!this.#refused) this.#options.store.setState(state, parkReason);
  }

  replace(objects: readonly KubeObject[], resourceVersion: string): void {
    const { store } = this.#options;
    this.#refused = false;
    this.#stopParts();
    store.setState(this.#state);
    store.replace(objects, resourceVersion);
  }

  upsert(object: KubeObject): void {
    this.#options.store.upsert(object);
  }

  remove(object: KubeObject): void {
    this.#options.store.remove(object);
  }

  reached(resourceVersion: string | undefined): void {
    this.#options.store.reached(resourceVersion);
  }

  // As what follows

  wake(namespace?: string): void {
    this.#whole.wake();
    for (const { reflector } of this.#chosen(namespace)) reflector.wake();
  }

  recheck(namespace?: string): void {
    if (namespace === undefined) this.#whole.recheck();
    for (const { reflector } of this.#chosen(namespace)) reflector.recheck();
  }

  async relist(): Promise<void> {
    // A refused whole would list when it is permitted, which may be never.
    const asked = this.#refused ? this.#chosen(undefined) : [{ reflector: this.#whole }];
    await Promise.all(asked.map(({ reflector }) => reflector.relist()));
  }

  heardAt(): number {
    if (!this.#refused) return this.#whole.heardAt();
    // Every question about rights asks, and an old answer errs on the safe side only, as long as the same namespaces are seen.
    const { sightRevision } = this.#options.store;
    const now = performance.now();
    if (this.#heard?.revision !== sightRevision || now - this.#heard.asked > HEARD_KEPT_MS) this.#heard = { revision: sightRevision, asked: now, at: this.#oldestHeard() };
    return this.#heard.at;
  }

  hearWithin(milliseconds: number): void {
    this.#hearWithinMs = Math.min(this.#hearWithinMs, milliseconds);
    for (const { hearWithin } of [this.#whole, ...this.#chosen(undefined).map(({ reflector }) => reflector)]) hearWithin(milliseconds);
  }

  demand(namespace: string): () => void {
    this.#demanded.set(namespace, (this.#demanded.get(namespace) ?? 0) + 1);
    if (this.#refused) this.#arrangeOne(namespace);
    return () => {
      const left = (this.#demanded.get(namespace) ?? 1) - 1;
      if (left > 0) this.#demanded.set(namespace, left);
      else this.#demanded.delete(namespace);
      if (this.#refused) this.#arrangeOne(namespace);
    };
  }

  // Inside

  #oldestHeard(): number {
    const seen = [...this.#parts].filter(([namespace]) => this.#options.store.sightOf(namespace).synced);
    return seen.reduce((oldest, [, { reflector }]) => Math.min(oldest, reflector.heardAt()), seen.length > 0 ? Infinity : -Infinity);
  }

  #chosen(namespace: string | undefined): Part[] {
    if (namespace === undefined) return [...this.#parts.values()];
    const part = this.#parts.get(namespace);
    return part ? [part] : [];
  }

  /** One part for each namespace of ours, in the order of names, as long as the whole is refused. */
  #arrange(): void {
    if (this.#signal.aborted) return;
    const { namespaces, store } = this.#options;
    const wanted = new Set([...namespaces.of(this.ref), ...this.#demanded.keys()].sort());
    if (!namespaces.known || namespaces.complete || wanted.size > 0) store.split();
    else store.setState("parked", "Forbidden");
    for (const [namespace, part] of this.#parts) if (!wanted.has(namespace)) this.#forget(namespace, part);
    for (const namespace of [...wanted].filter((one) => !this.#parts.has(one))) this.#start(namespace);
    if (namespaces.complete) store.complete();
  }

  /** As `#arrange`, when nothing can have changed but this namespace. */
  #arrangeOne(namespace: string): void {
    if (this.#signal.aborted) return;
    const { namespaces, store } = this.#options;
    const part = this.#parts.get(namespace);
    const isWanted = this.#demanded.has(namespace) || namespaces.holds(this.ref, namespace);
    if (part && !isWanted) this.#forget(namespace, part);
    // The first and the last one decide whether there is a store of namespaces at all.
    if (!store.isSplit || (part && this.#parts.size === 0)) return this.#arrange();
    if (!part && isWanted) this.#start(namespace);
  }

  #start(namespace: string): void {
    const stop = new AbortController();
    const reflector = startReflector({ ...this.#options, store: this.#options.store.feed(namespace), namespace }, AbortSignal.any([stop.signal, this.#signal]));
    if (this.#hearWithinMs < Infinity) reflector.hearWithin(this.#hearWithinMs);
    this.#parts.set(namespace, { reflector, stop });
  }

  #forget(namespace: string, part: Part): void {
    this.#stopPart(namespace, part);
    this.#options.store.forget(namespace, this.#options.namespaces.farewell(namespace));
  }

  #stopParts(): void {
    for (const [namespace, part] of this.#parts) this.#stopPart(namespace, part);
  }

  #stopPart(namespace: string, { reflector, stop }: Part): void {
    stop.abort();
    this.#parts.delete(namespace);
    const ended = reflector.stopped.finally(() => this.#ending.delete(ended));
    this.#ending.add(ended);
  }
}
