// Serves the endpoint table over Express: finds the row, authenticates, validates, runs the handler under a deadline, sends the reply or the error.
import type { IncomingHttpHeaders } from "node:http";
import { randomUUID } from "node:crypto";
import { pipeline } from "node:stream/promises";
import { LRUCache } from "lru-cache";
import express, { type Express, type Request, type Response, Router } from "express";
import type { Logger } from "pino";
import { Domain } from "../../crds/domain/domain.ts";
import { Org } from "../../crds/org/org.ts";
import { Space } from "../../crds/space/space.ts";
import type { ResourceRef } from "../../kube/api/resource-ref.ts";
import type { Tracing } from "../../kube/tracing/tracing.ts";
import { withAuditID } from "../../kube/client/audit-id.ts";
import { declaredPermissions } from "../access/declared-permissions.ts";
import type { DeclaredPermissions, EndpointPermission } from "../access/required-permission.ts";
import type { Endpoint, Method, Reply, RequestContext } from "./endpoint.ts";
import { CFError, unavailable } from "../http/errors.ts";
import { logError, retryAfterSeconds, toCFError } from "../http/error-translation.ts";
import type { Caller } from "../identity/caller.ts";
import { parseForm, parseJson, parseYaml, readBody } from "../http/body.ts";
import { rawQuery } from "../http/query.ts";
import { parseBody, parseQuery } from "../http/validation.ts";
import { requestBase } from "../http/request-base.ts";
import { rejectOnAbort } from "../http/reject-on-abort.ts";
import type { Session } from "../access/session.ts";
import { answeredStatus, isLogged, logRequest, type AnsweredRequest } from "./request-log.ts";
import type { RequestMetrics } from "./request-metrics.ts";
import { withRequestSpan } from "./request-span.ts";
import { traceIDOf } from "./trace-id.ts";
import { createWarnings, type Warnings } from "./warnings.ts";

const defaultDeadlineMs = 30_000;

export interface RoutingDeps {
  endpoints: readonly Endpoint[];
  log: Logger;
  /** Address in links; without it the request's Host is used. */
  url?: string;
  /** Other host names of this API; links in answers to requests under them keep the name. */
  otherHosts?: readonly string[];
  /** @throws CFError 401 */
  authenticate: (headers: NodeJS.Dict<string | string[]>, signal: AbortSignal) => Promise<Caller>;
  /** Awaited before anything is read; undefined when there is no wait. Rejects with CFError 503. */
  waitUntilCurrent: () => Promise<void> | undefined;
  createSession: (request: {
    caller: Caller;
    signal: AbortSignal;
    permission: EndpointPermission;
    declared: DeclaredPermissions;
    writes: boolean;
    body: unknown;
    isManifest: boolean;
    warn: (text: string) => void;
    requestId: string;
    onHeld: (milliseconds: number) => void;
  }) => Session;
  metrics?: RequestMetrics | undefined;
  /** Present where this process makes traces. */
  tracing?: Tracing | undefined;
}

/** Normalises slashes in the path. Leaves the query alone: dropping unknown parameters would hide typing errors. */
export function normalisedUrl(url: string): string {
  const end = url.indexOf("?");
  const sent = end < 0 ? url : url.slice(0, end);
  const isNormal = sent.startsWith("/") && !sent.includes("//") && !sent.endsWith("/");
  if (isNormal) return url;
  const path = sent.replace(/\/{2,}/g, "/").replace(/(?<=.)\/$/, "");
  return (path.startsWith("/") ? path : `/${path}`) + (end < 0 ? "" : url.slice(end));
}

const expressMethods = {
  GET: "get",
  POST: "post",
  PATCH: "patch",
  PUT: "put",
  DELETE: "delete",
} as const satisfies Record<Method, string>;

const REQUEST_ID = "X-VCAP-Request-ID";

function requestIDOf(response: Response): string {
  return String(response.getHeader(REQUEST_ID));
}

