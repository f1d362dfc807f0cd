// One HTTP request of `cup`. node:http is ready in a fifth of the time that `fetch` takes for its first request, which every command makes.
import type * as Http from "node:http";
import type * as Https from "node:https";
import { pipeline } from "node:stream/promises";
import { Failure } from "../failure.ts";

export interface HttpRequest {
  method: string;
  headers: Readonly<Record<string, string>>;
  body?: string | AsyncIterable<Uint8Array>;
  /** For the whole answer. */
  deadlineMs: number;
}

export interface HttpAnswer {
  status: number;
  /** Of the header Location. */
  location: string | undefined;
  /** Of the header X-Cf-Warnings, as sent. */
  warnings: string | undefined;
  text: string;
}

/** The longest pages of the API have some 20 MiB. */
const MAX_ANSWER_MIB = 64;

/** Sends it and reads the answer. A redirect is followed, unless a stream was sent. @throws Error when there is no whole answer by the deadline, Failure when it is larger than 64 MiB */
export async function exchange(url: string, request: HttpRequest): Promise<HttpAnswer> {
  const answer = await sendAgainIfStale(new URL(url), request);
  const isRedirect = answer.status > 300 && answer.status < 400 && answer.location !== undefined;
  return isRedirect && isText(request.body) ? follow(url, { ...request, body: request.body }) : answer;
}

function isText(body: HttpRequest["body"]): body is string | undefined {
  return body === undefined || typeof body === "string";
}

/** A connection that was kept open may be closed while the request is on its way: a read is sent once more. */
async function sendAgainIfStale(url: URL, request: HttpRequest): Promise<HttpAnswer> {
  try {
    return await send(url, request);
  } catch (error) {
    if (request.method !== "GET" || !(error instanceof StaleConnection)) throw error;
    return send(url, request);
  }
}

/** The server closed a connection that an earlier request had used. */
class StaleConnection extends Error {}

/** An import would run getters of these modules that load fetch with them. */
function moduleFor(url: URL): Pick<typeof Http, "request"> {
  return url.protocol === "https:"
    ? (process.getBuiltinModule("node:https") as typeof Https)
    : process.getBuiltinModule("node:http");
}

async function send(url: URL, { method, headers, body, deadlineMs }: HttpRequest): Promise<HttpAnswer> {
  const signal = AbortSignal.timeout(deadlineMs);
  const length = isText(body) && body !== undefined ? { "content-length": String(Buffer.byteLength(body)) } : {};
  const sent = moduleFor(url).request(url, { method, headers: { ...headers, ...length }, signal });
  return new Promise<HttpAnswer>((resolve, reject) => {
    sent.on("error", (cause) =>
      reject(isStale(sent, cause) ? new StaleConnection("the server closed the connection", { cause }) : cause),
    );
    // Without an error where the server switches protocols. Once a response has begun, only reading it decides.
    sent.on("close", () => reject(new Error("the server closed the connection without an answer")));
    sent.on("response", (response) => resolve(readAnswer(response).finally(() => endUnread(sent))));
    if (isText(body)) sent.end(body);
    else sendStream(body, sent, reject);
  });
}

/** A server that refuses a body may answer before it has read all: the answer is not held up by the rest. */
function sendStream(body: AsyncIterable<Uint8Array>, sent: Http.ClientRequest, onUnreadable: (error: unknown) => void) {
  async function* read(): AsyncGenerator<Uint8Array> {
    try {
      yield* body;
    } catch (error) {
      onUnreadable(error);
      throw error;
    }
  }
  pipeline(read(), sent).catch(() => undefined); // the request's own error tells it
}

/** The rest of a body that the server has answered before it read all would keep the connection, and with it the process. */
function endUnread(sent: Http.ClientRequest): void {
  if (!sent.writableFinished) sent.destroy();
}

function isStale(sent: Http.ClientRequest, { code }: NodeJS.ErrnoException): boolean {
  return sent.reusedSocket && code === "ECONNRESET";
}

async function readAnswer(response: Http.IncomingMessage): Promise<HttpAnswer> {
  const text = await readText(response);
  const { statusCode: status = 0, headers } = response;
  const warnings = headers["x-cf-warnings"]?.toString();
  return { status, location: headers.location, warnings, text };
}

async function readText(chunks: AsyncIterable<Uint8Array>): Promise<string> {
  const known: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of chunks) {
    length += chunk.length;
    if (length > MAX_ANSWER_MIB * 2 ** 20) throw new Failure(`the answer is larger than ${MAX_ANSWER_MIB} MiB`);
    known.push(chunk);
  }
  return Buffer.concat(known).toString("utf8");
}

/** An API behind a redirect is rare, so that `fetch` may load for it. */
async function follow(url: string, request: HttpRequest & { body: string | undefined }): Promise<HttpAnswer> {
  const { method, headers, body, deadlineMs } = request;
  const signal = AbortSignal.timeout(deadlineMs);
  const response = await fetch(url, { method, headers, signal, ...(body !== undefined && { body }) });
  return {
    status: response.status,
    location: response.headers.get("location") ?? undefined,
    warnings: response.headers.get("x-cf-warnings") ?? undefined,
    text: response.body ? await readText(response.body) : "",
  };
}
