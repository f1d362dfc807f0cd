// The one way to make an HTTP server here: it decides how long a peer may take and how many connections stand open. No listener sets its own limits.
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

/** How long a peer may take, in milliseconds. */
export interface ListenerLimits {
  /** From the first byte, or from the connection, to the end of the headers. Also bounds the TLS handshake. */
  headersMs: number;
  /** No byte of a request body arrives, or no byte of an answer is taken, for this long. Idle watches, logs and WebSockets have nothing to send and live on. */
  stallMs: number;
  /** A kept-alive connection without a request. Longer than the idle time of usual load balancers (60 s), so that they close first. */
  idleMs: number;
  /** How often `headersMs` is looked at. */
  checkMs: number;
}

export const listenerLimits: ListenerLimits = { headersMs: 30_000, stallMs: 120_000, idleMs: 75_000, checkMs: 5_000 };

/** Clients that send a certificate with its key in one header need 7 KB; the usual bound of proxies. */
const maxHeaderBytes = 64 * 1024;
/** A peer that vanished without a word is found by TCP keep-alive. */
const keepAliveProbeMs = 60_000;

export interface ListenerOptions {
  /** Serves TLS with these; without them in clear. */
  tls?: TlsOptions;
  /**
   * The part of the process's descriptors that connections to this listener may take. The parts of all listeners of a process, twice that of a proxy (it opens
   * a second connection for each), stay below 1: the process must be able to open files and to check its apps.
   */
  share: number;
  /** At most this many connections, whatever the share allows. */
  maxConnections?: number;
  /** Which WebSockets become an `upgrade` event; none unless said. Every other Upgrade header is ignored (RFC 9110, 7.8) and the request is served. */
  acceptsWebSocket?: (request: IncomingMessage) => boolean;
  limits?: ListenerLimits;
}

/** Makes a server with our limits. It listens once it is given to `startListening`. */
export function createListener(options: ListenerOptions, handler: RequestListener): Listener {
  const { tls, limits = listenerLimits, acceptsWebSocket = () => false } = options;
  const serverOptions: ServerOptions = {
    maxHeaderSize: maxHeaderBytes,
    headersTimeout: limits.headersMs,
    // Bounds a whole request, uploads of hours included; `stallMs` tells a slow upload from a dead one.
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
  // Idle connections make room for those who come next.
  server.on("drop", () => server.closeIdleConnections());
  endStalledPeers(server, limits.stallMs);
  return server;
}

function asksForWebSocket({ method, headers, httpVersion }: IncomingMessage): boolean {
  const protocols = (headers.upgrade ?? "").split(",").map((protocol) => protocol.trim().toLowerCase());
  return method === "GET" && httpVersion === "1.1" && protocols.includes("websocket");
}