/** A new request ID for each request, behind the client's if that gave one, as in CF. */
function newRequestID({ "x-vcap-request-id": vcap, "x-request-id": given }: IncomingHttpHeaders): string {
  const client = String(vcap || given || "")
    .replace(/[^\w-]/g, "")
    .slice(0, 255);
  return client === "" ? randomUUID() : `${client}::${randomUUID()}`;
}

/** An application that serves the table and nothing else; everything unknown is CF's 404. It does not listen. */
export function createRouting(deps: RoutingDeps): Express {
  const app = express();
  app.disable("x-powered-by");
  app.set("etag", false);
  app.set("query parser", false);
  const routers = new Map(
    [...groupByPrefix(deps.endpoints)].map(([prefix, rows]) => [prefix, createResourceRouter(deps, rows)]),
  );
  app.use((request, response, next) => {
    request.url = normalisedUrl(request.url);
    response.setHeader(REQUEST_ID, newRequestID(request.headers));
    // Express would answer OPTIONS by itself with a list of methods; CF does not know it.
    if (request.method === "OPTIONS") return sendError(response, new CFError("NotFound"));
    // A look-up finds the resource's router; requests that none of its rows match fall through to the rows without a prefix.
    (routers.get(prefixOf(request.url)) ?? nextHandler)(request, response, next);
  });
  app.use(routers.get("") ?? nextHandler);
  app.use((_request, response) => sendError(response, new CFError("NotFound")));
  app.use((thrown: unknown, _request: Request, response: Response, _next: () => void) => fail(deps, response, thrown));
  return app;
}

/** A row with all that it may ask. */
type ServedRow = Endpoint & { declared: DeclaredPermissions };

function createResourceRouter(deps: RoutingDeps, rows: readonly Endpoint[]): Router {
  const router = Router({ caseSensitive: true });
  for (const row of rows) {
    const declared = { ...row, declared: declaredPermissions(row) };
    router[expressMethods[row.method]](row.path, (request: Request, response: Response) => {
      const answer = (): Promise<void> => serve(deps, declared, request, response);
      const traced = (): Promise<void> => withRequestSpan(deps.tracing, row, { request, response }, answer);
      return row.method === "GET" ? traced() : withAuditID(requestIDOf(response), traced);
    });
  }
  return router;
}

const nextHandler = (_request: Request, _response: Response, next: () => void): void => next();

/** `/v3/apps` for any path below it; "" for paths outside of /v3. */
function prefixOf(path: string): string {
  return /^\/v3\/[^/:?]+/.exec(path)?.[0] ?? "";
}

/** Groups rows by the first two segments of their path, so that a request is matched against few. */
function groupByPrefix(rows: readonly Endpoint[]): Map<string, Endpoint[]> {
  return Map.groupBy(rows, (row) => prefixOf(row.path));
}

async function serve(deps: RoutingDeps, row: ServedRow, request: Request, response: Response): Promise<void> {
  const controller = new AbortController();
  const { signal } = controller;
  const startedAt = performance.now();
  const course: RequestCourse = { requestId: requestIDOf(response), heldMilliseconds: 0, user: undefined };
  const timer = setTimeout(
    () => controller.abort(unavailable("The request took too long.")),
    row.timeoutMs ?? defaultDeadlineMs,
  );
  response.once("close", () => {
    if (!response.writableFinished) controller.abort(new Error("the client went away"));
    const { method, path } = row;
    const status = answeredStatus(response);
    const answer = { method, path, status, milliseconds: performance.now() - startedAt };
    deps.metrics?.answered(answer);
    if (isLogged({ ...course, ...answer }))
      logRequest(deps.log, { ...course, ...answer, traceId: traceIDOf(request.headers) });
  });
  const warnings = createWarnings();
  try {
    const context = await toRequestContext(deps, row, { request, warnings, signal, course });
    const judged =
      context.caller && context.session.judge([context.params, context.query, context.body], listedKinds(row, context));
    if (judged) await judged;
    const result = row.handler(context);
    const reply = result instanceof Promise ? await Promise.race([result, rejectOnAbort(signal)]) : result;
    clearTimeout(timer);
    setWarnings(response, warnings);
    await send(response, reply, context.base);
  } catch (thrown) {
    if (isRefusal(thrown)) setWarnings(response, warnings);
    if (!response.closed)
      fail(deps, response, signal.aborted && signal.reason instanceof CFError ? signal.reason : thrown);
  } finally {
    clearTimeout(timer);
  }
}

