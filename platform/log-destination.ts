// Where log lines go: a file descriptor, written in the background. A full disk costs log lines, never the process.
import { write, writeSync } from "node:fs";
import type { DestinationStream } from "pino";

export interface LogDestination extends DestinationStream {
  /** Lines that could not be written since the last one that could. */
  readonly droppedLines: number;
  /** Writes the queue once, synchronously, for the end of the process. Never throws. */
  flushSync(): void;
}

/** Lines that may wait for a slow disk, in characters. */
const MAX_QUEUED = 1024 * 1024;
const BUSY_RETRY_MS = 100;

/**
 * Not pino's own destination: without an `error` listener a failed write ends the process, and its flush at the exit
 * retries for ever on a full disk. @param maxQueued lines beyond so many characters are dropped and counted.
 */
export function openLogDestination(fd: number, maxQueued = MAX_QUEUED): LogDestination {
  const destination = new FileLogDestination(fd, maxQueued);
  process.once("exit", () => destination.flushSync());
  return destination;
}

class FileLogDestination implements LogDestination {
  readonly #fd: number;
  readonly #maxQueued: number;
  #queue: string[] = [];
  #queuedLength = 0;
  #inFlight: { bytes: Buffer; lines: number } | undefined;
  #droppedLines = 0;

  constructor(fd: number, maxQueued: number) {
    this.#fd = fd;
    this.#maxQueued = maxQueued;
  }

  get droppedLines(): number {
    return this.#droppedLines;
  }

  write(line: string): void {
    if (this.#queuedLength + line.length > this.#maxQueued) {
      this.#droppedLines++;
      return;
    }
    this.#queue.push(line);
    this.#queuedLength += line.length;
    this.#writeNext();
  }

  flushSync(): void {
    const pending = [this.#inFlight?.bytes ?? Buffer.alloc(0), Buffer.from(this.#takeQueue().join(""))];
    try {
      writeSync(this.#fd, Buffer.concat(pending));
    } catch {
      // The process is ending and cannot report the error anywhere.
    }
  }

  #takeQueue(): string[] {
    const lines = this.#queue;
    this.#queue = [];
    this.#queuedLength = 0;
    return lines;
  }

  #writeNext(): void {
    if (this.#inFlight || this.#queue.length === 0) return;
    const lines = this.#takeQueue();
    this.#inFlight = { bytes: Buffer.from(lines.join("")), lines: lines.length };
    this.#writeInFlight();
  }

  #writeInFlight(): void {
    const { bytes } = this.#inFlight ?? { bytes: Buffer.alloc(0) };
    write(this.#fd, bytes, (error, written) => this.#afterWrite(error, written));
  }

  #afterWrite(error: NodeJS.ErrnoException | null, written: number): void {
    const current = this.#inFlight;
    if (!current) return;
    if (error?.code === "EAGAIN") {
      setTimeout(() => this.#writeInFlight(), BUSY_RETRY_MS).unref();
      return;
    }
    if (!error && written < current.bytes.length) {
      current.bytes = current.bytes.subarray(written);
      this.#writeInFlight();
      return;
    }
    this.#inFlight = undefined;
    // The queued lines would fail as well; the next line tries again.
    if (error) this.#droppedLines += current.lines + this.#takeQueue().length;
    else this.#afterSuccess();
  }

  #afterSuccess(): void {
    const count = this.#droppedLines;
    this.#droppedLines = 0;
    if (count > 0)
      this.#queue.unshift(
        `${JSON.stringify({ level: "warn", time: new Date().toISOString(), msg: "log lines were dropped: the log could not be written", droppedLines: count })}\n`,
      );
    this.#writeNext();
  }
}
