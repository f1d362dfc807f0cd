// Forwards a plain request to an instance and streams both ways. Tries another instance when one refuses.
import type { ServerResponse } from "node:http";
import type { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { Dispatcher } from "undici";
import { type RouterResponse, routerResponses } from "./error-responses.ts";
import { appOf, type Exchange } from "./exchange.ts";
import { requestHeaders, responseHeaders } from "./headers.ts";
import type { Endpoint, Match } from "./routing-table.ts";

type Upstream = Dispatcher.ResponseData;

/** Counts what went through. */
interface ByteCounts {
  request: number;
  response: number;
}

/** Answers the request, whatever happens. Resolves when it is over; never rejects. */
export async function forward(
  exchange: Exchange,
  response: ServerResponse,
  options: { dispatcher: Dispatcher; requestTimeoutMs: number },
): Promise<void> {
  const done = new AbortController();
  const timer = setTimeout(
    () => done.abort(new DOMException("the deadline of the request has passed", "TimeoutError")),
    options.requestTimeoutMs,
  );
  response.once("close", () => {
    if (!response.writableFinished) done.abort();
  });
  const bytes: ByteCounts = { request: 0, response: 0 };
  const end = await attempt({
    exchange,
    response,
    dispatcher: options.dispatcher,
    bytes,
    signal: done.signal,
    timeoutSeconds: options.requestTimeoutMs / 1000,
  }).catch((error: unknown) => ({
    status: 502,
    answer: routerResponses.failed(undefined, "?", toError(error).message),
  }));
  clearTimeout(timer);
  if (end.answer) bytes.response = sendAnswer(response, end.answer, exchange.facts.requestId);
  exchange.finish({
    status: end.answer?.status ?? end.status,
    requestBytes: bytes.request,
    responseBytes: bytes.response,
    ...(end.answer && { error: end.answer.error }),
  });
}

interface Attempt {
  exchange: Exchange;
  response: ServerResponse;
  dispatcher: Dispatcher;
  bytes: ByteCounts;
  signal: AbortSignal;
  timeoutSeconds: number;
}

/** A client that left before the answer; only ever seen in the log, as in gorouter. */
const clientDisconnected = { status: 499 };

async function attempt(task: Attempt): Promise<{ status: number; answer?: RouterResponse }> {
  const { exchange, bytes, signal } = task;
  for (;;) {
    const next = exchange.next();
    if ("status" in next) return { status: next.status, answer: next };
    exchange.upstream.startedAt ??= performance.now();
    const upstream = await dispatch(task, next.endpoint).catch((error: unknown) => toError(error));
    if (!(upstream instanceof Error)) return pass(task, upstream);
    const canRetry = isRetryable(task, upstream);
    const reason = describe(upstream, next.endpoint);
    if (canRetry) exchange.markFailed(next.endpoint, reason);
    if (canRetry && bytes.request === 0) continue;
    return toErrorResponse(signal, next, reason, task.timeoutSeconds);
  }
}

function toErrorResponse(
  signal: AbortSignal,
  { match, endpoint }: { match: Match; endpoint: Endpoint },
  reason: string,
  timeoutSeconds: number,
): { status: number; answer?: RouterResponse } {
  if (!signal.aborted) return { status: 502, answer: routerResponses.failed(endpoint, appOf(match, endpoint), reason) };
  return (signal.reason as Error).name === "TimeoutError"
    ? { status: 504, answer: routerResponses.timeout(endpoint, timeoutSeconds) }
    : clientDisconnected;
}

function dispatch({ exchange, dispatcher, bytes, signal }: Attempt, endpoint: Endpoint): Promise<Upstream> {
  const { request, facts } = exchange;
  return dispatcher.request({
    origin: `http://${endpoint.host}:${endpoint.hostPort}`,
    path: request.url ?? "/",
    method: (request.method ?? "GET") as Dispatcher.HttpMethod,
    headers: requestHeaders(request.rawHeaders, facts, endpoint),
    // A generator (undici takes one, its types do not know) is not begun before there is a connection: nothing of the body is lost.
    body: hasBody(exchange) ? (countedBody(request, bytes) as unknown as Readable) : null,
    signal,
    responseHeaders: "raw",
    headersTimeout: 0,
    bodyTimeout: 0,
  });
}

function hasBody({ request }: Exchange): boolean {
  return request.headers["transfer-encoding"] !== undefined || Number(request.headers["content-length"] ?? 0) > 0;
}

async function* countedBody(request: AsyncIterable<Buffer>, bytes: ByteCounts): AsyncGenerator<Buffer> {
  for await (const chunk of request) {
    bytes.request += chunk.length;
    yield chunk;
  }
}

async function pass({ exchange, response, bytes, signal }: Attempt, upstream: Upstream): Promise<{ status: number }> {
  const raw = (upstream.headers as unknown as (Buffer | string)[]).map((part) =>
    typeof part === "string" ? part : part.toString("latin1"),
  );
  try {
    response.writeHead(upstream.statusCode, upstream.statusText, responseHeaders(raw, exchange.facts.requestId));
    // The first bytes of the body may be long in coming (server-sent events); when they are here already, one packet is enough.
    setImmediate(() => {
      if (bytes.response === 0 && !response.destroyed && !response.writableEnded) response.flushHeaders();
    });
    upstream.body.on("data", (chunk: Buffer) => (bytes.response += chunk.length));
    await pipeline(upstream.body, response, { signal });
  } catch (_error) {
    // One side broke off in the middle: the only honest answer is a broken connection.
    response.destroy();
  } finally {
    exchange.upstream.endedAt = performance.now();
  }
  return { status: upstream.statusCode };
}

/** A refused connection always; a kept-alive connection that turned out closed only where a repetition does no harm. */
function isRetryable({ exchange, signal }: Attempt, error: Error): boolean {
  if (signal.aborted) return false;
  const { code } = error as NodeJS.ErrnoException;
  if (code === "ECONNREFUSED" || code === "UND_ERR_CONNECT_TIMEOUT" || code === "EHOSTUNREACH") return true;
  return (
    (code === "UND_ERR_SOCKET" || code === "ECONNRESET") &&
    ["GET", "HEAD", "OPTIONS"].includes(exchange.request.method ?? "")
  );
}

function describe(error: Error, endpoint: Endpoint): string {
  const { code } = error as NodeJS.ErrnoException;
  const where = `${endpoint.host}:${endpoint.hostPort}`;
  if (code === "ECONNREFUSED") return `dial tcp ${where}: connection refused`;
  if (code === "UND_ERR_CONNECT_TIMEOUT") return `dial tcp ${where}: timed out`;
  if (code === "UND_ERR_SOCKET" || code === "ECONNRESET") return `${where} closed the connection before it answered`;
  return `${where}: ${error.message}`;
}

/** Writes the router's own page. Gives its size. */
export function sendAnswer(response: ServerResponse, answer: RouterResponse, requestId: string): number {
  const body = `${answer.text}\n`;
  if (response.headersSent || response.destroyed) {
    response.destroy();
    return 0;
  }
  response.writeHead(answer.status, { ...answerHeaders(answer, requestId), "content-length": Buffer.byteLength(body) });
  response.end(body);
  return Buffer.byteLength(body);
}

/** Headers of the router's own pages. */
export function answerHeaders(answer: RouterResponse, requestId: string): Record<string, string> {
  return {
    "content-type": "text/plain; charset=utf-8",
    "x-content-type-options": "nosniff",
    "cache-control": "no-cache, no-store",
    "x-cf-routererror": headerValue(answer.error),
    "x-vcap-request-id": requestId,
  };
}

function headerValue(text: string): string {
  return text.replace(/[^\x20-\x7e]/g, "?").slice(0, 500);
}

function toError(value: unknown): Error {
  return value instanceof Error ? value : new Error(String(value));
}
