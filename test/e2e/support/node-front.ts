// DNS and load balancer of an installed platform: one port of this machine, from which the API's host leads to its Service and every other to the ingress controller.
import { createServer, request as sendPlain, type IncomingMessage, type ServerResponse } from "node:http";
import { request as sendTLS } from "node:https";
import { connect, type AddressInfo } from "node:net";
import type { Duplex } from "node:stream";

export interface FrontTargets {
  /** The API's Service; its certificate is verified by `ca`, PEM, under the name `localhost`. */
  api: { host: string; port: number; ca: string };
  /** The ingress controller's plain HTTP. */
  ingress: { host: string; port: number };
}

export interface NodeFront {
  port: number;
  /** Where requests go; 503 until it is set. */
  setTargets(targets: FrontTargets): void;
  close(): Promise<void>;
}

const LIMITS = { maxHeaderSize: 64 * 1024, requestTimeout: 0, keepAliveTimeout: 75_000 };

/** Listens on a free port of loopback. */
export async function startNodeFront(): Promise<NodeFront> {
  let targets: FrontTargets | undefined;
  const server = createServer(LIMITS, (request, response) => {
    if (targets) forward(targets, request, response);
    else response.writeHead(503).end();
  });
  server.on("upgrade", (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    if (targets && !isForAPI(request)) tunnel(targets.ingress, request, socket, head);
    else socket.destroy();
  });
  await new Promise<void>((resolve, reject) => server.on("error", reject).listen(0, "127.0.0.1", resolve));
  return {
    port: (server.address() as AddressInfo).port,
    setTargets: (given) => (targets = given),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function isForAPI({ headers }: IncomingMessage): boolean {
  return /^(localhost|127\.0\.0\.1)(:\d+)?$/.test(headers.host ?? "");
}

function forward({ api, ingress }: FrontTargets, request: IncomingMessage, response: ServerResponse): void {
  const { method, url, headers } = request;
  const options = { method, path: url, headers, setHost: false, agent: false };
  const answer = (got: IncomingMessage): void => {
    response.writeHead(got.statusCode ?? 502, got.headers);
    got.pipe(response);
    got.on("error", () => response.destroy());
  };
  const upstream = isForAPI(request)
    ? sendTLS({ ...options, host: api.host, port: api.port, ca: api.ca, servername: "localhost" }, answer)
    : sendPlain({ ...options, host: ingress.host, port: ingress.port }, answer);
  // A test whose request failed learns why.
  upstream.on("error", (error) => {
    if (response.headersSent) response.destroy();
    else response.writeHead(502).end(`the front cannot reach it: ${error.message}`);
  });
  response.on("close", () => {
    upstream.destroy();
    // The rest of a body that was refused early precedes the next request of its connection.
    request.unpipe(upstream).resume();
  });
  request.pipe(upstream);
}

function tunnel({ host, port }: FrontTargets["ingress"], request: IncomingMessage, socket: Duplex, head: Buffer): void {
  const lines = request.rawHeaders.flatMap((name, at, all) => (at % 2 === 0 ? [`${name}: ${all[at + 1]}`] : []));
  const upstream = connect(port, host, () => {
    upstream.write(`${request.method} ${request.url} HTTP/1.1\r\n${lines.join("\r\n")}\r\n\r\n`);
    upstream.write(head);
    upstream.pipe(socket).pipe(upstream);
  });
  upstream.on("error", () => socket.destroy());
  socket.on("error", () => upstream.destroy());
}
