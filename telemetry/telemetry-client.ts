// Reads logs and stats from every endpoint that a backend class publishes, and merges them. Used by API replicas.
import { setTimeout as delay } from "node:timers/promises";
import type { TelemetryEndpoint } from "./endpoint-agent.ts";
import type { Envelope, InstanceStats, LogQuery, SourceMeta, StatsQuery } from "./envelope.ts";
import { httpTransport, type TelemetryTransport } from "./http-transport.ts";

/** The read that endpoints are asked for: the logs of a source, or else stats, perhaps of one app. */
export interface EndpointQuery {
  source?: string | undefined;
  app?: string | undefined;
}

/** Options of `telemetryClient`. Each call gets its `endpoints` anew, so that classes and replicas can change; equal URLs count once. */
export interface TelemetryClientOptions {
  endpoints: (query: EndpointQuery) => readonly TelemetryEndpoint[];
  /** HTTP by default. */
  transport?: TelemetryTransport;
  /** Deadline of one read; default 5 s. */
  timeoutMs?: number;
  /** How often a follower asks for its endpoints again. Without it a follower stays with those that it began with. */
  lookMs?: number;
  /** Called with the error of an endpoint that failed while others answered. */
  onError?: (error: Error) => void;
}

/** Reads from all endpoints. A read throws only when no endpoint answers. */
export interface TelemetryClient {
  /** Envelopes of a source, ordered by time as the query asks. */
  readLogs(source: string, query?: LogQuery): Promise<Envelope[]>;
  /** New envelopes of a source from `start` (default: now) until the signal aborts; reconnects by itself. */
  followLogs(source: string, options: { start?: bigint; signal: AbortSignal }): AsyncGenerator<Envelope>;
  stats(query: StatsQuery): Promise<InstanceStats[]>;
  meta(): Promise<Record<string, SourceMeta>>;
}

/** Makes a client over the published endpoints. */
export function telemetryClient(options: TelemetryClientOptions): TelemetryClient {
  const { transport = httpTransport, timeoutMs = 5000 } = options;
  const fetchAll = async (path: string, query: EndpointQuery = {}): Promise<unknown[]> => {
    const endpoints = distinct(options.endpoints(query));
    const answers = await Promise.allSettled(endpoints.map((endpoint) => transport.getJson(endpoint, path, timeoutMs)));
    const faults = answers.filter((answer) => answer.status === "rejected").map((answer) => toError(answer.reason));
    if (faults.length > 0 && faults.length === endpoints.length)
      throw new Error("no telemetry endpoint answers", { cause: faults[0] });
    for (const fault of faults) options.onError?.(fault);
    return answers.filter((answer) => answer.status === "fulfilled").map((answer) => answer.value);
  };
  return {
    async readLogs(source, query = {}) {
      const answers = (await fetchAll(`/logs/${encodeURIComponent(source)}?${toParams(query)}`, { source })) as {
        envelopes: { batch: Envelope[] };
      }[];
      return mergeEnvelopes(
        answers.map((answer) => answer.envelopes.batch),
        query,
      );
    },
    followLogs: (source, follow) => followAll(options, source, follow),
    async stats(query) {
      const params = new URLSearchParams(
        Object.entries(query).filter((pair): pair is [string, string] => pair[1] !== undefined),
      );
      const answers = (await fetchAll(`/stats?${params}`, { app: query.app })) as { instances: InstanceStats[] }[];
      return answers.flatMap((answer) => answer.instances);
    },
    async meta() {
      const answers = (await fetchAll("/meta")) as { meta: Record<string, SourceMeta> }[];
      return mergeMeta(answers.map((answer) => answer.meta));
    },
  };
}

/** Merges batches that are each in the query's order, and cuts the result to its limit. */
export function mergeEnvelopes<T extends { timestamp: string }>(batches: readonly T[][], query: LogQuery): T[] {
  const sign = query.descending ? -1 : 1;
  const filled = batches.filter((batch) => batch.length > 0);
  const merged =
    filled.length < 2 ? (filled[0] ?? []) : filled.flat().sort((a, b) => sign * compareTimes(a.timestamp, b.timestamp));
  return merged.slice(0, query.limit ?? 100);
}

/** A source whose lines are at several endpoints has the sum of their counts, and the widest range of times. */
export function mergeMeta(parts: readonly Record<string, SourceMeta>[]): Record<string, SourceMeta> {
  const merged = new Map<string, SourceMeta>();
  for (const [source, meta] of parts.flatMap((part) => Object.entries(part))) {
    const known = merged.get(source);
    merged.set(source, known ? addMeta(known, meta) : meta);
  }
  return Object.fromEntries(merged);
}

