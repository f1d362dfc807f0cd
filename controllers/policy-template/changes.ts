// Changed names that are told to listeners together, a moment after the first: a burst of changes is told once.

export class Changes {
  readonly #delayMs: number;
  readonly #mayTell: () => boolean;
  readonly #names = new Set<string>();
  readonly #listeners = new Set<(name: string) => void>();
  #timer: NodeJS.Timeout | undefined;

  /** While `mayTell` is false, names are kept until `flushSoon`. */
  constructor(delayMs: number, mayTell: () => boolean = () => true) {
    this.#delayMs = delayMs;
    this.#mayTell = mayTell;
  }

  add(names: readonly string[]): void {
    for (const name of names) this.#names.add(name);
    this.flushSoon();
  }

  flushSoon(): void {
    if (this.#names.size === 0) return;
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      this.#tell();
    }, this.#delayMs).unref();
  }

  /** Returns the unsubscribe function. */
  subscribe(listener: (name: string) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  close(): void {
    clearTimeout(this.#timer);
    this.#listeners.clear();
  }

  #tell(): void {
    if (!this.#mayTell()) return;
    const names = [...this.#names];
    this.#names.clear();
    for (const listener of this.#listeners) for (const name of names) listener(name);
  }
}
