// The TLS listener: accepts connections, authenticates callers, dispatches requests, turns every failure into a Status.
import type { IncomingMessage, ServerResponse } from "node:http";
import type { TLSSocket } from "node:tls";
import type { AddressInfo } from "node:net";
import { createListener } from "../../../kube/server/listener.ts";
import { startListening } from "../../../kube/server/start-listening.ts";
import type { Auth, Credentials } from "../types.ts";
import { OPEN_PATHS } from "../discovery/paths.ts";
import { badRequest, failure } from "../status.ts";
import { readRequest } from "./path.ts";
import { checkAuthorized, type ResourceContext, type Exchange, handleResource } from "./resource.ts";
import { sendError } from "./respond.ts";

/** Share of the process's descriptors. Watches of kubectl and of the platform itself are long-lived connections. */
const CONNECTION_SHARE = 0.15;

export interface ListenerOptions {
  resources: ResourceContext;
  auth: Pick<Auth, "authenticate">;
  handlePath: (exchange: Pick<Exchange, "request" | "response" | "info">) => void;
  tls: { key: string; cert: string; ca: string };
  host: string;
  port: number;
  /** Called with unexpected errors. */
  onError: (error: unknown) => void;
}

export interface Listener {
  port: number;
  /** Ends watches, lets running requests finish (2 s), closes. */
  close(): Promise<void>;
}

function credentialsOf(request: IncomingMessage): Credentials {
  const impersonate: Record<string, string[]> = {};
  for (const [name, values] of Object.entries(request.headersDistinct))
    if (name.startsWith("impersonate-") && values) impersonate[name] = values;
  const certificate = (request.socket as TLSSocket).getPeerX509Certificate?.();
  return {
    ...(request.headers.authorization !== undefined && { authorization: request.headers.authorization }),
    ...(certificate && { clientCertificate: certificate.raw }),
    impersonate,
  };
}

/** A path is a path, also one that begins with two slashes; clients of proxies send whole URLs. */
function urlOf(target: string): URL {
  const url = URL.parse(target.startsWith("/") ? `https://server.invalid${target}` : target, "https://server.invalid");
  if (!url) throw badRequest("the request's path is not a URL");
  return url;
}

async function answer(options: ListenerOptions, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const url = urlOf(request.url ?? "/");
  const info = readRequest(request.method ?? "GET", url.pathname, url.searchParams);
  if (request.method === "OPTIONS" || request.method === "TRACE")
    throw failure(405, "MethodNotAllowed", "the server does not allow this method on the requested resource");
  if (OPEN_PATHS.has(url.pathname)) return options.handlePath({ request, response, info });
  const user = await options.auth.authenticate(credentialsOf(request));
  if (info.isResource)
    return handleResource(options.resources, { request, response, info, query: url.searchParams, user });
  checkAuthorized(options.resources.authorize, user, info);
  options.handlePath({ request, response, info });
}

/** Listens; port 0 takes a free one. */
export async function listen(options: ListenerOptions): Promise<Listener> {
  const server = createListener(
    { tls: { ...options.tls, requestCert: true, rejectUnauthorized: false }, share: CONNECTION_SHARE },
    (request, response) => {
      answer(options, request, response).catch((error: unknown) => sendError(response, error, options.onError));
    },
  );
  server.maxHeadersCount = 200;
  // Clients that abort a handshake are not reported.
  server.on("tlsClientError", (_error, socket) => socket.destroy());
  server.on("clientError", (_error, socket) => socket.destroy());
  await startListening(server, options, options.onError);
  return {
    port: (server.address() as AddressInfo).port,
    async close() {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      server.closeIdleConnections();
      const force = setTimeout(() => server.closeAllConnections(), 2_000);
      await closed;
      clearTimeout(force);
    },
  };
}
