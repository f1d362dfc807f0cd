// Reads an app's log from the Log Cache API, newest part or as it grows.
import { setTimeout as delay } from "node:timers/promises";
import type { ApiClient } from "../api/client.ts";
import { Failure } from "../failure.ts";

/** As Log Cache answers it. */
interface Envelope {
  timestamp: string;
  instance_id?: string;
  tags?: Record<string, string>;
  log: { payload: string; type?: "OUT" | "ERR" };
}
export type LogLine = { timestamp: bigint; source: string; type: "OUT" | "ERR"; message: string };

const POLL_MS = 250;
const PAGE = "1000";

async function read(api: ApiClient, guid: string, query: Record<string, string>): Promise<LogLine[]> {
  const { envelopes } = await api.request<{ envelopes?: { batch?: unknown[] } }>("GET", `/api/v1/read/${guid}`, {
    query: { envelope_types: "LOG", limit: PAGE, ...query },
  });
  return (envelopes?.batch ?? []).flatMap((entry) => (isEnvelope(entry) ? [toLine(entry)] : []));
}

/** Another Log Cache may answer other kinds of envelopes, too. */
function isEnvelope(entry: unknown): entry is Envelope {
  const { timestamp, log } = (entry ?? {}) as Partial<Envelope>;
  return typeof timestamp === "string" && /^\d+$/.test(timestamp) && typeof log?.payload === "string";
}

function toLine({ timestamp, instance_id, tags, log }: Envelope): LogLine {
  const source = `${tags?.["source_type"] ?? "APP"}/${instance_id ?? "0"}`;
  return {
    timestamp: BigInt(timestamp),
    source,
    type: log.type ?? "OUT",
    message: Buffer.from(log.payload, "base64").toString("utf8").replace(/\n$/, ""),
  };
}

/** The newest lines, oldest first. */
export async function recentLog(api: ApiClient, guid: string): Promise<LogLine[]> {
  return (await read(api, guid, { descending: "true" })).reverse();
}

/** So many reads may fail one after the other: a busy platform must not end a log for good. */
const MAX_FAULTS = 5;
const FAULT_PAUSE_MS = 250;

/** As `read`, again after a fault of the platform. @throws Failure for what stays, and for the last of many faults */
async function readPatiently(api: ApiClient, guid: string, query: Record<string, string>): Promise<LogLine[]> {
  for (let fault = 1; ; fault++) {
    try {
      return await read(api, guid, query);
    } catch (error) {
      const isFinal = error instanceof Failure && error.kind !== "failed" && error.kind !== "unreachable";
      if (isFinal || fault === MAX_FAULTS) throw error;
      await delay(FAULT_PAUSE_MS);
    }
  }
}

/** Lines from `since` (nanoseconds) on, as they come, until the signal; those that had come by then are still given. */
export async function* followLog(
  api: ApiClient,
  guid: string,
  options: { since: bigint; signal: AbortSignal },
): AsyncGenerator<LogLine> {
  let next = options.since;
  for (let isLast = false; !isLast;) {
    isLast = options.signal.aborted;
    const lines = await readPatiently(api, guid, { start_time: String(next) });
    for (const line of lines) {
      next = line.timestamp + 1n;
      yield line;
    }
    if (lines.length === 0 && !isLast)
      await delay(POLL_MS, undefined, { signal: options.signal }).catch(() => undefined); // aborted: one last look
  }
}

/** `2026-11-21T10:00:00.00 [APP/PROC/WEB/0] OUT message`, as `cf logs` prints it. */
export function formatLine(line: LogLine): string {
  const time = new Date(Number(line.timestamp / 1_000_000n)).toISOString().replace("Z", "");
  return `${time} [${line.source}] ${line.type} ${line.message}`;
}
