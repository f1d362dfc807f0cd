// The labelled namespaces as they were last seen. Losing sight of them changes nothing: one is gone, or not ours any more, only when that was seen.
import { LRUCache } from "lru-cache";
import { type Backoff, backoffDelay, createNap } from "../../client/backoff.ts";
import type { KubeObject } from "../../api/object.ts";
import type { Change } from "../reader.ts";

/** Whoever asks about one that is gone does so at once, or when it lets go of a namespace that it had asked for by name. */
export const GONE = 1000;

const LOOK_AGAIN: Backoff = { minMs: 1_000, maxMs: 60_000, jitter: 1 };

export interface LabelledOptions {
  /** The namespace as the server has it now, with the label or without; undefined when there is none. */
  look: (name: string, signal: AbortSignal) => Promise<KubeObject | undefined>;
  /** One came, is gone, or is not ours any more. */
  changed: (name: string) => void;
  signal: AbortSignal;
}

export class LabelledNamespaces {
  readonly #options: LabelledOptions;
  readonly #known = new Map<string, KubeObject>();
  readonly #gone = new LRUCache<string, true>({ max: GONE });
  /** Uids of those that a list has not named any more, by name: gone, or without the label. They count until it is known which. */
  readonly #missing = new Map<string, string | undefined>();
  readonly #nap = createNap();
  #isAsking = false;

  constructor(options: LabelledOptions) {
    this.#options = options;
  }

  find(name: string): KubeObject | undefined {
    return this.#known.get(name);
  }

  all(): KubeObject[] {
    return [...this.#known.values()];
  }

  /** Did the namespace go with all that was in it? Of the last GONE that did. */
  isGone(name: string): boolean {
    return this.#gone.has(name);
  }

  /** It is there, and has the label. */
  keep(namespace: KubeObject): void {
    const { name } = namespace.metadata;
    this.#gone.delete(name);
    this.#missing.delete(name);
    this.#known.set(name, namespace);
  }

  hear(change: Change<KubeObject>): void {
    if (change.type === "deleted") return this.#lose(change);
    this.keep(change.object);
    if (change.type === "added") this.#options.changed(change.object.metadata.name);
  }

  #lose({ object: { metadata }, initial }: Change<KubeObject>): void {
    const known = this.#known.get(metadata.name);
    const isDeleted = Boolean(metadata.deletionTimestamp ?? known?.metadata.deletionTimestamp);
    // An event shows it as it went: without a deletion under way it has only lost the label. A list shows nothing of it.
    if (isDeleted || !initial) return this.#drop(metadata.name, isDeleted);
    this.#missing.set(metadata.name, metadata.uid);
    if (!this.#isAsking) void this.#askForMissing();
  }

  #drop(name: string, isGone: boolean): void {
    this.#known.delete(name);
    this.#missing.delete(name);
    if (isGone) this.#gone.set(name, true);
    else this.#gone.delete(name);
    this.#options.changed(name);
  }

  async #askForMissing(): Promise<void> {
    const { look, signal } = this.#options;
    this.#isAsking = true;
    // The list that does not name it may name another one of its name.
    await Promise.resolve();
    for (let failures = 0; ; ) {
      const [next] = this.#missing;
      if (!next || signal.aborted) break;
      try {
        this.#answer(next, await look(next[0], signal));
        failures = 0;
      } catch {
        // Whatever the reason, it is not known to be gone. What stopped us would stop us for the others too.
        await this.#nap.sleep(backoffDelay(LOOK_AGAIN, ++failures, Math.random()), signal);
      }
    }
    this.#isAsking = false;
  }

  #answer([name, uid]: [string, string | undefined], found: KubeObject | undefined): void {
    // It has come back meanwhile.
    if (!this.#missing.has(name) || this.#missing.get(name) !== uid) return;
    this.#drop(name, !found || found.metadata.uid !== uid || found.metadata.deletionTimestamp !== undefined);
  }
}
