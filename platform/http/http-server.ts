// The HTTP port: requests for the API's hosts go to the API, all others to the router, where this process has one.
import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Duplex } from "node:stream";
import { setTimeout as delay } from "node:timers/promises";
import { createListener, type Listener } from "../../kube/server/listener.ts";
import { isLoopback } from "../../kube/server/loopback.ts";
import { startListening } from "../../kube/server/start-listening.ts";
import type { ReadinessReport } from "../../kube/server/readiness.ts";

/** The handler of requests to apps. */
export interface AppHandler {
  request: (request: IncomingMessage, response: ServerResponse) => void;
  /** For WebSockets; every other Upgrade header is ignored, and `request` gets it. */
  upgrade: (request: IncomingMessage, socket: Duplex, head: Buffer) => void;
}

/** Certificate and key in PEM. */
export interface TLSKeyPair {
  cert: string;
  key: string;
}

export interface HttpServerOptions {
  host: string;
  port: number;
  /** Required off loopback: credentials travel in every request. */
  tls?: TLSKeyPair;
  /** It serves apps alone, behind an ingress controller, which has ended TLS. */
  takesPlainHTTP?: true;
  api?: RequestListener;
  /** Host names of the API beside the loopback ones. */
  apiHosts?: readonly string[];
  apps?: AppHandler;
  /** Requests below this path that are neither the API's nor an app's. */
  below?: { path: string; handler: RequestListener };
  /** Whether this process may serve, with the failed checks. */
  health: () => ReadinessReport;
  /** Called with errors of connections that were not accepted, and of handlers that threw. */
  onError: (error: Error) => void;
}

export interface HttpServer {
  url: string;
  /** Keeps serving, but each response asks the client to close its connection. */
  startDraining(): void;
  /** Accepts no new connections and closes open ones: idle ones at once, those in use after their answer, or after `drainMs`. */
  close(drainMs?: number): Promise<void>;
}

/** Share of the process's file descriptors. It counts twice, since a request for an app opens a second connection. */
const CONNECTION_SHARE = 0.25;
const API_HOSTS = new Set(["localhost", "127.0.0.1", "[::1]"]);

/** Listens. @throws Error that names the port and the next step when it is taken. */
export async function startHttpServer(options: HttpServerOptions): Promise<HttpServer> {
  const { host, tls, apps, takesPlainHTTP } = options;
  if (!tls && !takesPlainHTTP && !isLoopback(host))
    throw new Error(`--host ${host}: off loopback the API serves TLS only; give --tls-cert and --tls-key`);
  const state = { closing: false, upgraded: new Set<Duplex>() };
  const listener: RequestListener = (request, response) => {
    // The client opens its next connection elsewhere.
    if (state.closing) response.setHeader("connection", "close");
    handleSafely(
      options,
      () => dispatch(options, request, response),
      () => sendInternalError(response),
    );
  };
  const server = createListener(
    {
      ...(tls && { tls }),
      share: CONNECTION_SHARE,
      acceptsWebSocket: (request) => apps !== undefined && !isApiRequest(options, request),
    },
    listener,
  );
  server.on("upgrade", (request: IncomingMessage, socket: Duplex, head: Buffer) =>
    tunnel(options, state.upgraded, { request, socket, head }),
  );
  await listen(server, options);
  const { port } = server.address() as AddressInfo;
  const startDraining = (): void => void (state.closing = true);
  return {
    url: `${tls ? "https" : "http"}://${isLoopback(host) ? "localhost" : host}:${port}`,
    startDraining,
    close: (drainMs = 0) => (startDraining(), close(server, state.upgraded, drainMs)),
  };
}

interface Tunnel {
  request: IncomingMessage;
  socket: Duplex;
  head: Buffer;
}

function tunnel(options: HttpServerOptions, upgraded: Set<Duplex>, { request, socket, head }: Tunnel): void {
  // The server neither closes an upgraded connection nor handles its errors. Without a listener a broken connection would end the process.
  socket.on("error", () => socket.destroy());
  upgraded.add(socket);
  socket.once("close", () => upgraded.delete(socket));
  handleSafely(
    options,
    () => options.apps?.upgrade(request, socket, head),
    () => socket.destroy(),
  );
}

/** An exception inside a server event would end the process. */
function handleSafely({ onError }: HttpServerOptions, handle: () => void, onFailure: () => void): void {
  try {
    handle();
  } catch (error) {
    onError(error instanceof Error ? error : new Error(String(error)));
    onFailure();
  }
}

function dispatch(options: HttpServerOptions, request: IncomingMessage, response: ServerResponse): void {
  if (options.apps && !isApiRequest(options, request)) return options.apps.request(request, response);
  const path = request.url ?? "/";
  if (path === "/livez" || path === "/healthz") return sendText(response, 200, "ok");
  if (path === "/readyz") return sendHealth(response, options.health());
  if (options.api) return options.api(request, response);
  if (options.below && path.startsWith(`${options.below.path}/`)) return options.below.handler(request, response);
  response.writeHead(404).end();
}

/** The first line is the result; each reason follows on a line of its own. */
function sendHealth(response: ServerResponse, { ready, pending, degraded }: ReadinessReport): void {
  const reasons = [...pending, ...degraded.map(({ name, reason }) => ({ name: `degraded: ${name}`, reason }))];
  sendText(
    response,
    ready ? 200 : 503,
    [ready ? "ok" : "not ready", ...reasons.map(({ name, reason }) => `${name}: ${reason}`)].join("\n"),
  );
}

function sendText(response: ServerResponse, code: number, text: string): void {
  response.writeHead(code, { "content-type": "text/plain" }).end(`${text}\n`);
}

function sendInternalError(response: ServerResponse): void {
  if (response.headersSent) return void response.destroy();
  sendText(response, 500, "internal error; see the log");
}

function isApiRequest(options: HttpServerOptions, request: IncomingMessage): boolean {
  const host = (request.headers.host ?? "").toLowerCase().replace(/:\d+$/, "");
  return options.api !== undefined && (API_HOSTS.has(host) || host === "" || options.apiHosts?.includes(host) === true);
}

function listen(server: Listener, { host, port, onError }: HttpServerOptions): Promise<void> {
  return startListening(server, { host, port }, onError).catch((error: unknown) => {
    throw (error as NodeJS.ErrnoException).code === "EADDRINUSE"
      ? new Error(`port ${port} is taken by another program; choose another with --port`, { cause: error })
      : error;
  });
}

/** Pause between two checks for connections that became idle. */
const IDLE_POLL_MS = 20;

async function close(server: Listener, upgraded: ReadonlySet<Duplex>, drainMs: number): Promise<void> {
  if (!server.listening) return;
  let open = true;
  const closed = new Promise<void>((resolve) => server.close(() => resolve())).then(() => void (open = false));
  const deadline = performance.now() + drainMs;
  while (open && performance.now() < deadline) {
    server.closeIdleConnections();
    await Promise.race([closed, delay(IDLE_POLL_MS)]);
  }
  server.closeAllConnections();
  for (const socket of upgraded) socket.destroy();
  await closed;
}
