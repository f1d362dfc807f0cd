// Forwards a plain request to an instance and streams both ways. Tries another instance when one refuses.
import {
  type IncomingHttpHeaders,
  type IncomingMessage,
  type OutgoingHttpHeaders,
  type ServerResponse,
  STATUS_CODES,
} from "node:http";
import type { Readable } from "node:stream";
import type { Dispatcher } from "undici";
import type { Dispatchers } from "./dispatchers.ts";
import { type RouterResponse, routerResponses } from "./error-responses.ts";
import { appOf, type Exchange, type ServiceTarget, speaksHttp2, type Target } from "./exchange.ts";
import { type RawHeaders, requestHeaders, responseHeaders } from "./headers.ts";
import { stickyCookie } from "./sticky-session.ts";

/** Counts what went through. */
interface ByteCounts {
  request: number;
  response: number;
}

/** Answers the request, whatever happens. Resolves when it is over; never rejects. */
export async function forward(
  exchange: Exchange,
  response: ServerResponse,
  options: { dispatchers: Dispatchers; requestTimeoutMs: number },
): Promise<void> {
  const cancellation = createCancellation();
  const timer = setTimeout(() => cancellation.cancel("timeout"), options.requestTimeoutMs);
  response.once("close", () => {
    if (!response.writableFinished) cancellation.cancel("client left");
  });
  const bytes: ByteCounts = { request: 0, response: 0 };
  const end = await attempt({
    exchange,
    response,
    dispatchers: options.dispatchers,
    bytes,
    cancellation,
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

/** Ends a request before its answer is complete. An AbortController for each request costs as much as all the rest of it. */
interface Cancellation {
  reason: "timeout" | "client left" | undefined;
  cancel(reason: "timeout" | "client left"): void;
  /** Called at once when it is cancelled already. The next call replaces the listener. */
  onCancel(listener: () => void): void;
}

function createCancellation(): Cancellation {
  let listener: (() => void) | undefined;
  const cancellation: Cancellation = {
    reason: undefined,
    cancel(reason) {
      if (cancellation.reason) return;
      cancellation.reason = reason;
      listener?.();
    },
    onCancel(added) {
      listener = added;
      if (cancellation.reason) added();
    },
  };
  return cancellation;
}

interface Attempt {
  exchange: Exchange;
  response: ServerResponse;
  dispatchers: Dispatchers;
  bytes: ByteCounts;
  cancellation: Cancellation;
  timeoutSeconds: number;
}

/** A client that left before the answer; only ever seen in the log, as in gorouter. */
const clientDisconnected = { status: 499 };

async function attempt(task: Attempt): Promise<{ status: number; answer?: RouterResponse }> {
  const { exchange, bytes, cancellation } = task;
  for (;;) {
    const next = exchange.next();
    if ("status" in next) return { status: next.status, answer: next };
    exchange.upstream.startedAt ??= performance.now();
    if ("service" in next) return passToService(task, next);
    const passed = await pass(task, toInstance(task, next));
    if (typeof passed === "number") return { status: passed };
    const canRetry = isRetryable(task, passed);
    const reason = describe(passed, `${next.endpoint.host}:${next.endpoint.hostPort}`);
    if (canRetry) exchange.markFailed(next.endpoint, reason);
    if (canRetry && bytes.request === 0) continue;
    return toErrorResponse(cancellation, next, reason, task.timeoutSeconds);
  }
}

/** Tries once: the service may have acted on the request. */
async function passToService(
  task: Attempt,
  { service }: ServiceTarget,
): Promise<{ status: number; answer?: RouterResponse }> {
  const { exchange, dispatchers, cancellation, timeoutSeconds } = task;
  const { requestId } = exchange.facts;
  const toHeaders = (raw: RawHeaders): string[] => responseHeaders(raw, requestId);
  const passed = await pass(task, { ...service, dispatcher: dispatchers.services, toHeaders });
  if (typeof passed === "number") return { status: passed };
  if (cancellation.reason === "client left") return clientDisconnected;
  const answer = cancellation.reason
    ? routerResponses.serviceTimeout(timeoutSeconds)
    : routerResponses.serviceFailed(describe(passed, service.origin));
  return { status: answer.status, answer };
}

/** A way for a request: the address, its headers there, and those of the answer for the client. */
interface Way {
  dispatcher: Dispatcher;
  origin: string;
  path: string;
  headers: string[];
  toHeaders: (raw: RawHeaders) => string[];
}

function toInstance({ exchange, dispatchers }: Attempt, target: Target): Way {
  const { match, endpoint } = target;
  const { request, facts } = exchange;
  return {
    dispatcher: speaksHttp2(match, endpoint) ? dispatchers.http2 : dispatchers.http1,
    origin: `http://${endpoint.host.includes(":") ? `[${endpoint.host}]` : endpoint.host}:${endpoint.hostPort}`,
    path: request.url ?? "/",
    headers: requestHeaders(request.rawHeaders, facts, endpoint),
    toHeaders: (raw) => answeredHeaders(exchange, target, raw),
  };
}

function toErrorResponse(
  { reason: cancelled }: Cancellation,
  { match, endpoint }: Target,
  reason: string,
  timeoutSeconds: number,
): { status: number; answer?: RouterResponse } {
  if (!cancelled) return { status: 502, answer: routerResponses.failed(endpoint, appOf(match, endpoint), reason) };
  return cancelled === "timeout"
    ? { status: 504, answer: routerResponses.timeout(endpoint, timeoutSeconds) }
    : clientDisconnected;
}

/** Sends the request and streams the answer. Resolves with its status once all of it was written, or with the error of a server that began no answer. */
function pass(task: Attempt, way: Way): Promise<number | Error> {
  const { exchange } = task;
  const { request } = exchange;
  return new Promise((resolve) => {
    const finish = (outcome: number | Error): void => {
      exchange.upstream.endedAt = performance.now();
      resolve(outcome);
    };
    way.dispatcher.dispatch(
      {
        origin: way.origin,
        path: way.path,
        method: (request.method ?? "GET") as Dispatcher.HttpMethod,
        headers: way.headers,
        // A generator (undici takes one, its types do not know) is not begun before there is a connection: nothing of the body is lost.
        body: hasBody(exchange) ? (countedBody(task) as unknown as Readable) : null,
        headersTimeout: 0,
        bodyTimeout: 0,
      },
      createAnswerHandler(task, way, finish),
    );
  });
}

/** Writes the answer as it comes. undici's own streams would cost more than the rest of the router. */
function createAnswerHandler(
  { exchange, response, bytes, cancellation }: Attempt,
  { toHeaders }: Way,
  finish: (outcome: number | Error) => void,
): Dispatcher.DispatchHandler {
  /** 0 until the answer has begun. */
  let status = 0;
  const cancelled = (): Error => new Error(`cancelled: ${cancellation.reason}`);
  // Before there is a connection there is nothing to abort.
  cancellation.onCancel(() => finish(cancelled()));
  return {
    onRequestStart(controller) {
      cancellation.onCancel(() => controller.abort(cancelled()));
    },
    onResponseStart(controller, code, _headers, statusText) {
      if (code < 200) return;
      const headers = toHeaders(toTexts(controller.rawHeaders));
      response.writeHead(code, reasonPhrase(statusText || STATUS_CODES[code]), headers);
      // After writeHead: should it throw, the answer is the router's page.
      status = code;
      // The first bytes of the body may be long in coming (server-sent events); when they are here already, one packet is enough.
      setImmediate(() => {
        if (bytes.response === 0 && !response.destroyed && !response.writableEnded) response.flushHeaders();
      });
    },
    onResponseData(controller, chunk) {
      bytes.response += chunk.length;
      if (response.write(chunk)) return;
      controller.pause();
      response.once("drain", () => controller.resume());
    },
    onResponseEnd(_controller, trailers) {
      if (Object.keys(trailers).length > 0) response.addTrailers(trailers as OutgoingHttpHeaders);
      response.end();
      drain(exchange.request);
      finish(status);
    },
    onResponseError(_controller, error) {
      if (status === 0) return finish(error);
      // A side broke off in the middle: the only honest answer is a broken connection.
      response.destroy();
      finish(status);
    },
  };
}

/** Headers of the instance's answer as the client gets them. @param upgrade whether a WebSocket is opened */
export function answeredHeaders(
  { facts, sticky }: Exchange,
  { match, endpoint }: Target,
  raw: RawHeaders,
  upgrade = false,
): string[] {
  const headers = responseHeaders(raw, facts.requestId, upgrade);
  if (endpoint.isService) return headers;
  const cookie = stickyCookie(headers, {
    requested: sticky,
    instanceGUID: endpoint.instanceGUID,
    path: match.route.path,
  });
  if (cookie !== undefined) headers.push("Set-Cookie", cookie);
  return headers;
}

/** undici gives HTTP/1.1's as a list of names and values, HTTP/2's as an object. */
function toTexts(raw: Dispatcher.DispatchController["rawHeaders"]): string[] {
  if (Array.isArray(raw))
    return (raw as (Buffer | string)[]).map((part) => (typeof part === "string" ? part : part.toString("latin1")));
  return Object.entries(raw as IncomingHttpHeaders)
    .filter(([name]) => !name.startsWith(":"))
    .flatMap(([name, value]) => [value ?? []].flat().flatMap((each) => [name, each]));
}

function hasBody({ request }: Exchange): boolean {
  return request.headers["transfer-encoding"] !== undefined || Number(request.headers["content-length"] ?? 0) > 0;
}

async function* countedBody({ exchange, response, bytes }: Attempt): AsyncGenerator<Buffer> {
  const { request } = exchange;
  try {
    // undici stops here when the instance answers early; to destroy the request would cut off that answer, too.
    for await (const chunk of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      bytes.request += chunk.length;
      yield chunk;
    }
  } finally {
    if (response.writableEnded) drain(request);
  }
}

/** Reads and drops the rest of an upload that was answered early: many clients read the answer only after they sent all of it. */
function drain(request: IncomingMessage): void {
  if (!request.complete) request.resume();
}

/** undici reads the reason as UTF-8; node writes Latin-1 only. */
function reasonPhrase(text = ""): string {
  return text.replace(/[^\t\x20-\x7e\x80-\xff]/g, "?");
}

/** A refused connection always; a kept-alive connection that turned out closed only where a repetition does no harm. */
function isRetryable({ exchange, cancellation }: Attempt, error: Error): boolean {
  if (cancellation.reason) return false;
  const { code } = error as NodeJS.ErrnoException;
  if (code === "ECONNREFUSED" || code === "UND_ERR_CONNECT_TIMEOUT" || code === "EHOSTUNREACH") return true;
  return (
    (code === "UND_ERR_SOCKET" || code === "ECONNRESET") &&
    ["GET", "HEAD", "OPTIONS"].includes(exchange.request.method ?? "")
  );
}

function describe(error: Error, where: string): string {
  const { code } = error as NodeJS.ErrnoException;
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
