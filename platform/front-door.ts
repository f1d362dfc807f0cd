// The one HTTP port: requests for the API's own hosts go to the API, all others to the router, when this process has one.
import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo } from "node:net";
import type { Duplex } from "node:stream";

/** What answers for apps. */
export interface AppsDoor {
  request: (request: IncomingMessage, response: ServerResponse) => void;
  upgrade: (request: IncomingMessage, socket: Duplex, head: Buffer) => void;
}

/** Certificate and key, PEM. */
export interface Tls {
  cert: string;
  key: string;
}

export interface FrontDoorOptions {
  host: string;
  port: number;
  /** Required off loopback: credentials travel in every request. */
  tls?: Tls;
  api?: RequestListener;
  apps?: AppsDoor;
  /** Everything is there and may be served. */
  ready: () => boolean;
}

export interface FrontDoor {
  url: string;
  close(): Promise<void>;
}

/** `cf` sends a client certificate with its key in one header: up to 7 KB. */
const MAX_HEADER_BYTES = 64 * 1024;
const LOOPBACK = /^(localhost|127\.\d+\.\d+\.\d+|::1)$/;
const API_HOSTS = new Set(["localhost", "127.0.0.1", "[::1]"]);

/** Listens. @throws Error that names the port and the next step when it is taken. */
export async function openFrontDoor(options: FrontDoorOptions): Promise<FrontDoor> {
  const { host, tls } = options;
  if (!tls && !LOOPBACK.test(host)) throw new Error(`--host ${host}: off loopback the API speaks TLS only; give --tls-cert and --tls-key`);
  const limits = { maxHeaderSize: MAX_HEADER_BYTES, requestTimeout: 0, keepAliveTimeout: 75_000 };
  const answer: RequestListener = (request, response) => dispatch(options, request, response);
  const server = tls ? createTlsServer({ ...limits, ...tls, minVersion: "TLSv1.2" }, answer) : createServer(limits, answer);
  server.on("upgrade", (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    if (options.apps && !isForApi(options, request)) options.apps.upgrade(request, socket, head);
    else socket.end("HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n");
  });
  await listen(server, options);
  const { port } = server.address() as AddressInfo;
  return { url: `${tls ? "https" : "http"}://${LOOPBACK.test(host) ? "localhost" : host}:${port}`, close: () => close(server) };
}

function dispatch(options: FrontDoorOptions, request: IncomingMessage, response: ServerResponse): void {
  if (options.apps && !isForApi(options, request)) return options.apps.request(request, response);
  const path = request.url ?? "/";
  if (path === "/healthz" || path === "/readyz") return sayHealth(response, path === "/healthz" || options.ready());
  if (options.api) return options.api(request, response);
  response.writeHead(404).end();
}

function sayHealth(response: ServerResponse, good: boolean): void {
  response.writeHead(good ? 200 : 503, { "content-type": "text/plain" }).end(good ? "ok\n" : "not ready\n");
}

function isForApi(options: FrontDoorOptions, request: IncomingMessage): boolean {
  const host = (request.headers.host ?? "").toLowerCase().replace(/:\d+$/, "");
  return options.api !== undefined && (API_HOSTS.has(host) || host === "");
}

function listen(server: Server, { host, port }: FrontDoorOptions): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", (error: NodeJS.ErrnoException) => {
      reject(error.code === "EADDRINUSE" ? new Error(`port ${port} is taken by another program; choose another with --port`, { cause: error }) : error);
    });
    server.listen(port, host, resolve);
  });
}

function close(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}
