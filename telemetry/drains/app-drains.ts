// The log drains of all apps: started and stopped as they come and go, and one reader of the log for each app.
import type { Envelope } from "../envelope.ts";
import { startDrain, type Drain, type DrainBudget, type DrainOptions } from "./drain.ts";
import type { DrainedApp } from "./syslog-message.ts";

/** A drain as it is wanted now. */
export interface WantedDrain extends Pick<DrainOptions, "app" | "address" | "certificates" | "network"> {
  /** Identity of the binding. */
  key: string;
  /** Another one for every change of what is connected to, and how. */
  version: string;
}

export interface AppDrainsOptions {
  /** New lines of an app's log from a time on, until the signal aborts. */
  follow: (source: string, options: { start: bigint; signal: AbortSignal }) => AsyncIterable<Envelope>;
  /** A line for the app's log. */
  tell: (app: DrainedApp, text: string) => void;
  nowNs?: () => bigint;
  maxBytes?: number;
  retryMs?: number;
}

/** Bytes that wait for all drains of this process. */
const MAX_BYTES = 64 << 20;

interface RunningDrain {
  version: string;
  app: string;
  drain: Drain;
}

/** An app's drains, and the reader of its log. */
interface DrainedLog {
  drains: Set<Drain>;
  reader: AbortController;
  /** Ends one reading of the log, after which it is read again. */
  round?: AbortController;
}

export class AppDrains {
  readonly #options: AppDrainsOptions;
  readonly #budget: DrainBudget;
  readonly #drains = new Map<string, RunningDrain>();
  /** By GUID of the app. */
  readonly #logs = new Map<string, DrainedLog>();

  constructor(options: AppDrainsOptions) {
    this.#options = options;
    this.#budget = { bytes: 0, maxBytes: options.maxBytes ?? MAX_BYTES };
  }

  /** Starts, restarts and stops what differs. */
  apply(wanted: readonly WantedDrain[]): void {
    const byKey = new Map(wanted.map((drain) => [drain.key, drain]));
    for (const [key, running] of this.#drains) if (byKey.get(key)?.version !== running.version) this.#end(key, running);
    for (const drain of wanted) if (!this.#drains.has(drain.key)) this.#begin(drain);
    for (const [app, { drains, reader }] of this.#logs) {
      if (drains.size > 0) continue;
      reader.abort();
      this.#logs.delete(app);
    }
  }

  /** The log of these apps is kept elsewhere now: it is read from there on, after the last line that was read. */
  reread(apps: Iterable<string>): void {
    for (const app of apps) this.#logs.get(app)?.round?.abort();
  }

  /** Apps whose log is read. */
  apps(): string[] {
    return [...this.#logs.keys()];
  }

  stop(): void {
    this.apply([]);
  }

  #begin({ key, version, ...drain }: WantedDrain): void {
    const { tell, retryMs } = this.#options;
    const started = startDrain({
      ...drain,
      budget: this.#budget,
      tell: (text) => tell(drain.app, text),
      ...(retryMs !== undefined && { retryMs }),
    });
    const app = drain.app.guid;
    this.#drains.set(key, { version, app, drain: started });
    const log = this.#logs.get(app);
    if (log) log.drains.add(started);
    else void this.#read(app, started);
  }

  #end(key: string, { app, drain }: RunningDrain): void {
    drain.stop();
    this.#drains.delete(key);
    this.#logs.get(app)?.drains.delete(drain);
  }

  /** Lines from before the drain are not its. */
  async #read(app: string, first: Drain): Promise<void> {
    const { follow, nowNs = () => BigInt(Date.now()) * 1_000_000n } = this.#options;
    const reader = new AbortController();
    const log: DrainedLog = { drains: new Set([first]), reader };
    this.#logs.set(app, log);
    let start = nowNs();
    while (!reader.signal.aborted) {
      const round = new AbortController();
      log.round = round;
      for await (const envelope of follow(app, { start, signal: AbortSignal.any([reader.signal, round.signal]) })) {
        const next = BigInt(envelope.timestamp) + 1n;
        if (next > start) start = next;
        for (const drain of log.drains) drain.add(envelope);
      }
    }
  }
}
