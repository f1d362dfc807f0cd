// The disk that uploads and conversions may use while they are under way: one budget for a process, of which each space has a share, so that neither one upload
// nor many fill the disk.
import { addAbortListener } from "node:events";
import { statfsSync } from "node:fs";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Transform } from "node:stream";
import pLimit, { type LimitFunction } from "p-limit";
import { claimProcessFolder } from "./process-folder.ts";

export interface ScratchOptions {
  /** Its parent; other processes may have theirs there. */
  folder: string;
  maxBytes: number;
}

/** Unless said otherwise: one upload may be a droplet of 4 GiB that unpacks to 12. */
export const DEFAULT_SCRATCH_BYTES = 32 * 2 ** 30;
/** The disk keeps the smaller of both free, whatever the budget says. */
const KEPT_FREE_BYTES = 512 * 2 ** 20;
const KEPT_FREE_SHARE = 0.05;
/** How much is written between two looks at the disk. */
const LOOK_EVERY_BYTES = 32 * 2 ** 20;
/** Archives that are unpacked or packed at once: each has up to 40 MiB of files in memory, and more would wait for a processor. */
const AT_ONCE = 8;
const AT_ONCE_OF_ONE = 4;

/** There is no room for more. `never`: nor will there be, for so much. Its message is for the person who sent it. */
export class ScratchFull extends Error {
  readonly never: boolean;
  constructor(message: string, { never }: { never: boolean }) {
    super(message);
    this.name = "ScratchFull";
    this.never = never;
  }
}

/** Counts bytes before they are written, and says when to stop. */
export interface ScratchMeter {
  /** @throws ScratchFull; the reason of the signal when it is aborted */
  take(bytes: number): void;
  readonly signal: AbortSignal | undefined;
}

