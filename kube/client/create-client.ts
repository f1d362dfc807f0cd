// Makes a client of one cluster on pooled connections.
import type { KubeList, KubeObject, ObjectKey } from "../api/object.ts";
import { apiVersionOf, resourcePath, type ResourceRef } from "../api/resource-ref.ts";
import { createAgents, type Agents } from "./agents.ts";
import type {
  CallOptions,
  Draft,
  Identity,
  KubeClient,
  ListOptions,
  RequestRecord,
  WatchEvent,
  WatchOptions,
  WriteOptions,
} from "./client.ts";
import { type CredentialSource, toCredentials } from "./credentials.ts";
import { isNotFound, KubeError, type Status } from "./errors.ts";
import { exchange, type Exchange, readJson, toKubeError, withDeadline } from "./http-exchange.ts";
import { watchLines } from "./watch-lines.ts";

const PAGE_SIZE = 500;
const PATCH_TYPES = {
  merge: "application/merge-patch+json",
  json: "application/json-patch+json",
  strategic: "application/strategic-merge-patch+json",
};

export interface ClusterAccess {
  /** `https://host:port`, perhaps with a path prefix. */
  server: string;
  /** PEM of the authorities that the server's certificate is checked against. */
  ca?: string;
  insecure?: boolean;
  serverName?: string;
  /** Who we are; anonymous unless said. A function is asked before every request and caches by itself. */
  auth?: Identity | CredentialSource;
}

