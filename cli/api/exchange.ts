// An HTTP request of `cup`. node:http is ready in a fifth of the time that `fetch` takes for its first request, which every command makes.
import type * as Http from "node:http";
import type * as Https from "node:https";
import { pipeline } from "node:stream/promises";
import { Failure } from "../failure.ts";

export interface HttpRequest {
  method: string;
  headers: Readonly<Record<string, string>>;
  body?: string | AsyncIterable<Uint8Array>;
  /** For the whole answer; each redirect has as long. */
  deadlineMs: number;
  trust?: Trust;
}

/** Which certificate a server may show, beside those that Node trusts. */
export interface Trust {
  /** PEM of an authority, or of the server itself. */
  ca?: string;
  /** Whatever it is: for tests only. */
  any?: boolean;
}

export interface HttpAnswer {
  status: number;
  /** Value of the header Location. */
  location: string | undefined;
  /** Value of the header X-Cf-Warnings, as sent. */
  warnings: string | undefined;
  text: string;
}

/** The longest pages of the API have some 20 MiB. */
const MAX_ANSWER_MIB = 64;
const MAX_REDIRECTS = 5;

/** Sends it and reads the answer. A redirect is followed, unless a stream was sent. @throws Error when there is no whole answer by the deadline, Failure when it is larger than 64 MiB */
export async function exchange(url: string, request: HttpRequest): Promise<HttpAnswer> {
  let from = new URL(url);
  let next = request;
  for (let hops = 0; hops <= MAX_REDIRECTS; hops++) {
    const answer = await sendAgainIfStale(from, next);
    const { status, location } = answer;
    const isRedirect = status > 300 && status < 400 && status !== 304 && location !== undefined;
    if (!isRedirect || !isText(next.body)) return answer;
    const to = new URL(location, from);
    next = toRedirected(from, to, { status, request: next });
    from = to;
  }
  throw new Failure(`${url} leads from one redirect to the next without end`, {
    next: "is this the address of a CF API? cup login --api URL",
  });
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

/** An authority of one's own comes beside the usual ones. */
function toTlsOptions({ ca, any }: Trust): { ca?: string[]; rejectUnauthorized?: boolean } {
  if (any) return { rejectUnauthorized: false };
  if (ca === undefined) return {};
  const { getCACertificates } = process.getBuiltinModule("node:tls");
  return { ca: [...getCACertificates("default"), ca] };
}

/** An import would run getters of these modules that load fetch with them. */
function moduleFor(url: URL): Pick<typeof Https, "request"> {
  return url.protocol === "https:"
    ? (process.getBuiltinModule("node:https") as typeof Https)
    : (process.getBuiltinModule("node:http") as Pick<typeof Https, "request">);
}

async function send(url: URL, { method, headers, body, deadlineMs, trust }: HttpRequest): Promise<HttpAnswer> {
  const signal = AbortSignal.timeout(deadlineMs);
  const length = isText(body) && body !== undefined ? { "content-length": String(Buffer.byteLength(body)) } : {};
  const sent = moduleFor(url).request(url, {
    method,
    headers: { ...headers, ...length },
    signal,
    ...(trust && toTlsOptions(trust)),
  });
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

/** The next request of a redirect, as `fetch` sends it: another origin does not get the credential, and what is no longer a POST has no body. Pure. */
function toRedirected(from: URL, to: URL, { status, request }: { status: number; request: HttpRequest }): HttpRequest {
  const { authorization, ...others } = request.headers;
  const kept: Record<string, string> = to.origin === from.origin && authorization ? { authorization } : {};
  const becomesGet = status === 303 || (status < 303 && request.method === "POST");
  const { body, ...rest } = request;
  if (!becomesGet) return { ...rest, headers: { ...others, ...kept }, ...(body !== undefined && { body }) };
  const { "content-type": _type, ...headers } = others;
  return { ...rest, method: "GET", headers: { ...headers, ...kept } };
}
