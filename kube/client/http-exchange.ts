// An HTTP exchange with the API server: deadline, bounded retries, and every failure as a KubeError.
import { setTimeout as sleep } from "node:timers/promises";
import type { Agent, Dispatcher } from "undici";
import type { CallOptions, RequestRecord } from "./client.ts";
import { KubeError, type Status } from "./errors.ts";
import { NotJson, parseJson } from "../api/parse-json.ts";

const DEFAULT_DEADLINE_MS = 30_000;
const MAX_ATTEMPTS = 5;

export interface Exchange {
  agent: Agent;
  origin: string;
  method: string;
  /** Path and query. */
  path: string;
  headers: Record<string, string | string[]>;
  body?: string | Buffer;
  /** Milliseconds without a body byte after which the peer is dead. Unlimited by default. */
  stallMs?: number;
  onRequest?: (record: RequestRecord) => void;
}

/**
 * Sends until a response below 400. 429 and 503 wait for Retry-After (default 1 s). A broken connection is retried once, and only for
 * GET, since a write may have happened. Everything else throws KubeError.
 */
export async function exchange(request: Exchange, signal: AbortSignal): Promise<Dispatcher.ResponseData> {
  for (let attempt = 1; ; attempt++) {
    const outcome = await attemptOnce(request, signal, attempt);
    if (!(outcome instanceof KubeError)) return outcome;
    const waitMs = retryDelay(outcome, request.method, attempt);
    if (waitMs === undefined) throw outcome;
    await sleep(waitMs, undefined, { signal }).catch(() => {
      throw outcome;
    });
  }
}

/** Runs work under the caller's signal and the call's deadline. The deadline ends with the work; a stream that continues has the caller's signal only. */
export async function withDeadline<T>(
  options: CallOptions | undefined,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const deadline = new AbortController();
  const timer = setTimeout(
    () => deadline.abort(new DOMException("deadline exceeded", "TimeoutError")),
    options?.deadlineMs ?? DEFAULT_DEADLINE_MS,
  );
  try {
    return await work(options?.signal ? AbortSignal.any([options.signal, deadline.signal]) : deadline.signal);
  } finally {
    clearTimeout(timer);
  }
}

/** Parses a JSON body; undefined for an empty one. */
export async function readJson(answer: Dispatcher.ResponseData, signal: AbortSignal): Promise<unknown> {
  const text = await answer.body.text().catch((cause: unknown) => {
    throw toKubeError(cause, signal);
  });
  try {
    return text === "" ? undefined : parseJson(text);
  } catch (cause) {
    throw toKubeError(cause, signal);
  }
}

/** Converts a failure without a response to KubeError. */
export function toKubeError(cause: unknown, signal?: AbortSignal): KubeError {
  if (cause instanceof KubeError) return cause;
  if (signal?.aborted) {
    const timedOut = signal.reason instanceof DOMException && signal.reason.name === "TimeoutError";
    return new KubeError(
      {
        code: 0,
        reason: timedOut ? "Deadline" : "Aborted",
        message: timedOut ? "the API server did not answer within the deadline" : "the request was aborted",
      },
      { cause },
    );
  }
  const code = codeOf(cause);
  return new KubeError(
    { code: 0, reason: "Unreachable", message: `the API server cannot be reached${code ? ` (${code})` : ""}` },
    { cause },
  );
}

async function attemptOnce(
  request: Exchange,
  signal: AbortSignal,
  attempt: number,
): Promise<Dispatcher.ResponseData | KubeError> {
  const started = performance.now();
  const record = (code: number) =>
    request.onRequest?.({
      method: request.method,
      path: request.path,
      code,
      attempt,
      milliseconds: performance.now() - started,
    });
  try {
    const answer = await request.agent.request({
      origin: request.origin,
      path: request.path,
      method: request.method as Dispatcher.HttpMethod,
      headers: request.headers,
      body: request.body ?? null,
      signal,
      ...(request.stallMs !== undefined && { bodyTimeout: request.stallMs }),
    });
    record(answer.statusCode);
    return answer.statusCode < 400 ? answer : await toStatusError(answer);
  } catch (cause) {
    record(0);
    return toKubeError(cause, signal);
  }
}

async function toStatusError(answer: Dispatcher.ResponseData): Promise<KubeError> {
  const text = await answer.body.text();
  const header = Number(answer.headers["retry-after"]);
  const retryAfterSeconds =
    Number.isFinite(header) && header >= 0 && answer.headers["retry-after"] !== undefined ? header : undefined;
  return new KubeError(
    { ...parseStatus(text, answer), code: answer.statusCode },
    { ...(retryAfterSeconds !== undefined && { retryAfterSeconds }) },
  );
}

// Proxies may answer plain text or HTML, and some echo the request with its credential, so keep only headers that identify them.
function parseStatus(text: string, { statusCode, headers }: Dispatcher.ResponseData): Partial<Status> {
  try {
    const body = parseJson(text) as Partial<Status> | null;
    if (body?.kind === "Status") return body;
  } catch (cause) {
    if (!(cause instanceof NotJson)) throw cause;
  }
  const spoke = ["server", "via", "content-type"].flatMap((name) =>
    headers[name] === undefined ? [] : [`${name}: ${String(headers[name])}`],
  );
  return {
    reason: "",
    message: `the API server's address answered ${statusCode}, but not as an API server does (${spoke.join(", ") || "no identifying headers"})`,
  };
}

function retryDelay(error: KubeError, method: string, attempt: number): number | undefined {
  if (attempt >= MAX_ATTEMPTS) return undefined;
  if (error.code === 429 || error.code === 503) return Math.min((error.retryAfterSeconds ?? 1) * 1000, 30_000);
  const stale = error.reason === "Unreachable" && ["UND_ERR_SOCKET", "ECONNRESET"].includes(codeOf(error.cause) ?? "");
  return stale && method === "GET" && attempt === 1 ? 0 : undefined;
}

function codeOf(cause: unknown): string | undefined {
  return cause instanceof Error && "code" in cause ? String(cause.code) : undefined;
}
