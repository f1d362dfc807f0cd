// Reads one stream of a container's log from the API server: the existing lines, then new ones.
import { backoffDelay } from "../../kube/client/backoff.ts";
import { createSleeper } from "../../kube/client/sleeper.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { KubeError } from "../../kube/client/errors.ts";
import { lineSplitter } from "../line-splitter.ts";
import type { ContainerExit } from "./container-events.ts";
import type { LoggingContainer } from "./pod-containers.ts";

/** A line of a stream. `time` in nanoseconds since the epoch. */
export interface StreamLine {
  time: bigint;
  message: string;
}

/** A stream, as the API server names it; undefined for both in one. */
export type LogStream = "Stdout" | "Stderr" | undefined;

/** Lines that are read from the end of each run's log at first; the next constant bounds them in characters. */
const TAIL_LINES = 1000;
const MAX_BUFFERED_LENGTH = 1 << 20;
const OPEN_DEADLINE_MS = 10_000;
const RETRY_BACKOFF = { minMs: 500, maxMs: 15_000, jitter: 0.5 };
/** A stream that ends sooner counts as a failure. */
const MIN_STREAM_MS = 5_000;
const IDLE_SLEEP_MS = 86_400_000;

/** `2026-11-21T04:00:00.123456789Z text`, the format of `timestamps=true`; undefined for anything else. */
export function parseLine(line: string): StreamLine | undefined {
  const [, seconds = "", fraction = "", zone = "Z"] =
    /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(Z|[+-]\d\d:\d\d) /.exec(line) ?? [];
  const milliseconds = Date.parse(`${seconds}${zone}`);
  if (Number.isNaN(milliseconds)) return undefined;
  return {
    time: BigInt(milliseconds) * 1_000_000n + BigInt(fraction.padEnd(9, "0")),
    message: line.slice(line.indexOf(" ") + 1),
  };
}

export interface StreamLogOptions {
  client: KubeClient;
  container: LoggingContainer;
  stream: LogStream;
  onLine: (line: StreamLine) => void;
  /** Called when every line of a run that has ended was emitted. `last` is the time of the last one. */
  onExitRead: (exit: ContainerExit, last: bigint) => void;
  /** Called when a read fails, unless the container or its log does not exist. */
  onFault: (error: unknown) => void;
  random?: () => number;
}

/** Reads one stream. Emits each line that the node still has, once and in order. */
export class StreamLog {
  readonly #options: StreamLogOptions;
  readonly #stopped = new AbortController();
  #container: LoggingContainer;
  /** Time of the last emitted line. */
  #last = 0n;
  /** The run that was read last. */
  #run: string | undefined;
  readonly #delay = createSleeper();
  #following = false;
  #finishing = false;

  constructor(options: StreamLogOptions) {
    this.#options = options;
    this.#container = options.container;
  }

  get stream(): LogStream {
    return this.#options.stream;
  }

  get isFollowing(): boolean {
    return this.#following;
  }

  /** Returns the existing lines of the last two runs. Call it before `follow`, if at all. Never rejects: unreadable lines are missing. */
  async readBack(): Promise<StreamLine[]> {
    const lines: StreamLine[] = [];
    let length = 0;
    const keep = (line: StreamLine): void => {
      lines.push(line);
      for (length += line.message.length; length > MAX_BUFFERED_LENGTH;)
        length -= lines.shift()?.message.length ?? length;
    };
    const { restarted, run, exit } = this.#container;
    if (restarted) await this.#tryRead({ previous: "true" }, keep);
    if (exit && exit.run !== run) this.#options.onExitRead(exit, this.#last);
    await this.#tryRead({}, keep);
    if (exit?.run === run) this.#options.onExitRead(exit, this.#last);
    this.#run = run;
    return lines;
  }

