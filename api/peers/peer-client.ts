// One peer: tells it of this replica's writes, many in one request. A peer that does not answer costs its bound once, and is skipped until it does.
import { setTimeout as delay } from "node:timers/promises";
import type { Logger } from "pino";
import type { Mark } from "./read-barrier.ts";
import type { History } from "./write-history.ts";
import { floorsPath, helloPath, isPeerGone, type Peer, type Wire } from "./peer-protocol.ts";

/** Longest wait for a peer, milliseconds. */
export const peerDeadlineMs = 500;
/** A peer that has been silent for so long is given up by all. Milliseconds. */
const giveUpMs = 4000;
const retry = { firstMs: 100, mostMs: 1000 };
/** Requests under way to one peer; what comes meanwhile goes together in the next. */
const lanes = 2;

export interface PeerLineOptions {
  peer: Peer;
  self: Peer;
  wire: Wire;
  history: History;
  /** Takes the peer's membership away, so that it answers nobody before it has joined again. @throws when that could not be done */
  drop: () => Promise<void>;
  log: Logger;
}

export interface PeerLine {
  readonly peer: Peer;
  /** Resolves when the peer knows; at once while it is skipped, and when it turns out that it does not answer. Never rejects. */
  tell(marks: readonly Mark[]): Promise<void>;
  /** Says that this replica is there. What it may have missed; nothing when the peer turns out to be gone. @throws when it may be alive and does not answer */
  hello(): Promise<Mark[]>;
  /** It has just been given everything that was written so far. */
  caughtUp(): void;
  close(): Promise<void>;
}

/** A line that is in use from the start. */
export function createPeerLine(options: PeerLineOptions): PeerLine {
  return new Line(options);
}

class Line implements PeerLine {
  readonly peer: Peer;
  readonly #o: PeerLineOptions;
  readonly #closed = new AbortController();
  #skipped = false;
  #busy = 0;
  #queue: Mark[] = [];
  #waiting: (() => void)[] = [];

  constructor(options: PeerLineOptions) {
    this.#o = options;
    this.peer = options.peer;
  }

  tell(marks: readonly Mark[]): Promise<void> {
    if (this.#skipped || this.#closed.signal.aborted) return Promise.resolve();
    this.#queue.push(...marks);
    const told = new Promise<void>((resolve) => this.#waiting.push(resolve));
    // Writes that are answered in the same turn go together.
    if (this.#queue.length === marks.length) queueMicrotask(() => void this.#send());
    return told;
  }

  async hello(): Promise<Mark[]> {
    for (const started = performance.now(); ; await delay(retry.firstMs)) {
      try {
        return (await this.#o.wire.post(helloPath, { peer: this.#o.self }, peerDeadlineMs)).marks;
      } catch (error) {
        if (!isPeerGone(error) && performance.now() - started < giveUpMs) continue;
        await this.#o.drop();
        return [];
      }
    }
  }

  caughtUp(): void {
    this.#skipped = false;
  }

  async close(): Promise<void> {
    this.#closed.abort();
    this.#settle(this.#waiting.splice(0));
    await this.#o.wire.close();
  }

  async #send(): Promise<void> {
    while (this.#queue.length > 0 && this.#busy < lanes) {
      const [marks, waiting] = [this.#queue.splice(0), this.#waiting.splice(0)];
      this.#busy++;
      try {
        await this.#o.wire.post(floorsPath, { marks }, peerDeadlineMs);
      } catch (error) {
        this.#skip(error);
      }
      this.#busy--;
      this.#settle(waiting);
    }
  }

  #settle(waiting: readonly (() => void)[]): void {
    for (const resolve of waiting) resolve();
  }

  #skip(error: unknown): void {
    if (this.#skipped || this.#closed.signal.aborted) return;
    this.#skipped = true;
    this.#queue = [];
    this.#settle(this.#waiting.splice(0));
    this.#o.log.warn({ err: error, replica: this.peer.identity }, "a replica does not answer; it is skipped until it does");
    void this.#regain(isPeerGone(error));
  }

  /** Until the peer has been told what it missed, is given up, or said hello by itself. */
  async #regain(gone: boolean): Promise<void> {
    const { history, wire, log } = this.#o;
    const started = performance.now();
    let isGone = gone;
    for (let pause = retry.firstMs; this.#skipped && !this.#closed.signal.aborted; pause = Math.min(pause * 2, retry.mostMs)) {
      if (isGone || performance.now() - started > giveUpMs) await this.#drop();
      await delay(pause, undefined, { signal: this.#closed.signal, ref: false }).catch(() => undefined);
      try {
        const { revision } = history;
        await wire.post(floorsPath, { marks: history.marks() }, peerDeadlineMs);
        this.#skipped = false;
        log.info({ replica: this.peer.identity }, "a replica answers again");
        // What was written while it was being told.
        if (history.revision !== revision) await this.tell(history.marks());
      } catch (error) {
        isGone = isPeerGone(error);
      }
    }
  }

  async #drop(): Promise<void> {
    try {
      await this.#o.drop();
    } catch (err) {
      this.#o.log.debug({ err, replica: this.peer.identity }, "could not take the membership of a silent replica away; it expires");
    }
  }
}
