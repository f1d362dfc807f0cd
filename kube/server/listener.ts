// Creates every HTTP server of the project, with limits on time and connections. No caller sets its own limits.
import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server as HttpServer,
  type ServerOptions,
} from "node:http";
import {
  createServer as createTlsServer,
  type Server as TlsServer,
  type ServerOptions as TlsOptions,
} from "node:https";
import { countDescriptors } from "./descriptor-limit.ts";
import { normalizeTarget } from "./request-target.ts";
import { endStalledPeers } from "./stalled-peers.ts";

export type Listener = HttpServer | TlsServer;

/** Time limits of a peer, in milliseconds. */
export interface ListenerLimits {
  /** From the first byte, or from the connection, to the end of the headers. Also bounds the TLS handshake. */
  headersMs: number;
  /** Longest time without progress of a request body or a response. Idle watches, logs and WebSockets have nothing to send, so they stay open. */
  stallMs: number;
  /** A kept-alive connection without a request. Longer than the idle time of usual load balancers (60 s), so that they close first. */
  idleMs: number;
  /** Interval at which `headersMs` is checked. */
  checkMs: number;
}

export const listenerLimits: ListenerLimits = { headersMs: 30_000, stallMs: 120_000, idleMs: 75_000, checkMs: 5_000 };

/** Clients that send a certificate with its key in one header need 7 KB; the usual bound of proxies. */
const maxHeaderBytes = 64 * 1024;
/** TCP keep-alive detects a peer that disappeared. */
const keepAliveProbeMs = 60_000;

export interface ListenerOptions {
  /** TLS options; plain HTTP without them. */
  tls?: TlsOptions;
  /**
   * Share of the process's file descriptors for connections of this listener. The shares of all listeners, twice that of a proxy (it opens
   * a second connection for each), must add up to less than 1: the process also opens files and probes its apps.
   */
  share: number;
  /** Upper bound of connections, besides the share. */
  maxConnections?: number;
  /** Which WebSocket requests become an `upgrade` event; none by default. Every other Upgrade header is ignored (RFC 9110, 7.8) and the request is served. */
  acceptsWebSocket?: (request: IncomingMessage) => boolean;
  limits?: ListenerLimits;
}

/** Creates a server with our limits. `startListening` starts it. */
export function createListener(options: ListenerOptions, handler: RequestListener): Listener {
  const { tls, limits = listenerLimits, acceptsWebSocket = () => false } = options;
  const serverOptions: ServerOptions = {
    maxHeaderSize: maxHeaderBytes,
    headersTimeout: limits.headersMs,
    // 0, because it would bound whole uploads; `stallMs` distinguishes a slow upload from a dead one.
    requestTimeout: 0,
    keepAliveTimeout: limits.idleMs,
    connectionsCheckingInterval: limits.checkMs,
    keepAlive: true,
    keepAliveInitialDelay: keepAliveProbeMs,
    noDelay: true,
    shouldUpgradeCallback: (request) =>
      normalizeTarget(request) === undefined && asksForWebSocket(request) && acceptsWebSocket(request),
  };
  const listener: RequestListener = (request, response) => {
    // The rest of a chunk of pipelined requests, after their connection was closed.
    if (request.socket.destroyed) return;
    const fault = normalizeTarget(request);
    if (fault === undefined) return handler(request, response);
    response.writeHead(400, { "content-type": "text/plain", connection: "close" }).end(`400 Bad Request: ${fault}\n`);
  };
  const server = tls
    ? createTlsServer({ minVersion: "TLSv1.2", handshakeTimeout: limits.headersMs, ...serverOptions, ...tls }, listener)
    : createServer(serverOptions, listener);
  server.maxConnections = Math.min(
    Math.max(1, Math.floor(countDescriptors() * options.share)),
    options.maxConnections ?? Number.MAX_SAFE_INTEGER,
  );
  // Make room for new connections.
  server.on("drop", () => server.closeIdleConnections());
  endStalledPeers(server, limits.stallMs);
  return server;
}

function asksForWebSocket({ method, headers, httpVersion }: IncomingMessage): boolean {
  const protocols = (headers.upgrade ?? "").split(",").map((protocol) => protocol.trim().toLowerCase());
  return method === "GET" && httpVersion === "1.1" && protocols.includes("websocket");
}
