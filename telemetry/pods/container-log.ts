// The log of one container: the lines of its streams, and those that say how its runs began and ended.
import type { KubeClient } from "../../kube/client/client.ts";
import type { SourceType } from "../envelope.ts";
import type { ContainerExit } from "./container-events.ts";
import type { LoggingContainer } from "./pod-containers.ts";
import { StreamLog, type LogStream, type StreamLine } from "./stream-log.ts";

/** A line. `sourceType` where it is another than the container's. */
export interface ContainerLine extends StreamLine {
  stream?: "OUT" | "ERR";
  sourceType?: SourceType;
  /** Written by the container itself: its log rate limit counts it. */
  isOutput?: true;
}

export interface ContainerLogOptions {
  client: KubeClient;
  container: LoggingContainer;
  /** The streams to read apart; `[undefined]` reads them as one. */
  streams: readonly LogStream[];
  onLine: (line: ContainerLine) => void;
  /** Called when a read fails, unless the container or its log does not exist. */
  onFault: (error: unknown) => void;
}

const MAX_RUNS_AHEAD = 8;

/** Reads one container's log. Each line of a stream is emitted once and in order; the end of a run after its last line. */
export class ContainerLog {
  readonly #streams: StreamLog[];
  #container: LoggingContainer;
  #emit: (line: ContainerLine) => void;
  /** Runs whose end was read: how many streams have come to it, and the time of their last line. */
  readonly #exits = new Map<string, { streams: number; last: bigint }>();
  #healthyRun: string | undefined;
  readonly #ended = Promise.withResolvers<void>();

  constructor({ client, container, streams, onLine, onFault }: ContainerLogOptions) {
    this.#container = container;
    this.#emit = onLine;
    this.#streams = streams.map(
      (stream) =>
        new StreamLog({
          client,
          container,
          stream,
          onFault,
          onLine: (line) => this.#emit(toContainerLine(line, stream)),
          onExitRead: (exit, last) => this.#onExitRead(exit, last),
        }),
    );
  }

  /** Resolves when the log of a run that has ended was read, or reading has stopped. */
  get ended(): Promise<void> {
    return this.#ended.promise;
  }

  /** Returns the existing lines of the last two runs, not in order. Call it before `follow`, if at all. Never rejects: unreadable lines are missing. */
  async readBack(): Promise<ContainerLine[]> {
    const events: ContainerLine[] = [];
    const onLine = this.#emit;
    this.#emit = (line) => events.push(line);
    const lines = await Promise.all(
      this.#streams.map(async (log) => (await log.readBack()).map((line) => toContainerLine(line, log.stream))),
    );
    this.#emitHealthy();
    this.#emit = onLine;
    return [...lines.flat(), ...events];
  }

  /** Emits every further line until `stop`, across restarts of the container and broken connections. */
  follow(): void {
    this.#emitHealthy();
    for (const log of this.#streams) log.follow();
  }

  /** Call it when the pod has changed. */
  update(container: LoggingContainer): void {
    this.#container = container;
    for (const log of this.#streams) log.update(container);
    if (this.#streams.some((log) => log.isFollowing)) this.#emitHealthy();
  }

  stop(): void {
    for (const log of this.#streams) log.stop();
    this.#ended.resolve();
  }

  /** Like `stop`, once the lines under way have arrived, or after this time. */
  finish(withinMs: number): void {
    for (const log of this.#streams) log.finish(withinMs);
    setTimeout(() => {
      const { exit } = this.#container;
      if (exit && !this.#hasBeenRead(exit)) this.#emitExit(exit, 0n);
      this.stop();
    }, withinMs).unref();
  }

  #onExitRead(exit: ContainerExit, last: bigint): void {
    const known = this.#exits.get(exit.run) ?? { streams: 0, last: 0n };
    if (known.streams >= this.#streams.length) return;
    known.streams++;
    if (last > known.last) known.last = last;
    this.#exits.set(exit.run, known);
    // A stream may be a few runs ahead of the other.
    const [oldest] = this.#exits.keys();
    if (this.#exits.size > MAX_RUNS_AHEAD && oldest !== undefined) this.#exits.delete(oldest);
    if (this.#hasBeenRead(exit)) this.#emitExit(exit, known.last);
  }

  #hasBeenRead({ run }: ContainerExit): boolean {
    return (this.#exits.get(run)?.streams ?? 0) >= this.#streams.length;
  }

  #emitExit({ time, lines }: ContainerExit, last: bigint): void {
    // Kubernetes knows the time of the end in seconds only.
    let at = time > last ? time : last + 1n;
    for (const line of lines) this.#emit({ ...line, time: at++ });
    this.#ended.resolve();
  }

  #emitHealthy(): void {
    const { healthySince, run } = this.#container;
    if (healthySince === undefined || run === this.#healthyRun) return;
    this.#healthyRun = run;
    this.#emit({ time: healthySince, message: "Container became healthy", sourceType: "CELL" });
  }
}

function toContainerLine(line: StreamLine, stream: LogStream): ContainerLine {
  return { ...line, isOutput: true, ...(stream === "Stderr" && { stream: "ERR" as const }) };
}
