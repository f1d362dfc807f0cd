// Creates a client of one cluster on pooled connections.
import type { KubeObject } from "../api/object.ts";
import { apiVersionOf, resourcePath, type ResourceRef } from "../api/resource-ref.ts";
import { createAgents, type Agents } from "./agents.ts";
import { currentAuditID } from "./audit-id.ts";
import type { Identity, KubeClient, RequestRecord, WatchEvent, WatchOptions } from "./client.ts";
import { type CredentialSource, toCredentials } from "./credentials.ts";
import { exchange, type Exchange, readJson, toKubeError, withDeadline } from "./http-exchange.ts";
import { METADATA_ACCEPT, type OutgoingRequest, type Query } from "./outgoing-request.ts";
import { createReadCalls } from "./read-calls.ts";
import { parseWarnings } from "./warnings.ts";
import { watchLines } from "./watch-lines.ts";
import { openWebSocket, type WebSocketRequest } from "./web-socket.ts";
import { createWriteCalls } from "./write-calls.ts";

export interface ClusterAccess {
  /** `https://host:port`, perhaps with a path prefix. */
  server: string;
  /** PEM of the authorities that verify the server's certificate. */
  ca?: string;
  insecure?: boolean;
  serverName?: string;
  /** The client's identity; anonymous by default. A function runs before every request and does its own caching. */
  auth?: Identity | CredentialSource;
}

export interface ClientOptions extends ClusterAccess {
  userAgent?: string;
  /** Field manager of writes that name none. */
  fieldManager?: string;
  /** Called for every request, watches included, once its response head has arrived. Must return quickly and not throw. */
  onRequest?: (record: RequestRecord) => void;
}

/** Connects on first use. @throws TypeError when the server is not an http(s) URL. */
export function createClient(options: ClientOptions): KubeClient {
  const { auth } = options;
  const source: CredentialSource = typeof auth === "function" ? auth : constant(auth ?? { kind: "anonymous" });
  return clientAs({ options, url: new URL(options.server), agents: createAgents(options) }, source);
}

interface Connection {
  options: ClientOptions;
  url: URL;
  agents: Agents;
}

/** The connection of clients with other identities. */
function toDelegated(connection: Connection): Connection {
  const { onRequest, ...options } = connection.options;
  if (!onRequest) return connection;
  return { ...connection, options: { ...options, onRequest: (record) => onRequest({ ...record, isDelegated: true }) } };
}

function constant(identity: Identity): CredentialSource {
  const credentials = toCredentials(identity);
  return () => credentials;
}

function clientAs(connection: Connection, credentials: CredentialSource): KubeClient {
  const send = async <T>(out: OutgoingRequest): Promise<T> => {
    const request = await toExchange(connection, credentials, out);
    return withDeadline(out.call, async (signal) => {
      const answer = await exchange(request, signal);
      if (out.call?.onWarning) parseWarnings(answer.headers["warning"]).forEach(out.call.onWarning);
      return (await readJson(answer, signal)) as T;
    });
  };
  return {
    server: connection.options.server.replace(/\/$/, ""),
    ...createReadCalls(send),
    ...createWriteCalls(send, connection.options.fieldManager),
    watch: (ref, options = {}) => openWatch(ref, options, (out) => toExchange(connection, credentials, out, "streams")),
    raw: (method, path, body, options) =>
      send({ method, path, body, call: options, ...(options?.contentType && { contentType: options.contentType }) }),
    async stream(method, path, options = {}) {
      const request = await toExchange(connection, credentials, { method, path }, "streams");
      Object.assign(request.headers, { accept: "*/*", ...options.headers });
      if (options.body !== undefined) request.body = options.body;
      const answer = await withDeadline(options, (signal) => exchange(request, signal));
      return { code: answer.statusCode, headers: answer.headers, body: answer.body };
    },
    webSocket: async (path, protocol, call) =>
      openWebSocket({ ...toSocketAddress(connection, path), protocol, credentials: await credentials() }, call),
    async renew() {
      await credentials({ renew: true });
    },
    as: (identity) =>
      clientAs(
        toDelegated(connection),
        identity.kind === "impersonate" ? async () => toCredentials(identity, await credentials()) : constant(identity),
      ),
    close: () => connection.agents.close(),
  };
}

function toSocketAddress(
  { options, url }: Connection,
  path: string,
): Pick<WebSocketRequest, "url" | "tls" | "userAgent"> {
  const address = new URL(`${url.pathname.replace(/\/$/, "")}${path}`, url);
  return { url: address, tls: options, userAgent: options.userAgent ?? "kube" };
}

async function toExchange(
  connection: Connection,
  credentials: CredentialSource,
  out: OutgoingRequest,
  pool: "requests" | "streams" = "requests",
): Promise<Exchange> {
  const { options, url, agents } = connection;
  const { certificate, headers } = await credentials();
  const auditID = currentAuditID();
  return {
    agent: agents.forCertificate(certificate)[pool],
    origin: url.origin,
    method: out.method,
    path: `${url.pathname.replace(/\/$/, "")}${out.path}${toSearch(out.query)}`,
    headers: {
      accept: out.accept ?? "application/json",
      "user-agent": options.userAgent ?? "kube",
      ...(out.body !== undefined && { "content-type": out.contentType ?? "application/json" }),
      ...(auditID !== undefined && { "audit-id": auditID }),
      ...headers,
    },
    ...(out.body !== undefined && { body: JSON.stringify(out.body) }),
    ...(options.onRequest && { onRequest: options.onRequest }),
  };
}

function toSearch(query: Query = {}): string {
  const search = new URLSearchParams();
  for (const [key, value] of Object.entries(query))
    if (value !== undefined && value !== "") search.set(key, String(value));
  return search.size > 0 ? `?${search.toString()}` : "";
}

async function* openWatch<T extends KubeObject>(
  ref: ResourceRef<T>,
  options: WatchOptions,
  prepare: (out: OutgoingRequest) => Promise<Exchange>,
): AsyncGenerator<WatchEvent<T>, void, undefined> {
  const { namespace, signal, stallMs, onOpen, metadata, ...query } = options;
  const request = await prepare({
    method: "GET",
    path: resourcePath(ref, namespace ? { namespace } : {}),
    query: { watch: true, allowWatchBookmarks: true, ...query },
    ...(metadata && { accept: METADATA_ACCEPT.watch }),
  });
  request.stallMs = stallMs ?? ((options.timeoutSeconds ?? 600) + 30) * 1000;
  try {
    const answer = await withDeadline({ ...(signal && { signal }) }, (head) => exchange(request, head));
    onOpen?.();
    for await (const line of watchLines(answer.body))
      yield (metadata ? asKind(ref, line as WatchEvent<T>) : line) as WatchEvent<T>;
  } catch (cause) {
    throw toKubeError(cause, signal);
  }
}

/** The server answers metadata as PartialObjectMetadata; callers get the kind that they asked for. */
function asKind<T extends KubeObject>(ref: ResourceRef, event: WatchEvent<T>): unknown {
  return event.type === "ERROR"
    ? event
    : { ...event, object: { ...event.object, apiVersion: apiVersionOf(ref), kind: ref.kind } };
}