/** Policy's warnings go with its refusals; a caller who may not write gets none. */
function isRefusal(thrown: unknown): boolean {
  return thrown instanceof CFError && thrown.key === "UnprocessableEntity";
}

function setWarnings(response: Response, warnings: Warnings): void {
  const warned = warnings.header();
  if (warned !== undefined && !response.headersSent) response.setHeader("X-Cf-Warnings", warned);
}

/** The kinds that the reply may list. */
function listedKinds({ lists = [] }: Endpoint, { query }: RequestContext): readonly ResourceRef[] {
  return (query as { include?: unknown }).include ? [...lists, Space, Org, Domain] : lists;
}

/** Stand-in for the session when nobody is logged in. */
const noSession = new Proxy({} as Session, {
  get() {
    throw new CFError("NotAuthenticated");
  },
});

/** Facts for the log, as the request goes on. */
type RequestCourse = Pick<AnsweredRequest, "requestId" | "heldMilliseconds" | "user">;

interface RequestInput {
  course: RequestCourse;
  request: Request;
  warnings: Warnings;
  signal: AbortSignal;
}

async function toRequestContext(
  deps: RoutingDeps,
  row: ServedRow,
  { request, warnings, signal, course }: RequestInput,
): Promise<RequestContext> {
  const caller = await authenticate(deps, row, request, signal);
  course.user = caller?.name;
  const query = row.query ? rememberedQuery(row, row.query, request.originalUrl) : rawQuery(request.originalUrl);
  const params = { ...(request.params as Record<string, string>) };
  const { permission, declared, method, bodyFormat } = row;
  const warn = (text: string): void => warnings.add(text);
  const { requestId } = course;
  const onHeld = (milliseconds: number): void => void (course.heldMilliseconds += milliseconds);
  const writes = method !== "GET";
  const asked = { signal, permission, declared, writes, isManifest: bodyFormat === "yaml", warn, requestId, onHeld };
  if (caller && row.guard)
    await guard(row.guard, deps.createSession({ ...asked, caller, body: undefined }), { params, query });
  const body = await parseRequestBody(row, request, { signal, caller });
  const session = caller && deps.createSession({ ...asked, caller, body });
  return {
    params,
    query,
    body,
    base: requestBase(deps, { protocol: request.protocol, host: request.headers.host }),
    url: normalisedUrl(request.originalUrl),
    caller,
    // No accessor: V8 gives each object that has one in its literal a slow shape, and frees it only in a full collection.
    session: session ?? noSession,
    warn,
    signal,
    request,
    log: writes ? deps.log.child({ requestId }) : deps.log,
  };
}

async function guard(
  check: NonNullable<Endpoint["guard"]>,
  session: Session,
  { params, query }: Pick<RequestContext, "params" | "query">,
): Promise<void> {
  await session.judge([params, query], []);
  check({ session, params });
}

/** Anybody where no credential is looked at, or none is needed and there is none. */
async function authenticate(deps: RoutingDeps, row: Endpoint, request: Request, signal: AbortSignal) {
  const anonymous = row.permission === "anonymous";
  const pending = anonymous ? undefined : deps.waitUntilCurrent();
  if (pending) await pending;
  const isUnknown = anonymous || (row.permission === "anyone" && !request.headers.authorization?.trim());
  return isUnknown ? undefined : deps.authenticate(request.headers, signal);
}

/** Queries that passed, by row and text: clients ask the same ones again, and validating a list's twenty parameters costs as much as sending a page. */
const parsedQueries = new WeakMap<Endpoint, LRUCache<string, object>>();
const MAX_QUERIES_PER_ROW = 500;
/** Longer ones are parsed each time, so that memory has a bound. */
const MAX_REMEMBERED_QUERY = 300;