export class ScratchSpace {
  #options: ScratchOptions = {
    folder: join(tmpdir(), `cupola-scratch-${process.getuid?.() ?? 0}`),
    maxBytes: DEFAULT_SCRATCH_BYTES,
  };
  #own: Promise<string> | undefined;
  #total = 0;
  #unlooked = LOOK_EVERY_BYTES;
  readonly #held = new Map<string, number>();
  readonly #turns = pLimit(AT_ONCE);
  readonly #ownTurns = new Map<string, { limit: LimitFunction; users: number }>();

  /** Says where and how much, and removes what killed processes left there. Called once, before the first folder is opened. */
  async begin(options: ScratchOptions): Promise<void> {
    this.#options = options;
    await (this.#own = claimProcessFolder(options.folder));
  }

  /** An empty folder, for its owner's share. Remove it when the work has ended, however it ends. `beside`: another folder of the same work. */
  async open(owner: string, signal?: AbortSignal, beside?: ScratchFolder): Promise<ScratchFolder> {
    signal?.throwIfAborted();
    const own = await this.#claim();
    // Created again: a person who frees disk space may have removed it.
    await mkdir(own, { recursive: true, mode: 0o700 });
    return new ScratchFolder(this, { owner, signal, beside, path: await mkdtemp(join(own, "work-")) });
  }

  /** Counts the bytes that the work writes elsewhere on the disk, until it has ended. `beside`: the folder of the same work. */
  async count<T>(owner: string, work: (meter: ScratchMeter) => Promise<T>, beside?: ScratchFolder): Promise<T> {
    await this.#claim();
    const share = new ScratchCount(this, { owner, beside });
    try {
      return await work(share);
    } finally {
      share.end();
    }
  }

  #claim(): Promise<string> {
    return (this.#own ??= claimProcessFolder(this.#options.folder));
  }

  /** Bytes that are in use. */
  get used(): number {
    return this.#total;
  }

  /** An owner has at most half of what the others leave: there is always something for one who has nothing yet. @throws ScratchFull */
  take(owner: string, bytes: number, { heldByWork }: { heldByWork: number }): void {
    const { maxBytes } = this.#options;
    const held = this.#held.get(owner) ?? 0;
    if (heldByWork + bytes > maxBytes / 2)
      throw new ScratchFull(
        `it needs more than ${toMegabytes(maxBytes / 2)} MB of temporary space; make it smaller, or ask an operator for more`,
        { never: true },
      );
    if (held + bytes > (maxBytes - (this.#total - held)) / 2)
      throw new ScratchFull("the temporary space is in use by other uploads; try again when they have ended", {
        never: false,
      });
    this.#look(bytes);
    this.#held.set(owner, held + bytes);
    this.#total += bytes;
  }

  give(owner: string, bytes: number): void {
    const held = (this.#held.get(owner) ?? 0) - bytes;
    if (held > 0) this.#held.set(owner, held);
    else this.#held.delete(owner);
    this.#total -= bytes;
  }

  /** Other programs write to the disk as well. @throws an error as of a full disk, before it is one */
  #look(bytes: number): void {
    if ((this.#unlooked += bytes) < LOOK_EVERY_BYTES) return;
    const { bavail, blocks, bsize } = statfsSync(this.#options.folder);
    if (bavail * bsize - bytes < Math.min(KEPT_FREE_BYTES, blocks * bsize * KEPT_FREE_SHARE))
      throw Object.assign(new Error(`the disk of ${this.#options.folder} is nearly full`), { code: "ENOSPC" });
    this.#unlooked = 0;
  }

  /** Runs heavy work when its turn comes, some of each owner at once. */
  async turn<T>(owner: string, work: () => Promise<T>): Promise<T> {
    const own = this.#ownTurns.get(owner) ?? { limit: pLimit(AT_ONCE_OF_ONE), users: 0 };
    this.#ownTurns.set(owner, own);
    own.users++;
    try {
      return await own.limit(() => this.#turns(work));
    } finally {
      if (--own.users === 0) this.#ownTurns.delete(owner);
    }
  }
}

interface ShareOptions {
  owner: string;
  signal?: AbortSignal | undefined;
  beside?: ScratchShare | undefined;
}

/** Bytes of one work, or of a part of it. */
class ScratchShare implements ScratchMeter {
  readonly signal: AbortSignal | undefined;
  readonly #space: ScratchSpace;
  readonly #owner: string;
  /** Bytes of all parts of the work together, which have to fit. */
  readonly #work: { held: number };
  #held = 0;

  constructor(space: ScratchSpace, { owner, signal, beside }: ShareOptions) {
    this.#space = space;
    this.#owner = owner;
    this.signal = signal;
    this.#work = beside ? beside.#work : { held: 0 };
  }

  take(bytes: number): void {
    this.signal?.throwIfAborted();
    this.#space.take(this.#owner, bytes, { heldByWork: this.#work.held });
    this.#held += bytes;
    this.#work.held += bytes;
  }

  /** Runs heavy work when its turn comes. @throws the signal's reason at once when the signal is aborted before the work begins */
  async turn<T>(work: () => Promise<T>): Promise<T> {
    const { signal } = this;
    signal?.throwIfAborted();
    const begun = Promise.withResolvers<void>();
    const listening = signal && addAbortListener(signal, () => begun.reject(signal.reason));
    const result = this.#space.turn(this.#owner, () => {
      signal?.throwIfAborted();
      begun.resolve();
      return work();
    });
    // Nobody awaits the result of work that did not begin.
    result.catch(() => undefined);
    try {
      await begun.promise;
    } finally {
      listening?.[Symbol.dispose]();
    }
    return result;
  }

  protected giveBack(): void {
    this.#space.give(this.#owner, this.#held);
    this.#work.held -= this.#held;
    this.#held = 0;
  }
}

export class ScratchFolder extends ScratchShare {
  readonly path: string;

  constructor(space: ScratchSpace, { path, ...options }: ShareOptions & { path: string }) {
    super(space, options);
    this.path = path;
  }

  /** Passes bytes through on their way to this folder. */
  counted(): Transform {
    return countBytes(this);
  }

  async remove(): Promise<void> {
    try {
      await rm(this.path, { recursive: true, force: true });
    } finally {
      this.giveBack();
    }
  }
}

/** A share for bytes that are written elsewhere on the disk. */
class ScratchCount extends ScratchShare {
  end(): void {
    this.giveBack();
  }
}

/** Passes bytes through until the meter says stop. */
export function countBytes(meter: ScratchMeter): Transform {
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      try {
        meter.take(chunk.length);
      } catch (error) {
        return done(error instanceof Error ? error : new Error(String(error)));
      }
      done(null, chunk);
    },
  });
}

function toMegabytes(bytes: number): number {
  return Math.floor(bytes / 2 ** 20);
}

/** The scratch space of this process: all its parts write to one disk. */
export const processScratch = new ScratchSpace();
