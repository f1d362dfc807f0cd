// Sends this replica's writes to one peer, batched. A peer that does not answer costs one timeout and is skipped until it answers again.
import { setTimeout as delay } from "node:timers/promises";
import type { Logger } from "pino";
import type { WriteMark } from "./read-barrier.ts";
import type { WriteHistory } from "./write-history.ts";
import { marksPath, helloPath, isPeerGone, type Peer, type PeerConnection } from "./peer-protocol.ts";

/** Timeout of a request to a peer, milliseconds. */
export const peerTimeoutMs = 500;
/** A peer that has not answered for this long loses its membership. Milliseconds. */
const removeAfterMs = 4000;
const retry = { firstMs: 100, mostMs: 1000 };
/** Concurrent requests to one peer; later marks are batched into the next request. */
const maxInFlight = 2;

export interface PeerClientOptions {
  peer: Peer;
  self: Peer;
  connection: PeerConnection;
  history: WriteHistory;
  /** Removes the peer's membership, so that it answers no client before it has joined again. @throws Error when that fails */
  removePeer: () => Promise<void>;
  log: Logger;
}

export interface PeerClient {
  readonly peer: Peer;
  /** Resolves once the peer has acknowledged the marks or does not answer in time; at once while it is skipped. Never rejects. */
  sendMarks(marks: readonly WriteMark[]): Promise<void>;
  /**
   * Announces this replica; returns the marks that it may have missed, none from a dead peer. Calls `onSend` before each attempt.
   * @throws Error when a silent peer cannot be removed
   */
  hello(onSend: () => void): Promise<WriteMark[]>;
  /** Records that the peer has just received all marks so far. */
  markCaughtUp(): void;
  close(): Promise<void>;
}

export function createPeerClient(options: PeerClientOptions): PeerClient {
  return new QueueingPeerClient(options);
}

class QueueingPeerClient implements PeerClient {
  readonly peer: Peer;
  readonly #options: PeerClientOptions;
  readonly #closed = new AbortController();
  #unreachable = false;
  #inFlight = 0;
  #queue: WriteMark[] = [];
  #pending: (() => void)[] = [];

  constructor(options: PeerClientOptions) {
    this.#options = options;
    this.peer = options.peer;
  }

  sendMarks(marks: readonly WriteMark[]): Promise<void> {
    if (this.#unreachable || this.#closed.signal.aborted) return Promise.resolve();
    this.#queue.push(...marks);
    const told = new Promise<void>((resolve) => this.#pending.push(resolve));
    // Batches the writes of one turn of the event loop.
    if (this.#queue.length === marks.length) queueMicrotask(() => void this.#send());
    return told;
  }

  async hello(onSend: () => void): Promise<WriteMark[]> {
    for (const started = performance.now(); ; await delay(retry.firstMs)) {
      onSend();
      try {
        return (await this.#options.connection.post(helloPath, { peer: this.#options.self }, peerTimeoutMs)).marks;
      } catch (error) {
        if (!isPeerGone(error) && performance.now() - started < removeAfterMs) continue;
        await this.#options.removePeer();
        return [];
      }
    }
  }

  markCaughtUp(): void {
    this.#unreachable = false;
  }

  async close(): Promise<void> {
    this.#closed.abort();
    this.#resolveAll(this.#pending.splice(0));
    await this.#options.connection.close();
  }

  async #send(): Promise<void> {
    while (this.#queue.length > 0 && this.#inFlight < maxInFlight) {
      const [marks, waiting] = [this.#queue.splice(0), this.#pending.splice(0)];
      this.#inFlight++;
      try {
        await this.#options.connection.post(marksPath, { marks }, peerTimeoutMs);
      } catch (error) {
        this.#markUnreachable(error);
      }
      this.#inFlight--;
      this.#resolveAll(waiting);
    }
  }

  #resolveAll(waiting: readonly (() => void)[]): void {
    for (const resolve of waiting) resolve();
  }

  #markUnreachable(error: unknown): void {
    if (this.#unreachable || this.#closed.signal.aborted) return;
    this.#unreachable = true;
    this.#queue = [];
    this.#resolveAll(this.#pending.splice(0));
    this.#options.log.warn(
      { err: error, replica: this.peer.identity },
      "a replica does not answer; it is skipped until it does",
    );
    void this.#reconnect(isPeerGone(error));
  }

  /** Retries until the peer has received the marks it missed, has said hello itself, or the client is closed. */
  async #reconnect(gone: boolean): Promise<void> {
    const { history, connection, log } = this.#options;
    const started = performance.now();
    let isGone = gone;
    for (
      let pause = retry.firstMs;
      this.#unreachable && !this.#closed.signal.aborted;
      pause = Math.min(pause * 2, retry.mostMs)
    ) {
      if (isGone || performance.now() - started > removeAfterMs) await this.#removePeer();
      await delay(pause, undefined, { signal: this.#closed.signal, ref: false }).catch(() => undefined);
      try {
        const { generation } = history;
        await connection.post(marksPath, { marks: history.listMarks() }, peerTimeoutMs);
        this.#unreachable = false;
        log.info({ replica: this.peer.identity }, "a replica answers again");
        // Sends the writes that were added during the request.
        if (history.generation !== generation) await this.sendMarks(history.listMarks());
      } catch (error) {
        isGone = isPeerGone(error);
      }
    }
  }

  async #removePeer(): Promise<void> {
    try {
      await this.#options.removePeer();
    } catch (err) {
      this.#options.log.debug(
        { err, replica: this.peer.identity },
        "could not take the membership of a silent replica away; it expires",
      );
    }
  }
}
