// The labelled namespaces as they were last seen. Losing sight of them changes nothing: one is gone, or not ours any more, only when that was seen.
import { LRUCache } from "lru-cache";
import { type Backoff, backoffDelay } from "../../client/backoff.ts";
import { createSleeper } from "../../client/sleeper.ts";
import type { KubeObject } from "../../api/object.ts";
import type { Change } from "../reader.ts";

/** Whoever asks about one that is gone does so at once, or when it lets go of a namespace that it had asked for by name. */
export const MAX_DELETED = 1000;

const RETRY_BACKOFF: Backoff = { minMs: 1_000, maxMs: 60_000, jitter: 1 };

export interface LabelledNamespacesOptions {
  /** The namespace as the server has it now, with the label or without; undefined when there is none. */
  findLive: (name: string, signal: AbortSignal) => Promise<KubeObject | undefined>;
  /** One came, is gone, or is not ours any more. */
  onChange: (name: string) => void;
  signal: AbortSignal;
}

export class LabelledNamespaces {
  readonly #options: LabelledNamespacesOptions;
  readonly #known = new Map<string, KubeObject>();
  readonly #deleted = new LRUCache<string, true>({ max: MAX_DELETED });
  /** Uids of those that a list has not named any more, by name: gone, or without the label. They count until it is known which. */
  readonly #missing = new Map<string, string | undefined>();
  readonly #sleeper = createSleeper();
  #isLookingUp = false;

  constructor(options: LabelledNamespacesOptions) {
    this.#options = options;
  }

  find(name: string): KubeObject | undefined {
    return this.#known.get(name);
  }

  list(): KubeObject[] {
    return [...this.#known.values()];
  }

  /** Did the namespace go with all that was in it? Of the last GONE that did. */
  isDeleted(name: string): boolean {
    return this.#deleted.has(name);
  }

  /** It is there, and has the label. */
  set(namespace: KubeObject): void {
    const { name } = namespace.metadata;
    this.#deleted.delete(name);
    this.#missing.delete(name);
    this.#known.set(name, namespace);
  }

  handleChange(change: Change<KubeObject>): void {
    if (change.type === "deleted") return this.#handleDeleted(change);
    this.set(change.object);
    if (change.type === "added") this.#options.onChange(change.object.metadata.name);
  }

  #handleDeleted({ object: { metadata }, initial }: Change<KubeObject>): void {
    const known = this.#known.get(metadata.name);
    const isDeleted = Boolean(metadata.deletionTimestamp ?? known?.metadata.deletionTimestamp);
    // An event shows it as it went: without a deletion under way it has only lost the label. A list shows nothing of it.
    if (isDeleted || !initial) return this.#remove(metadata.name, isDeleted);
    this.#missing.set(metadata.name, metadata.uid);
    if (!this.#isLookingUp) void this.#lookUpMissing();
  }

  #remove(name: string, isDeleted: boolean): void {
    this.#known.delete(name);
    this.#missing.delete(name);
    if (isDeleted) this.#deleted.set(name, true);
    else this.#deleted.delete(name);
    this.#options.onChange(name);
  }

  async #lookUpMissing(): Promise<void> {
    const { findLive, signal } = this.#options;
    this.#isLookingUp = true;
    // The list that does not name it may name another one of its name.
    await Promise.resolve();
    for (let failures = 0; ;) {
      const [next] = this.#missing;
      if (!next || signal.aborted) break;
      try {
        this.#applyLookup(next, await findLive(next[0], signal));
        failures = 0;
      } catch {
        // Whatever the reason, it is not known to be gone. What stopped us would stop us for the others too.
        await this.#sleeper.sleep(backoffDelay(RETRY_BACKOFF, ++failures, Math.random()), signal);
      }
    }
    this.#isLookingUp = false;
  }

  #applyLookup([name, uid]: [string, string | undefined], found: KubeObject | undefined): void {
    // It has come back meanwhile.
    if (!this.#missing.has(name) || this.#missing.get(name) !== uid) return;
    this.#remove(name, !found || found.metadata.uid !== uid || found.metadata.deletionTimestamp !== undefined);
  }
}
