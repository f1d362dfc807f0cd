// Keeps one store equal to the API server: list, then watch, forever. It survives every failure, and lost access never deletes.
import type { Logger } from "pino";
import { canListAndWatch } from "../rbac/self-access-review.ts";
import { backoffDelay } from "../client/backoff.ts";
import { createSleeper } from "../client/sleeper.ts";
import type { KubeClient, WatchEvent } from "../client/client.ts";
import { isForbidden, isGone, isNotFound, isUnauthorized, isUnreachable, KubeError } from "../client/errors.ts";
import type { KubeObject } from "../api/object.ts";
import type { ParkReason } from "./reader.ts";
import { resourceId } from "../api/resource-ref.ts";
import type { ReflectorStore } from "./reflector-store.ts";
import { REFLECTOR_TIMING, type ReflectorTiming } from "./reflector-timing.ts";

/** Reaction to a failed list or watch: retry later, park (readers throw), or stop this watch for good. */
export type WatchErrorAction = "retry" | "park" | "stop";

export interface ReflectorOptions<T extends KubeObject> {
  client: KubeClient;
  store: ReflectorStore<T>;
  namespace?: string;
  labelSelector?: string;
  fieldSelector?: string;
  /** Request metadata only. */
  metadata?: boolean;
  /** Overrides the reaction to an error; undefined keeps the default. */
  onError?: (error: unknown) => WatchErrorAction | undefined;
  /** Called on every object before it is stored; may mutate and return the same one. */
  prepare: (object: T) => T;
  log: Logger;
  timing?: Partial<ReflectorTiming>;
  random?: () => number;
}

export interface Reflector {
  /** Resolves after the signal of `startReflector` is aborted; never rejects. */
  readonly stopped: Promise<void>;
  /** Interrupts the current delay, for example when a binding or a CRD has appeared. */
  retryNow(): void;
  /** Reopens the watch at its resourceVersion, which checks our permission; a parked one retries at once. */
  reopen(): void;
  /** Lists again, because `prepare` changed. Resolves when a list started after this call is in the store, or the watch is parked or stopped. */
  relist(): Promise<void>;
  /** Last time (`performance.now()`) of a list, an opened watch, an event or a bookmark; -Infinity before the first. */
  freshAsOf(): number;
  /** Bounds staleness: watches end, and dead peers are detected, within this many milliseconds. A stricter bound stays. */
  limitStaleness(milliseconds: number): void;
}

/**
 * Guarantees: the store gets a complete list, then every change in order; after any break it catches up, missed deletions included.
 * 403, 401 and an unknown kind park the store (readers throw), and the reflector retries by itself.
 */
export function startReflector<T extends KubeObject>(options: ReflectorOptions<T>, signal: AbortSignal): Reflector {
  const run = new ReflectorRun(options, signal);
  const stopped = run.run().finally(() => options.store.setState("stopped"));
  return {
    stopped,
    retryNow: () => run.sleeper.interrupt(),
    reopen: () => run.reopen(),
    relist: () => run.relist(),
    freshAsOf: () => run.freshAsOf,
    limitStaleness: (milliseconds) => run.limitStaleness(milliseconds),
  };
}

class ReflectorRun<T extends KubeObject> {
  readonly sleeper = createSleeper();
  freshAsOf = -Infinity;
  readonly #options: ReflectorOptions<T>;
  readonly #signal: AbortSignal;
  #timing: ReflectorTiming;
  readonly #random: () => number;
  #version: string | undefined;
  /** A list held back until the watch opens, so that a store does not flicker while only the watch is forbidden. */
  #pendingList: { objects: T[]; version: string } | undefined;
  #failures = 0;
  #lastFailure = -Infinity;
  #parkAttempts = 0;
  #expiredCount = 0;
  #restart = new AbortController();
  /** Callers of `relist` whose list has not started. */
  readonly #relists: (() => void)[] = [];
  /** The credential was renewed after a 401, and no request has succeeded since. */
  #hasRenewedCredential = false;
  #hasEnded = false;