  /** Emits every further line until `stop`, across restarts of the container and broken connections. */
  follow(): void {
    if (this.#following) return;
    this.#following = true;
    void this.#followRuns();
  }

  /** Call it when the pod has changed. */
  update(container: LoggingContainer): void {
    const { run, running, exit } = this.#container;
    const changed = container.run !== run || container.running !== running || container.exit?.run !== exit?.run;
    this.#container = container;
    if (changed) this.#delay.interrupt();
  }

  stop(): void {
    this.#stopped.abort();
  }

  /** Like `stop`, once the lines under way have arrived, or after this time. */
  finish(withinMs: number): void {
    this.#finishing = true;
    this.#delay.interrupt();
    setTimeout(() => this.stop(), withinMs).unref();
  }

  async #followRuns(): Promise<void> {
    const { signal } = this.#stopped;
    for (let failures = 0; !signal.aborted && !this.#finishing;) {
      const { run, running, exit } = this.#container;
      const started = performance.now();
      const good = await this.#followRun(run, exit);
      failures = good && performance.now() - started > MIN_STREAM_MS ? 0 : failures + 1;
      if (this.#container.run !== run || this.#finishing) continue;
      // A finished run has no further lines. A running one, or one with a failed read, is read again.
      const again = [running, this.#container.running, !good].includes(true);
      await this.#delay.sleep(
        again
          ? backoffDelay(RETRY_BACKOFF, Math.max(failures, 1), (this.#options.random ?? Math.random)())
          : IDLE_SLEEP_MS,
        signal,
      );
    }
  }

  async #followRun(run: string, exit: ContainerExit | undefined): Promise<boolean> {
    // Only "previous" has the lines of a run that ended while no replica read it.
    if (this.#run !== undefined && this.#run !== run) await this.#tryRead({ previous: "true" }, this.#options.onLine);
    if (exit && exit.run !== run) this.#options.onExitRead(exit, this.#last);
    this.#run = run;
    const good = await this.#tryRead({ follow: "true" }, this.#options.onLine);
    // A read that began after the end has all lines.
    if (good && exit?.run === run) this.#options.onExitRead(exit, this.#last);
    return good;
  }

  /** Returns true when the log was read to its end. */
  async #tryRead(query: Record<string, string>, onLine: (line: StreamLine) => void): Promise<boolean> {
    try {
      await this.#read(query, onLine);
      return true;
    } catch (error) {
      if (this.#stopped.signal.aborted) return true;
      // The pod, container or run does not exist or has not started: nothing to read.
      if (error instanceof KubeError && (error.code === 400 || error.code === 404)) return true;
      this.#options.onFault(error);
      return false;
    }
  }

  async #read(query: Record<string, string>, onLine: (line: StreamLine) => void): Promise<void> {
    const { namespace, pod, container } = this.#container;
    const { stream } = this.#options;
    const params = new URLSearchParams({
      container,
      timestamps: "true",
      ...(stream && { stream }),
      ...this.#since(),
      ...query,
    });
    const path = `/api/v1/namespaces/${encodeURIComponent(namespace)}/pods/${encodeURIComponent(pod)}/log?${params}`;
    const answer = await this.#options.client.stream("GET", path, {
      deadlineMs: OPEN_DEADLINE_MS,
      signal: this.#stopped.signal,
    });
    const stop = (): void => void answer.body.destroy();
    this.#stopped.signal.addEventListener("abort", stop, { once: true });
    try {
      const lines = lineSplitter((text) => this.#onText(text, onLine));
      for await (const chunk of answer.body as AsyncIterable<Buffer>) lines.write(chunk);
      lines.flush();
    } finally {
      this.#stopped.signal.removeEventListener("abort", stop);
    }
  }

  /** The API server takes whole seconds only; older lines of that second are dropped on arrival. */
  #since(): Record<string, string> {
    // The API server refuses tailLines for one stream; the node keeps some MiB of a run.
    if (this.#last === 0n) return this.#options.stream ? {} : { tailLines: String(TAIL_LINES) };
    return { sinceTime: new Date(Number(this.#last / 1_000_000n)).toISOString().replace(/\.\d+Z$/, "Z") };
  }

  #onText(text: string, onLine: (line: StreamLine) => void): void {
    const line = parseLine(text);
    if (!line || line.time <= this.#last) return;
    this.#last = line.time;
    onLine(line);
  }
}
