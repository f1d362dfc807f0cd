// Logs and stats of the backends in this process, and the HTTP endpoint that serves them to every replica of the API.
import { timingSafeEqual } from "node:crypto";
import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import {
  type Envelope,
  type EnvelopeType,
  type InstanceStats,
  type LogEntry,
  type LogQuery,
  maxReadLimit,
  type StatsProvider,
  type StatsQuery,
} from "./envelope.ts";
import { readPushedEntries } from "./pushed-entries.ts";
import { createLogRing, type LogRing } from "./log-ring.ts";

/** Shared by the builders, runners and routers of one process. */
export interface Telemetry {
  /** Stores one line. Never blocks, and never throws on a full ring. */
  log(entry: LogEntry): void;
  /** Adds a source of instance stats; the returned function removes it. */
  registerStats(provider: StatsProvider): () => void;
  /** Current stats of all providers. A provider that fails counts as empty and is reported to `onError`. */
  stats(query: StatsQuery): Promise<InstanceStats[]>;
  ring: LogRing;
}

/** Options of `createTelemetry`. `onError` is called with the errors of stats providers. */
export interface TelemetryOptions {
  ring?: LogRing;
  onError?: (error: unknown) => void;
}

/** Makes the log rings and the registry of stats providers of this process. */
export function createTelemetry(options: TelemetryOptions = {}): Telemetry {
  const ring = options.ring ?? createLogRing();
  const providers = new Set<StatsProvider>();
  const ask = async (provider: StatsProvider, query: StatsQuery): Promise<InstanceStats[]> => {
    try {
      return await provider(query);
    } catch (error) {
      options.onError?.(error);
      return [];
    }
  };
  return {
    ring,
    log: (entry) => ring.log(entry),
    registerStats(provider) {
      providers.add(provider);
      return () => void providers.delete(provider);
    },
    stats: async (query) => (await Promise.all([...providers].map((provider) => ask(provider, query)))).flat(),
  };
}

/** Unread bytes after which a follower is disconnected. */
export const maxFollowerBacklog = 4 << 20;

/**
 * The request handler of the endpoint. Every path needs `Authorization: Bearer <token>`.
 * `GET /logs/{source}` (start_time, end_time, limit, descending, envelope_types) → `{ envelopes: { batch } }`;
 * `GET /logs/{source}/follow` (start_time) → one envelope a line, until the client disconnects;
 * `GET /meta` → `{ meta }`; `GET /stats` (app, process, lrp) → `{ instances }`; `POST /logs` with `{ entries }` stores lines of other replicas → 204.
 */
export function telemetryHandler(telemetry: Telemetry, token: () => string): RequestListener {
  return (request, response) => {
    if (!isAuthorized(request, token())) return sendJson(response, 401, { error: "a bearer token is needed" });
    if (request.method === "POST" && request.url === "/logs") return void storePush(telemetry, request, response);
    if (request.method !== "GET") return sendJson(response, 405, { error: "only GET is served here" });
    const parsed = parseTarget(request.url ?? "/");
    if (!parsed) return sendJson(response, 400, { error: "the path is not valid" });
    sendAnswer(telemetry, parsed, response);
  };
}

function sendAnswer(telemetry: Telemetry, { url, first, source, last }: Target, response: ServerResponse): void {
  if (first === "stats") return void sendStats(telemetry, url, response);
  if (first === "meta") return sendJson(response, 200, { meta: telemetry.ring.meta() });
  if (first !== "logs" || !source) return sendJson(response, 404, { error: `no such path: ${url.pathname}` });
  const query = toLogQuery(url.searchParams);
  if (last === "follow") return followSource(telemetry.ring, source, query, response);
  sendJson(response, 200, { envelopes: { batch: telemetry.ring.read(source, query) } });
}

export interface Target {
  url: URL;
  first?: string;
  source?: string;
  last?: string;
}

async function storePush(telemetry: Telemetry, request: IncomingMessage, response: ServerResponse): Promise<void> {
  try {
    for (const entry of await readPushedEntries(request)) telemetry.log(entry);
    response.writeHead(204).end();
  } catch (error) {
    sendJson(response, 400, {
      error: `the lines cannot be read: ${error instanceof Error ? error.message : "no JSON"}`,
    });
  }
}

/** The path and query of a request; undefined when they are not valid. */
export function parseTarget(target: string): Target | undefined {
  try {
    const url = new URL(target, "http://telemetry");
    const [, first = "", source = "", last = ""] = url.pathname.split("/").map(decodeURIComponent);
    return { url, first, source, last };
  } catch (_error) {
    // The path is not a URL or has an invalid escape. An exception here would end the process.
    return undefined;
  }
}

/** Reads the query parameters of Log Cache; an invalid number is ignored. */
export function toLogQuery(params: URLSearchParams): LogQuery {
  const start = toBigInt(params.get("start_time"));
  const end = toBigInt(params.get("end_time"));
  const limit = toBigInt(params.get("limit"));
  return {
    // In Log Cache a negative start time (Go's zero time) means "from the beginning".
    ...(start !== undefined && { start }),
    ...(end !== undefined && end > 0n && { end }),
    ...(limit !== undefined && limit > 0n && { limit: Number(limit) }),
    descending: params.get("descending") === "true",
    types: params.getAll("envelope_types").map((type) => type.toUpperCase() as EnvelopeType),
  };
}

function toBigInt(text: string | null): bigint | undefined {
  return text !== null && /^-?\d{1,19}$/.test(text) ? BigInt(text) : undefined;
}

function followSource(ring: LogRing, source: string, query: LogQuery, response: ServerResponse): void {
  response.writeHead(200, { "content-type": "application/x-ndjson", "cache-control": "no-store" });
  response.flushHeaders();
  const send = (envelope: Envelope): void => {
    response.write(`${JSON.stringify(envelope)}\n`);
    // The client reconnects and continues after its last line, so it loses no line that is still in the ring.
    if (response.writableLength > maxFollowerBacklog) response.destroy();
  };
  if (query.start !== undefined) for (const envelope of backlog(ring, source, query.start)) send(envelope);
  const stop = ring.follow(source, send);
  response.on("close", stop);
}

/** Every stored line from `start` on. */
function* backlog(ring: LogRing, source: string, start: bigint): Generator<Envelope> {
  let from = start;
  for (
    let page = ring.read(source, { start: from, limit: maxReadLimit });
    page.length > 0;
    page = ring.read(source, { start: from, limit: maxReadLimit })
  ) {
    yield* page;
    from = BigInt(page.at(-1)?.timestamp ?? 0) + 1n;
  }
}

async function sendStats(telemetry: Telemetry, url: URL, response: ServerResponse): Promise<void> {
  sendJson(response, 200, { instances: await telemetry.stats(toStatsQuery(url.searchParams)) });
}

export function toStatsQuery(params: URLSearchParams): StatsQuery {
  const query: StatsQuery = {};
  for (const key of ["app", "process", "lrp"] as const) {
    const value = params.get(key);
    if (value) query[key] = value;
  }
  return query;
}

function isAuthorized(request: IncomingMessage, token: string): boolean {
  const given = Buffer.from(request.headers.authorization ?? "");
  const wanted = Buffer.from(`Bearer ${token}`);
  return given.length === wanted.length && timingSafeEqual(given, wanted);
}

export function sendJson(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { "content-type": "application/json" });
  response.end(JSON.stringify(body));
}
