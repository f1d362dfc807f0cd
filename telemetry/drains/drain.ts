// A log drain of an app: a bounded queue, a connection that is opened again after a failure, and words for the app's log.
import { setTimeout as delay } from "node:timers/promises";
import type { Envelope } from "../envelope.ts";
import { MAX_BATCH_BYTES, openDrain, type DrainConnection, type DrainTarget } from "./drain-connection.ts";
import { toSyslogMessage, type DrainedApp } from "./syslog-message.ts";

/** Bytes that wait, for all drains of this process together. */
export interface DrainBudget {
  bytes: number;
  readonly maxBytes: number;
}

export interface DrainOptions extends DrainTarget {
  app: DrainedApp;
  budget: DrainBudget;
  /** A line for the app's log. It has the host of the drain, and nothing else of its address. */
  tell: (text: string) => void;
  /** Shortens pauses in tests. */
  retryMs?: number;
}

export interface Drain {
  /** Queues the line, or counts it as lost; returns at once. */
  add(envelope: Envelope): void;
  stop(): void;
}

const MAX_QUEUED_BYTES = 1 << 20;
const MAX_QUEUED = 10_000;
/** Messages of one write. */
const BATCH = 100;
const RETRY_MS = 1000;
const MAX_RETRY_MS = 30_000;
/** Between two lines about lost messages. */
const TELL_MS = 30_000;

export function startDrain(options: DrainOptions): Drain {
  const running = new RunningDrain(options);
  return { add: (envelope) => running.add(envelope), stop: () => running.stop() };
}

class RunningDrain {
  readonly #options: DrainOptions;
  readonly #stopped = new AbortController();
  #queue: Buffer[] = [];
  #bytes = 0;
  #lost = 0;
  #toldAt = 0;
  #isSending = false;
  #failures = 0;
  #connection: DrainConnection | undefined;

  constructor(options: DrainOptions) {
    this.#options = options;
  }

  add(envelope: Envelope): void {
    const { app, address, budget } = this.#options;
    if (this.#stopped.signal.aborted) return;
    const message = toSyslogMessage(envelope, app, address);
    const isFull = this.#queue.length >= MAX_QUEUED || this.#bytes + message.length > MAX_QUEUED_BYTES;
    if (isFull || budget.bytes + message.length > budget.maxBytes) {
      this.#lost += 1;
      this.#tellLost();
      return;
    }
    this.#queue.push(message);
    this.#take(message.length);
    void this.#send();
  }

  stop(): void {
    this.#stopped.abort();
    this.#connection?.close();
    this.#take(-this.#bytes);
    this.#queue = [];
  }

  #take(bytes: number): void {
    this.#bytes += bytes;
    this.#options.budget.bytes += bytes;
  }

  async #send(): Promise<void> {
    if (this.#isSending) return;
    this.#isSending = true;
    while (this.#queue.length > 0 && !this.#stopped.signal.aborted) {
      const batch = this.#nextBatch();
      if (await this.#deliver(batch)) this.#forget(batch);
      else await this.#pause();
    }
    this.#isSending = false;
    this.#tellLost();
  }

  #nextBatch(): Buffer[] {
    let bytes = 0;
    const found = this.#queue.slice(0, BATCH);
    const end = found.findIndex((message, at) => (bytes += message.length) > MAX_BATCH_BYTES && at > 0);
    return end === -1 ? found : found.slice(0, end);
  }

  async #deliver(batch: readonly Buffer[]): Promise<boolean> {
    const { address } = this.#options;
    try {
      await this.#connected().then((connection) => connection.send(batch));
      this.#failures = 0;
      return true;
    } catch (error) {
      this.#connection?.close();
      this.#connection = undefined;
      // The first failure and every tenth are told: an app's log is not for its drain alone.
      if (this.#failures % 10 === 0 && !this.#stopped.signal.aborted)
        this.#options.tell(
          `The log drain at ${address.host} takes no messages: ${toReason(error)}. It is tried again.`,
        );
      this.#failures += 1;
      return false;
    }
  }

  /** `stop` closes only the connection that it finds, so one that was opened meanwhile is closed here. @throws Error */
  async #connected(): Promise<DrainConnection> {
    if (this.#connection) return this.#connection;
    const { signal } = this.#stopped;
    const opened = await openDrain(this.#options, signal);
    if (signal.aborted) {
      opened.close();
      signal.throwIfAborted();
    }
    this.#connection = opened;
    return opened;
  }

  #forget(batch: readonly Buffer[]): void {
    if (this.#stopped.signal.aborted) return;
    this.#queue.splice(0, batch.length);
    this.#take(-batch.reduce((sum, { length }) => sum + length, 0));
  }

  async #pause(): Promise<void> {
    const { retryMs = RETRY_MS } = this.#options;
    const ms = Math.min(retryMs * 2 ** Math.min(this.#failures - 1, 10), MAX_RETRY_MS);
    await delay(ms, undefined, { signal: this.#stopped.signal, ref: false }).catch(() => undefined);
  }

  #tellLost(): void {
    const now = Date.now();
    if (this.#lost === 0 || now - this.#toldAt < TELL_MS) return;
    const count = this.#lost;
    this.#lost = 0;
    this.#toldAt = now;
    this.#options.tell(
      `${count} ${count === 1 ? "message was" : "messages were"} lost: the log drain at ${this.#options.address.host} does not take them fast enough.`,
    );
  }
}

/** Codes of Node and OpenSSL name no secret; other texts may hold the address. */
function toReason(error: unknown): string {
  const { code, name, message } = error as NodeJS.ErrnoException;
  if (name === "TimeoutError" || name === "AbortError") return "it does not answer";
  if (code === "ERR_BROKER_ADDRESS") return "its address is not open to this space";
  if (typeof code === "string") return code;
  return OWN_TEXTS.find((text) => message.startsWith(text)) === undefined ? "the connection failed" : message;
}

/** Beginnings of the messages of drain-connection.ts. */
const OWN_TEXTS = ["the drain ", "the address is not open"];