  constructor(options: ReflectorOptions<T>, signal: AbortSignal) {
    this.#options = options;
    this.#signal = signal;
    this.#timing = { ...REFLECTOR_TIMING, ...options.timing };
    this.#random = options.random ?? Math.random;
  }

  relist(): Promise<void> {
    if (this.#signal.aborted || this.#hasEnded) return Promise.resolve();
    this.#version = undefined;
    this.#restart.abort();
    this.sleeper.interrupt();
    return new Promise((resolve) => this.#relists.push(resolve));
  }

  reopen(): void {
    if (this.#options.store.state === "watching") this.#restart.abort();
    else this.sleeper.interrupt();
  }

  limitStaleness(milliseconds: number): void {
    const { watchSeconds, graceMs } = this.#timing;
    const tighter = timingForStaleness(milliseconds);
    if (watchSeconds[1] * 1000 + graceMs <= milliseconds) return;
    this.#timing = { ...this.#timing, ...tighter };
    // The current watch was opened with a longer lifetime; reopen it.
    this.#restart.abort();
  }

  async run(): Promise<void> {
    // Users that join in the same turn share the first list.
    await Promise.resolve();
    while (!this.#signal.aborted && !this.#hasEnded) {
      this.#restart = new AbortController();
      try {
        if (this.#version === undefined || this.#relists.length > 0) await this.#list();
        if (this.#relists.length === 0) await this.#watch();
      } catch (error) {
        if (!this.#signal.aborted && !this.#restart.signal.aborted) await this.#recover(error);
      }
    }
    for (const resolve of this.#relists) resolve();
  }

  async #list(): Promise<void> {
    const asked = this.#relists.splice(0);
    try {
      await this.#listOnce();
    } catch (error) {
      this.#relists.unshift(...asked);
      throw error;
    }
    for (const resolve of asked) resolve();
  }

  async #listOnce(): Promise<void> {
    const { client, store, namespace, labelSelector, fieldSelector, metadata, prepare } = this.#options;
    if (!store.synced && store.state !== "parked") store.setState("listing");
    const objects: T[] = [];
    let version = "";
    const started = performance.now();
    // After an expired continue token the next list is unpaged.
    const query = {
      namespace,
      labelSelector,
      fieldSelector,
      metadata,
      limit: this.#expiredCount > 1 ? 0 : 500,
      deadlineMs: 60_000,
      signal: this.#signal,
    };
    for await (const page of client.pages(store.ref, query)) {
      for (const item of page.items) objects.push(prepare(item));
      version = page.metadata.resourceVersion;
    }
    this.#version = version;
    this.freshAsOf = started;
    if (store.state === "parked") this.#pendingList = { objects, version };
    else store.replace(objects, version);
  }

  async #watch(): Promise<void> {
    const { client, store, namespace, labelSelector, fieldSelector, metadata } = this.#options;
    const [least, most] = this.#timing.watchSeconds;
    const timeoutSeconds = Math.max(1, Math.round(least + (most - least) * this.#random()));
    const started = performance.now();
    const events = client.watch(store.ref, {
      namespace,
      labelSelector,
      fieldSelector,
      metadata,
      resourceVersion: this.#version,
      timeoutSeconds,
      stallMs: timeoutSeconds * 1000 + this.#timing.graceMs,
      onOpen: () => this.#onOpen(),
      signal: AbortSignal.any([this.#signal, this.#restart.signal]),
    });
    const version = this.#version;
    for await (const event of events) this.#handleEvent(event);
    this.#expiredCount = 0;
    // A busy API server closes the watches of clients that it finds slow: these resume at once.
    const hasNews = this.#version !== version;
    if (!hasNews && performance.now() - started < this.#timing.shortWatchMs)
      throw new KubeError({ code: 0, reason: "Unreachable", message: "the API server closed a watch immediately" });
  }

  #onOpen(): void {
    const { store, log } = this.#options;
    if (this.#parkAttempts > 0) log.info({ resource: resourceId(store.ref) }, "watch resumed");
    this.#parkAttempts = 0;
    this.#hasRenewedCredential = false;
    this.freshAsOf = performance.now();
    store.setState("watching");
    if (this.#pendingList) store.replace(this.#pendingList.objects, this.#pendingList.version);
    this.#pendingList = undefined;
  }

  #handleEvent(event: WatchEvent<T>): void {
    const { store, prepare } = this.#options;
    if (event.type === "ERROR") throw new KubeError(event.object);
    if (event.type === "BOOKMARK") store.observeVersion(event.object.metadata.resourceVersion);
    else if (event.type === "DELETED") store.remove(prepare(event.object));
    else store.upsert(prepare(event.object));
    this.#version = event.object.metadata.resourceVersion ?? this.#version;
    this.freshAsOf = performance.now();
    this.#expiredCount = 0;
  }

  async #recover(error: unknown): Promise<void> {
    const action = this.#options.onError?.(error);
    if (action === "stop") return void (this.#hasEnded = true);
    const reason =
      action === "retry" ? undefined : (parkReasonOf(error) ?? (action === "park" ? "Forbidden" : undefined));
    if (reason)
      return reason === "Unauthorized" && !this.#hasRenewedCredential ? this.#renewCredential() : this.#park(reason);
    await this.#backOff(error);
  }

  async #backOff(error: unknown): Promise<void> {
    // A broken connection resumes at its version. After any other error the cache is doubted and listed again.
    if (!isUnreachable(error) && !isBusy(error)) this.#version = undefined;
    if (isGone(error) && ++this.#expiredCount === 1) return;
    const now = performance.now();
    if (now - this.#lastFailure > this.#timing.healthyMs) this.#failures = 0;
    this.#lastFailure = now;
    this.#failures++;
    const delayMs = backoffDelay(this.#timing.backoff, this.#failures, this.#random());
    const { store, log } = this.#options;
    const fields = {
      resource: resourceId(store.ref),
      err: error,
      failures: this.#failures,
      delayMs: Math.round(delayMs),
    };
    if (this.#failures === 3) log.warn(fields, "watch fails repeatedly");
    else log.debug(fields, "watch failed");
    if (store.state !== "parked") store.setState("backoff");
    await this.sleeper.sleep(delayMs, this.#signal);
  }

  async #park(reason: ParkReason): Promise<void> {
    const { store, log } = this.#options;
    this.#version = undefined;
    this.#pendingList = undefined;
    if (this.#parkAttempts === 0) log.warn({ resource: resourceId(store.ref), reason }, "watch parked");
    store.setState("parked", reason);
    // The cache is evicted, and a later list fills it again.
    for (const resolve of this.#relists.splice(0)) resolve();
    do {
      this.#parkAttempts++;
      await this.sleeper.sleep(backoffDelay(this.#timing.parked, this.#parkAttempts, this.#random()), this.#signal);
    } while (reason === "Forbidden" && !(await this.#canTry()));
  }

  /** Asks for permission first, because a list may be large. */
  async #canTry(): Promise<boolean> {
    const { client, store, namespace, fieldSelector } = this.#options;
    if (this.#signal.aborted || this.#restart.signal.aborted) return true;
    return (await canListAndWatch(client, { ref: store.ref, namespace, fieldSelector }, this.#signal)) ?? true;
  }

  /** The token may have been rotated. */
  async #renewCredential(): Promise<void> {
    this.#hasRenewedCredential = true;
    const { client, store, log } = this.#options;
    await client
      .renew()
      .catch((err: unknown) => log.warn({ err, resource: resourceId(store.ref) }, "the credential cannot be renewed"));
  }
}

/** Lifetime and grace that leave time to reopen the watch within the bound. */
function timingForStaleness(milliseconds: number): Pick<ReflectorTiming, "watchSeconds" | "graceMs"> {
  const seconds = milliseconds / 1000;
  return { watchSeconds: [seconds * 0.6, seconds * 0.75], graceMs: milliseconds * 0.1 };
}

function parkReasonOf(error: unknown): ParkReason | undefined {
  if (isForbidden(error)) return "Forbidden";
  if (isUnauthorized(error)) return "Unauthorized";
  return isNotFound(error) ? "NoKind" : undefined;
}

function isBusy(error: unknown): boolean {
  return error instanceof KubeError && (error.code === 429 || error.code === 503);
}
