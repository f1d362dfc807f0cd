// Opens a WebSocket to an instance and passes bytes both ways. Tries another instance when one refuses.
import { type ClientRequest, type IncomingMessage, request as send, STATUS_CODES } from "node:http";
import type { Duplex } from "node:stream";
import { type RouterResponse, routerResponses } from "./error-responses.ts";
import { appOf, type Exchange, type Target } from "./exchange.ts";
import { answeredHeaders, answerHeaders } from "./forward.ts";
import { requestHeaders } from "./headers.ts";
import type { Endpoint } from "./routing-table.ts";

/** How long an instance may take to answer an upgrade. */
const responseTimeoutMs = 30_000;
/** Once one side has ended, the other has this long to end, too, and to take the rest. */
const lingerMs = 10_000;

/** Answers the upgrade in any case. Resolves when the connection is over, with its line in the access log; never rejects. */
export async function forwardUpgrade(exchange: Exchange, client: Duplex, head: Buffer): Promise<void> {
  // Without a listener an error of the connection would end the process; `close` follows it.
  client.on("error", () => undefined);
  for (;;) {
    const next = exchange.next();
    if ("status" in next) return refuse(exchange, client, next);
    if ("service" in next) return refuse(exchange, client, routerResponses.noUpgrade());
    exchange.upstream.startedAt ??= performance.now();
    const upstream = await dial(exchange, next.endpoint, client);
    if (!("reason" in upstream)) return connect(exchange, client, head, { ...upstream, target: next });
    if (client.destroyed) return exchange.finish({ status: 499, requestBytes: 0, responseBytes: 0 });
    exchange.markFailed(next.endpoint, upstream.reason);
    if (!upstream.refused)
      return refuse(
        exchange,
        client,
        routerResponses.failed(next.endpoint, appOf(next.match, next.endpoint), upstream.reason),
      );
  }
}

type DialResult = { answer: IncomingMessage; socket?: Duplex; head?: Buffer } | { reason: string; refused: boolean };

function dial({ request, facts }: Exchange, endpoint: Endpoint, client: Duplex): Promise<DialResult> {
  return new Promise((resolve) => {
    const { host, hostPort: port } = endpoint;
    const upstream: ClientRequest = send({
      host,
      port,
      method: request.method,
      path: request.url,
      headers: requestHeaders(request.rawHeaders, facts, endpoint, true),
      agent: false,
    });
    const timer = setTimeout(() => upstream.destroy(new Error("no answer to the upgrade in time")), responseTimeoutMs);
    const leave = (): void => void upstream.destroy();
    client.once("close", leave);
    const finish = (result: DialResult): void => {
      clearTimeout(timer);
      client.off("close", leave);
      resolve(result);
    };
    upstream.once("upgrade", (answer, socket, head) => {
      if (answer.headers.upgrade?.toLowerCase() === "websocket") return finish({ answer, socket, head });
      socket.destroy();
      finish({ refused: false, reason: `${host}:${port} switched to another protocol than WebSocket` });
    });
    upstream.once("response", (answer) => finish({ answer }));
    upstream.on("error", (error: NodeJS.ErrnoException) => {
      const refused = error.code === "ECONNREFUSED";
      finish({
        refused,
        reason: refused ? `dial tcp ${host}:${port}: connection refused` : `${host}:${port}: ${error.message}`,
      });
    });
    upstream.end();
  });
}

async function connect(
  exchange: Exchange,
  client: Duplex,
  head: Buffer,
  { answer, socket, head: first, target }: Extract<DialResult, { answer: IncomingMessage }> & { target: Target },
): Promise<void> {
  const status = answer.statusCode ?? 502;
  const bytes = { request: head.length, response: first?.length ?? 0 };
  const upstream = socket ?? answer;
  const count = (direction: "request" | "response") => (chunk: Buffer) => void (bytes[direction] += chunk.length);
  client.write(
    formatHead(
      status,
      answer.statusMessage,
      answeredHeaders(exchange, target, answer.rawHeaders, socket !== undefined),
      socket === undefined,
    ),
  );
  if (first?.length) client.write(first);
  upstream.on("data", count("response"));
  upstream.pipe(client);
  if (socket) {
    if (head.length) socket.write(head);
    client.on("data", count("request"));
    client.pipe(socket);
  }
  await closed(client, upstream, socket !== undefined);
  exchange.upstream.endedAt = performance.now();
  exchange.finish({ status, requestBytes: bytes.request, responseBytes: bytes.response });
}

/** Resolves when the client's connection is closed. A side that has ended or closed takes the other with it: half a tunnel would stay for good. */
function closed(client: Duplex, upstream: Duplex | IncomingMessage, isTunnel: boolean): Promise<void> {
  const linger = (): void => void setTimeout(() => client.destroy(), lingerMs).unref();
  return new Promise((resolve) => {
    const end = (): void => {
      upstream.destroy();
      resolve();
    };
    upstream.on("error", () => undefined);
    upstream.once("close", () => {
      // The rest is on its way to the client.
      client.end();
      linger();
    });
    if (isTunnel) client.once("end", linger);
    client.once("close", end);
    // It may have closed while the instance answered; the event does not come again.
    if (client.destroyed) end();
  });
}

function formatHead(status: number, message: string | undefined, headers: readonly string[], close: boolean): string {
  const lines = [`HTTP/1.1 ${status} ${message || STATUS_CODES[status] || ""}`];
  for (let i = 0; i + 1 < headers.length; i += 2) lines.push(`${headers[i]}: ${headers[i + 1]}`);
  if (close) lines.push("Connection: close");
  return `${lines.join("\r\n")}\r\n\r\n`;
}

function refuse(exchange: Exchange, client: Duplex, answer: RouterResponse): void {
  const body = `${answer.text}\n`;
  const headers = Object.entries({
    ...answerHeaders(answer, exchange.facts.requestId),
    "content-length": String(Buffer.byteLength(body)),
  }).flat();
  client.end(formatHead(answer.status, undefined, headers, true) + body);
  exchange.finish({
    status: answer.status,
    requestBytes: 0,
    responseBytes: Buffer.byteLength(body),
    error: answer.error,
  });
}
