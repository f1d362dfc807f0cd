// A proxy between a client and a laptop's CF API that remembers what was said: what a kill must not undo, and what the stock cf sends.
import {
  createServer,
  request as send,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type ServerResponse,
} from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";

/** A request and its whole answer. */
export interface Exchange {
  method: string;
  /** With the query. */
  path: string;
  requestHeaders: IncomingHttpHeaders;
  requestBody: Buffer;
  status: number;
  headers: IncomingHttpHeaders;
  body: Buffer;
}

/** A request without an answer, and how many exchanges were over when it came. */
export interface Unanswered {
  method: string;
  path: string;
  after: number;
}

export interface RecordingProxy {
  url: string;
  /** In the order in which their answers ended. */
  readonly exchanges: Exchange[];
  /** Requests that came and whose answer has not. */
  readonly unanswered: Unanswered[];
  /** Called with each request before it is passed on. */
  onRequest: (method: string, path: string) => void;
  close(): Promise<void>;
}

const DEADLINE_MS = 120_000;

/**
 * Passes everything on to `port` of this machine, the Host header as it is: so links in answers lead back through the proxy. Those of a platform that was
 * told its address, `publicURL`, are changed to.
 */
export async function startRecordingProxy(port: number, publicURL?: string): Promise<RecordingProxy> {
  const server = createServer(
    (request, response) => void handleRequest(proxy, { port, publicURL }, { request, response }),
  );
  await new Promise<void>((resolve, reject) => server.on("error", reject).listen(0, "127.0.0.1", resolve));
  const proxy: RecordingProxy = {
    url: `http://localhost:${(server.address() as AddressInfo).port}`,
    exchanges: [],
    unanswered: [],
    onRequest: () => undefined,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
  return proxy;
}

interface Upstream {
  port: number;
  publicURL: string | undefined;
}

interface ProxiedRequest {
  request: IncomingMessage;
  response: ServerResponse;
}

async function handleRequest(
  proxy: RecordingProxy,
  { port, publicURL }: Upstream,
  { request, response }: ProxiedRequest,
): Promise<void> {
  const asked = { method: request.method ?? "GET", path: request.url ?? "/" };
  const open = { ...asked, after: proxy.exchanges.length };
  proxy.unanswered.push(open);
  try {
    const requestBody = await buffer(request);
    proxy.onRequest(asked.method, asked.path);
    const answer = await sendUpstream(port, request, requestBody);
    const redirect = (text: string): string => (publicURL === undefined ? text : text.replaceAll(publicURL, proxy.url));
    const sent = await buffer(answer);
    const isText = /json/.test(answer.headers["content-type"] ?? "");
    const body = isText ? Buffer.from(redirect(sent.toString())) : sent;
    if (answer.headers.location) answer.headers.location = redirect(answer.headers.location);
    proxy.unanswered.splice(proxy.unanswered.indexOf(open), 1);
    proxy.exchanges.push({
      ...asked,
      requestHeaders: request.headers,
      requestBody,
      status: answer.statusCode ?? 0,
      headers: answer.headers,
      body,
    });
    const { "transfer-encoding": _chunked, connection: _connection, ...headers } = answer.headers;
    response.writeHead(answer.statusCode ?? 502, { ...headers, "content-length": body.length }).end(body);
  } catch {
    // The laptop was killed under the request, as its client now learns. What was asked stays unanswered.
    response.destroy();
  }
}

function sendUpstream(port: number, { method, url, headers }: IncomingMessage, body: Buffer): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const { "transfer-encoding": _chunked, connection: _connection, ...rest } = headers;
    const upstream = send(
      {
        host: "127.0.0.1",
        port,
        method,
        path: url,
        headers: { ...rest, "content-length": body.length },
        agent: false,
        timeout: DEADLINE_MS,
      },
      resolve,
    );
    upstream.on("timeout", () => upstream.destroy(new Error(`no answer in ${DEADLINE_MS / 1000} s`)));
    upstream.on("error", reject);
    upstream.end(body);
  });
}
