// The last known namespaces with our label. An unreadable Namespace watch changes nothing: only an observed deletion or label change does.
import { LRUCache } from "lru-cache";
import { type Backoff, backoffDelay } from "../../client/backoff.ts";
import { createSleeper } from "../../client/sleeper.ts";
import type { KubeObject } from "../../api/object.ts";
import type { Change } from "../reader.ts";

/** Callers ask about a deleted namespace at once, or when they release it. */
export const MAX_DELETED = 1000;

const RETRY_BACKOFF: Backoff = { minMs: 1_000, maxMs: 60_000, jitter: 1 };

export interface LabelledNamespacesOptions {
  /** Reads the namespace from the API server, with or without our label; undefined when it does not exist. */
  findLive: (name: string, signal: AbortSignal) => Promise<KubeObject | undefined>;
  /** A namespace was added, was deleted, or lost the label. */
  onChange: (name: string) => void;
  signal: AbortSignal;
}

export class LabelledNamespaces {
  readonly #options: LabelledNamespacesOptions;
  readonly #known = new Map<string, KubeObject>();
  readonly #deleted = new LRUCache<string, true>({ max: MAX_DELETED });
  /** Uids by name of namespaces missing from a list: deleted, or without the label. They stay listed until a lookup decides. */
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

  /** Whether the namespace was deleted; remembered for the last MAX_DELETED. */
  isDeleted(name: string): boolean {
    return this.#deleted.has(name);
  }

  /** The namespace exists and has the label. */
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
    // An event without a deletionTimestamp means that only the label is gone. A list shows nothing, so look it up.
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
    // The same list may add a new namespace of that name.
    await Promise.resolve();
    for (let failures = 0; ;) {
      const [next] = this.#missing;
      if (!next || signal.aborted) break;
      try {
        this.#applyLookup(next, await findLive(next[0], signal));
        failures = 0;
      } catch {
        // The deletion is unconfirmed. The same error would stop the other lookups, so back off.
        await this.#sleeper.sleep(backoffDelay(RETRY_BACKOFF, ++failures, Math.random()), signal);
      }
    }
    this.#isLookingUp = false;
  }

  #applyLookup([name, uid]: [string, string | undefined], found: KubeObject | undefined): void {
    // The namespace has reappeared meanwhile.
    if (!this.#missing.has(name) || this.#missing.get(name) !== uid) return;
    this.#remove(name, !found || found.metadata.uid !== uid || found.metadata.deletionTimestamp !== undefined);
  }
}