function rememberedQuery(row: Endpoint, schema: NonNullable<Endpoint["query"]>, url: string): object {
  const start = url.indexOf("?");
  const text = start < 0 ? "" : url.slice(start);
  let known = parsedQueries.get(row);
  if (!known) parsedQueries.set(row, (known = new LRUCache({ max: MAX_QUERIES_PER_ROW })));
  const hit = known.get(text);
  if (hit) return hit;
  const query = Object.freeze(parseQuery(schema, rawQuery(url), row.badQueryError ?? "BadQueryParameter"));
  if (text.length <= MAX_REMEMBERED_QUERY) known.set(text, query);
  return query;
}

async function parseRequestBody(
  row: Endpoint,
  request: Request,
  { signal, caller }: { signal: AbortSignal; caller: Caller | undefined },
): Promise<unknown> {
  const { body: schema, bodyFormat = "json" } = row;
  if (bodyFormat === "multipart" || bodyFormat === "stream" || row.method === "GET") return undefined;
  const bytes = await readBody(request, signal);
  if (bodyFormat === "json" && !schema) return undefined;
  const value = await parseBytes(bodyFormat, request, { bytes, caller });
  return schema ? parseBody(schema, value, row.badBodyError) : value;
}

function parseBytes(
  format: "json" | "yaml" | "form",
  request: Request,
  { bytes, caller }: { bytes: Buffer; caller: Caller | undefined },
): object | Promise<object> {
  if (format === "form") return parseForm(bytes);
  return format === "json" ? parseJson(bytes) : parseManifest(request, bytes, caller);
}

function parseManifest({ headers }: Request, bytes: Buffer, caller: Caller | undefined): Promise<object> {
  if (!/^(?:application|text)\/(?:x-|vnd\.)?yaml\b/i.test(headers["content-type"] ?? ""))
    throw new CFError("BadRequest", "Content-Type must be yaml");
  return parseYaml(bytes, caller?.name ?? "");
}

async function send(response: Response, reply: Reply, base: string): Promise<void> {
  response.status(reply.status);
  for (const [name, value] of Object.entries(reply.headers ?? {})) response.setHeader(name, value);
  if (reply.job) response.setHeader("Location", `${base}/v3/jobs/${encodeURIComponent(reply.job)}`);
  const { body } = reply;
  if (body === undefined) return void response.end();
  response.setHeader("Content-Type", reply.contentType ?? "application/json; charset=utf-8");
  if (isStream(body)) return pipeline(body, response);
  const whole = typeof body === "string" || Buffer.isBuffer(body) ? body : JSON.stringify(body);
  response.setHeader("Content-Length", Buffer.byteLength(whole));
  response.end(whole);
}

function isStream(body: object | string): body is NodeJS.ReadableStream {
  return typeof body === "object" && "pipe" in body && typeof body.pipe === "function";
}

function fail(deps: RoutingDeps, response: Response, thrown: unknown): void {
  const error = toCFError(thrown);
  logError(deps.log, error, { requestId: requestIDOf(response) });
  deps.metrics?.failed(error.key);
  sendError(response, error);
}

/** Largest rejected body that is still read, bytes: a client whose connection closes while it sends may never receive the reply. */
const MAX_DRAIN_BYTES = 1 << 20;

function canDrain({ complete, headers }: Request): boolean {
  return complete || Number(headers["content-length"]) <= MAX_DRAIN_BYTES;
}

function sendError(response: Response, error: CFError): void {
  if (response.headersSent) return void response.destroy();
  if (!canDrain(response.req)) response.setHeader("Connection", "close");
  if (error.status === 503) response.setHeader("Retry-After", retryAfterSeconds(error));
  response.status(error.status).setHeader("Content-Type", "application/json; charset=utf-8");
  response.end(JSON.stringify({ errors: error.errors }));
}
