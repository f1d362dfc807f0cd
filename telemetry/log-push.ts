// Sends log lines of this process to the replica that keeps the logs of their app.
import { setTimeout as delay } from "node:timers/promises";
import { fetch } from "undici";
import { agentFor, type TelemetryEndpoint } from "./endpoint-agent.ts";
import type { LogEntry } from "./envelope.ts";

/** A line as JSON. `time` is nanoseconds since the epoch in a string, since JSON numbers are too short. */
export type PushedEntry = Omit<LogEntry, "time"> & { time: string };

/** Most lines in one request. */
export const MAX_PUSHED_ENTRIES = 100;
/** Bytes of one request's body, so that a batch of the API's short lines fits. */
export const MAX_PUSH_BYTES = 1 << 20;

const MAX_QUEUED = 1_000;
const PUSH_DEADLINE_MS = 2_000;
const RETRY_MS = 500;
/** Age at which a line that no replica took is dropped: an owner that died is replaced sooner. */
const MAX_AGE_NS = 60_000_000_000n;

export interface LogPushOptions {
  /** The replica that keeps the logs of this source now; undefined when none is known. */
  findOwner: (source: string) => TelemetryEndpoint | undefined;
  /** Called once for every line that was dropped. */
  onDropped: (reason: "queue full" | "no replica took it", cause?: unknown) => void;
  retryMs?: number;
  nowNs?: () => bigint;
}

export interface LogPush {
  /** Queues the line with the current time, and returns at once. */
  log(entry: LogEntry): void;
  stop(): void;
}

/** Starts to send. Lines of one source arrive in order; one that no replica takes is tried again for a minute. */
export function startLogPush(options: LogPushOptions): LogPush {
  const { retryMs = RETRY_MS, nowNs = () => BigInt(Date.now()) * 1_000_000n, onDropped } = options;
  const stopped = new AbortController();
  let queue: PushedEntry[] = [];
  let isSending = false;

  const send = async (): Promise<void> => {
    if (isSending) return;
    isSending = true;
    while (queue.length > 0 && !stopped.signal.aborted) {
      const source = queue[0]?.source ?? "";
      const batch = queue.filter((entry) => entry.source === source).slice(0, MAX_PUSHED_ENTRIES);
      const fault = await push(options.findOwner(source), batch, stopped.signal);
      if (fault === undefined) {
        queue = queue.filter((entry) => !batch.includes(entry));
        continue;
      }
      dropOld(fault);
      // The lines of other sources come first now, since their owner may be another replica.
      queue = [
        ...queue.filter((entry) => entry.source !== source),
        ...queue.filter((entry) => entry.source === source),
      ];
      await delay(retryMs, undefined, { signal: stopped.signal, ref: false }).catch(() => undefined);
    }
    isSending = false;
  };
  const dropOld = (fault: unknown): void => {
    const oldest = nowNs() - MAX_AGE_NS;
    for (const entry of queue) if (BigInt(entry.time) < oldest) onDropped("no replica took it", fault);
    queue = queue.filter((entry) => BigInt(entry.time) >= oldest);
  };
  return {
    log(entry) {
      if (queue.length >= MAX_QUEUED) return onDropped("queue full");
      queue.push({ ...entry, time: String(entry.time ?? nowNs()) });
      void send();
    },
    stop: () => stopped.abort(),
  };
}

/** Returns the error, or undefined once the owner has taken the lines. */
async function push(
  endpoint: TelemetryEndpoint | undefined,
  entries: readonly PushedEntry[],
  stopped: AbortSignal,
): Promise<unknown> {
  if (!endpoint) return new Error("no replica keeps logs");
  try {
    const response = await fetch(`${endpoint.url}/logs`, {
      method: "POST",
      headers: { authorization: `Bearer ${endpoint.token}`, "content-type": "application/json" },
      body: JSON.stringify({ entries }),
      signal: AbortSignal.any([stopped, AbortSignal.timeout(PUSH_DEADLINE_MS)]),
      redirect: "error",
      ...agentFor(endpoint, "call"),
    });
    await response.body?.cancel();
    return response.ok ? undefined : new Error(`the replica at ${endpoint.url} answered ${response.status}`);
  } catch (error) {
    return error;
  }
}