function addMeta(one: SourceMeta, other: SourceMeta): SourceMeta {
  const isOlder = compareTimes(other.oldestTimestamp, one.oldestTimestamp) < 0;
  const isNewer = compareTimes(other.newestTimestamp, one.newestTimestamp) > 0;
  return {
    count: String(BigInt(one.count) + BigInt(other.count)),
    expired: String(BigInt(one.expired) + BigInt(other.expired)),
    oldestTimestamp: isOlder ? other.oldestTimestamp : one.oldestTimestamp,
    newestTimestamp: isNewer ? other.newestTimestamp : one.newestTimestamp,
  };
}

function compareTimes(a: string, b: string): number {
  const difference = BigInt(a) - BigInt(b);
  return difference < 0n ? -1 : difference > 0n ? 1 : 0;
}

async function* followAll(
  options: TelemetryClientOptions,
  source: string,
  { start, signal }: { start?: bigint; signal: AbortSignal },
): AsyncGenerator<Envelope> {
  const queue: Envelope[] = [];
  let notify = (): void => undefined;
  const push = (envelope: Envelope): void => {
    // A slow consumer gets the newest lines.
    if (queue.length >= 10_000) queue.shift();
    queue.push(envelope);
    notify();
  };
  signal.addEventListener("abort", () => notify(), { once: true });
  const from = start ?? BigInt(Date.now()) * 1_000_000n;
  const look = createLook(options, { source, from, signal, push });
  look();
  const timer = options.lookMs === undefined ? undefined : setInterval(look, options.lookMs).unref();
  try {
    while (!signal.aborted) {
      const next = queue.shift();
      if (next) yield next;
      else await new Promise<void>((resolve) => (notify = resolve));
    }
  } finally {
    clearInterval(timer);
  }
}

interface Follow {
  source: string;
  from: bigint;
  signal: AbortSignal;
  push: (envelope: Envelope) => void;
}

/** The position in one endpoint. */
interface Followed {
  endpoint: TelemetryEndpoint;
  from: bigint;
  abort: AbortController;
}

/** Each call follows the endpoints that are new, or have a new token, and ends those that are there no more. One that is new is read from the begin of the follower. */
function createLook({ endpoints, transport = httpTransport }: TelemetryClientOptions, follow: Follow): () => void {
  const followed = new Map<string, Followed>();
  return () => {
    const wanted = distinct(endpoints({ source: follow.source }));
    for (const { endpoint, abort } of followed.values())
      if (!wanted.some(({ url, token }) => url === endpoint.url && token === endpoint.token)) abort.abort();
    for (const endpoint of wanted) {
      const known = followed.get(endpoint.url);
      if (known && !known.abort.signal.aborted) continue;
      const task = { endpoint, from: known?.from ?? follow.from, abort: new AbortController() };
      followed.set(endpoint.url, task);
      void followOne(task, { transport, ...follow });
    }
  };
}

async function followOne(task: Followed, follow: Follow & { transport: TelemetryTransport }): Promise<void> {
  const ended = AbortSignal.any([follow.signal, task.abort.signal]);
  while (!ended.aborted) {
    try {
      await readLines(task, follow, ended);
    } catch (_error) {
      // The endpoint or the consumer has disconnected; the loop's condition distinguishes them. A restarted platform returns soon.
    }
    await delay(500, undefined, { signal: ended }).catch(() => undefined);
  }
}

async function readLines(
  task: Followed,
  { transport, source, push }: Follow & { transport: TelemetryTransport },
  ended: AbortSignal,
): Promise<void> {
  const path = `/logs/${encodeURIComponent(source)}/follow?start_time=${task.from}`;
  for await (const line of await transport.openLines(task.endpoint, path, ended)) {
    if (ended.aborted) return;
    const envelope = JSON.parse(line) as Envelope;
    task.from = BigInt(envelope.timestamp) + 1n;
    push(envelope);
  }
}

function toParams(query: LogQuery): URLSearchParams {
  const params = new URLSearchParams();
  if (query.start !== undefined) params.set("start_time", String(query.start));
  if (query.end !== undefined) params.set("end_time", String(query.end));
  if (query.limit !== undefined) params.set("limit", String(query.limit));
  if (query.descending) params.set("descending", "true");
  for (const type of query.types ?? []) params.append("envelope_types", type);
  return params;
}

function distinct(endpoints: readonly TelemetryEndpoint[]): TelemetryEndpoint[] {
  return [...new Map(endpoints.map((endpoint) => [endpoint.url, endpoint])).values()];
}

function toError(value: unknown): Error {
  return value instanceof Error ? value : new Error(String(value));
}