export interface ClientOptions extends ClusterAccess {
  userAgent?: string;
  /** For writes that name none. */
  fieldManager?: string;
  /** Told of every request after its head has arrived, watches included. Must be quick and must not throw. */
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

function constant(identity: Identity): CredentialSource {
  const credentials = toCredentials(identity);
  return () => credentials;
}

type Query = Record<string, string | number | boolean | undefined>;

interface Outgoing {
  method: string;
  path: string;
  query?: Query;
  body?: unknown;
  contentType?: string;
  /** Metadata of one object, of a list, or of a watch's objects. */
  accept?: string | undefined;
  call?: CallOptions | undefined;
}

const METADATA = {
  list: "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1",
  watch: "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1",
};

function clientAs(connection: Connection, credentials: CredentialSource): KubeClient {
  const send = async <T>(out: Outgoing): Promise<T> => {
    const request = await toExchange(connection, credentials, out);
    return withDeadline(out.call, async (signal) => (await readJson(await exchange(request, signal), signal)) as T);
  };
  return {
    server: connection.options.server.replace(/\/$/, ""),
    ...reads(send),
    ...writes(send, connection.options.fieldManager),
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
    async renew() {
      await credentials({ renew: true });
    },
    as: (identity) =>
      clientAs(
        connection,
        identity.kind === "impersonate" ? async () => toCredentials(identity, await credentials()) : constant(identity),
      ),
    close: () => connection.agents.close(),
  };
}

async function toExchange(
  connection: Connection,
  credentials: CredentialSource,
  out: Outgoing,
  pool: "requests" | "streams" = "requests",
): Promise<Exchange> {
  const { options, url, agents } = connection;
  const { certificate, headers } = await credentials();
  return {
    agent: agents.forCertificate(certificate)[pool],
    origin: url.origin,
    method: out.method,
    path: `${url.pathname.replace(/\/$/, "")}${out.path}${toSearch(out.query)}`,
    headers: {
      accept: out.accept ?? "application/json",
      "user-agent": options.userAgent ?? "kube",
      ...(out.body !== undefined && { "content-type": out.contentType ?? "application/json" }),
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

type Send = <T>(out: Outgoing) => Promise<T>;
type Reads = Pick<KubeClient, "get" | "find" | "list" | "pages" | "review">;
type Writes = Pick<KubeClient, "create" | "update" | "updateStatus" | "patch" | "apply" | "delete">;

function reads(send: Send): Reads {
  const client: Reads = {
    get: <T extends KubeObject>(ref: ResourceRef<T>, key: ObjectKey, call?: CallOptions) =>
      send<T>({ method: "GET", path: resourcePath(ref, key), call }),
    async find(ref, key, call) {
      try {
        return await client.get(ref, key, call);
      } catch (error) {
        if (isNotFound(error)) return undefined;
        throw error;
      }
    },
    async list<T extends KubeObject>(ref: ResourceRef<T>, options?: ListOptions) {
      let all: KubeList<T> | undefined;
      for await (const page of client.pages(ref, options)) {
        if (all) all.items.push(...page.items);
        all = { ...page, items: all?.items ?? page.items };
      }
      if (!all) throw new KubeError({ code: 0, reason: "Unreachable", message: "the API server sent no list" });
      return all;
    },
    pages: (ref, options = {}) => pages(send, ref, options),
    review: <T extends KubeObject>(ref: ResourceRef<T>, body: { spec?: unknown }, call?: CallOptions) =>
      send<T>({
        method: "POST",
        path: resourcePath(ref),
        body: { apiVersion: apiVersionOf(ref), kind: ref.kind, ...body },
        call,
      }),
  };
  return client;
}

async function* pages<T extends KubeObject>(
  send: Send,
  ref: ResourceRef<T>,
  options: ListOptions,
): AsyncGenerator<KubeList<T>, void, undefined> {
  const {
    namespace,
    limit = PAGE_SIZE,
    labelSelector,
    fieldSelector,
    resourceVersion,
    resourceVersionMatch,
    metadata,
    ...call
  } = options;
  const path = resourcePath(ref, namespace ? { namespace } : {});
  const meta = { apiVersion: apiVersionOf(ref), kind: ref.kind };
  let token: string | undefined;
  do {
    // A continue token carries the version itself; the server refuses both together.
    const version = token ? {} : { resourceVersion, resourceVersionMatch };
    const page = await send<KubeList<T>>({
      method: "GET",
      path,
      query: { limit, labelSelector, fieldSelector, ...version, continue: token },
      call,
      ...(metadata && { accept: METADATA.list }),
    });
    page.items = (page.items ?? []).map((item) => (metadata ? { ...item, ...meta } : { ...meta, ...item }));
    token = page.metadata.continue;
    yield page;
  } while (token);
}

function writes(send: Send, defaultManager: string | undefined): Writes {
  const query = (options: WriteOptions = {}): Query => ({
    fieldManager: options.fieldManager ?? defaultManager,
    fieldValidation: options.fieldValidation ?? "Strict",
    dryRun: options.dryRun ? "All" : undefined,
  });
  const put = <T extends KubeObject>(
    ref: ResourceRef<T>,
    object: Draft,
    subresource: string | undefined,
    options?: WriteOptions,
  ) =>
    send<T>({
      method: "PUT",
      path: resourcePath(ref, { ...keyOfDraft(object), ...(subresource && { subresource }) }),
      query: query(options),
      body: complete(ref, object),
      call: options,
    });
  return {
    create: <T extends KubeObject>(ref: ResourceRef<T>, object: Draft, options?: WriteOptions) =>
      send<T>({
        method: "POST",
        path: resourcePath(ref, { ...(object.metadata.namespace && { namespace: object.metadata.namespace }) }),
        query: query(options),
        body: complete(ref, object),
        call: options,
      }),
    update: (ref, object, options) => put(ref, object, undefined, options),
    updateStatus: (ref, object, options) => put(ref, object, "status", options),
    patch: (ref, key, patch, options) =>
      send({
        method: "PATCH",
        path: resourcePath(ref, { ...key, ...(options?.subresource && { subresource: options.subresource }) }),
        query: query(options),
        body: patch.body,
        contentType: PATCH_TYPES[patch.type],
        call: options,
      }),
    apply: (ref, object, options) =>
      send({
        method: "PATCH",
        path: resourcePath(ref, {
          ...keyOfDraft(object),
          ...(options.subresource && { subresource: options.subresource }),
        }),
        query: { ...query(options), force: options.force ? true : undefined },
        body: complete(ref, object),
        contentType: "application/apply-patch+yaml",
        call: options,
      }),
    delete: <T extends KubeObject>(
      ref: ResourceRef<T>,
      key: ObjectKey,
      options: Parameters<KubeClient["delete"]>[2] = {},
    ) => {
      const { propagationPolicy = "Background", preconditions, gracePeriodSeconds, dryRun, ...call } = options;
      const body = {
        apiVersion: "v1",
        kind: "DeleteOptions",
        propagationPolicy,
        ...(preconditions && { preconditions }),
        ...(gracePeriodSeconds !== undefined && { gracePeriodSeconds }),
        ...(dryRun && { dryRun: ["All"] }),
      };
      return send<T | Status>({ method: "DELETE", path: resourcePath(ref, key), body, call });
    },
  };
}

function keyOfDraft(object: Draft): ObjectKey {
  if (!object.metadata.name) throw new TypeError(`this ${object.kind ?? "object"} has no name`);
  return { name: object.metadata.name, ...(object.metadata.namespace && { namespace: object.metadata.namespace }) };
}

function complete(ref: ResourceRef, object: Draft): Draft {
  return { ...object, apiVersion: apiVersionOf(ref), kind: ref.kind };
}

async function* openWatch<T extends KubeObject>(
  ref: ResourceRef<T>,
  options: WatchOptions,
  prepare: (out: Outgoing) => Promise<Exchange>,
): AsyncGenerator<WatchEvent<T>, void, undefined> {
  const { namespace, signal, stallMs, onOpen, metadata, ...query } = options;
  const request = await prepare({
    method: "GET",
    path: resourcePath(ref, namespace ? { namespace } : {}),
    query: { watch: true, allowWatchBookmarks: true, ...query },
    ...(metadata && { accept: METADATA.watch }),
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

/** Metadata alone comes as another kind; it is still about this one. */
function asKind<T extends KubeObject>(ref: ResourceRef, event: WatchEvent<T>): unknown {
  return event.type === "ERROR"
    ? event
    : { ...event, object: { ...event.object, apiVersion: apiVersionOf(ref), kind: ref.kind } };
}
