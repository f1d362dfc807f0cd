// A request on its way through the router: the part that plain requests and WebSockets share, and its line in the access log.
import { randomUUID } from "node:crypto";
import type { IncomingMessage } from "node:http";
import type { Places } from "../../../kube/server/places.ts";
import type { Telemetry } from "../../../telemetry/telemetry.ts";
import { type Access, formatAccess } from "./access-log.ts";
import { maxRequestsPerService } from "./dispatchers.ts";
import { type RouterResponse, routerResponses } from "./error-responses.ts";
import {
  type EndpointChooser,
  filterEndpoints,
  type InstanceSelector,
  readInstanceSelector,
} from "./endpoint-chooser.ts";
import { hostOf, type RequestFacts } from "./headers.ts";
import type { RouteServiceKeyring } from "./route-service-key.ts";
import { METADATA, ROUTE_SERVICE_HEADERS } from "./route-service-signature.ts";
import { hasUnknownKey, planRouteService, type ServiceRequest } from "./route-services.ts";
import type { Endpoint, Match, RoutingTable } from "./routing-table.ts";
import { stickyInstance } from "./sticky-session.ts";

/** The parts that every exchange uses. */
export interface RouterContext {
  table: RoutingTable;
  chooser: EndpointChooser;
  telemetry: Pick<Telemetry, "log">;
  /** False until the routes are known. */
  isSynced: () => boolean;
  /** The keys of signatures for route services. */
  keyring: RouteServiceKeyring;
  /** Bounds the requests at route services, by route. */
  servicePlaces: Places;
  /** Bounds the requests of a space under way. A router that serves one person has none. */
  spacePlaces?: SpacePlaces;
  /** Whether an ingress controller passes the requests on: it knows the client's scheme, and endpoints are Services. */
  behindIngress?: true;
}

/** By the space's namespace. A request at a service comes back through this router before it ends, so a common bound would let requests at services take the places that they need to come back. */
export interface SpacePlaces {
  atServices: Places;
  /** Requests that services sent back. */
  atApps: Places;
}

/** A request to a route service, and the route that has it. */
export interface ServiceTarget {
  service: ServiceRequest;
}

/** At most this many instances are tried. */
const maxTries = 3;

/** An instance, and the route that led to it. */
export interface Target {
  match: Match;
  endpoint: Endpoint;
}

export interface Exchange {
  request: IncomingMessage;
  host: string;
  facts: RequestFacts;
  /** The instance that the client's session is bound to. */
  sticky: string | undefined;
  /** The next instance to try, or the route service that the request goes to first; an answer when there is none, or no more. */
  next(): Target | ServiceTarget | RouterResponse;
  /** The instance refused. `reason` goes into the answer when no other is left. */
  markFailed(endpoint: Endpoint, reason: string): void;
  /** Writes the line and gives the instance's place free. Only the first call counts. */
  finish(end: Pick<Access, "status" | "requestBytes" | "responseBytes" | "error">): void;
  /** Set when the instance begins and ends to work on it. */
  upstream: { startedAt?: number; endedAt?: number };
}

interface ExchangeState {
  /** The last instance that was tried. */
  current?: Target;
  /** The instance whose place this request takes. */
  held?: Endpoint;
  /** Gives the place at the route service back. */
  leaveService?: () => void;
  /** Gives the place of the space back. */
  leaveSpace?: (() => void) | undefined;
  match?: Match;
  /** Why the last instance refused. */
  reason?: string;
  tried: Set<Endpoint>;
  finished: boolean;
}

/** Calls `serve` at once, or, for a signature of a key that is not known here, after the keys were read again. Only requests of routes with a route service wait. */
export function whenKeyIsKnown({ table, keyring }: RouterContext, request: IncomingMessage, serve: () => void): void {
  if (request.headers[METADATA] === undefined) return serve();
  const keys = keyring.keys();
  const isBound = (): boolean =>
    table.find(hostOf(request.headers.host), request.url ?? "/")?.route.routeService !== undefined;
  if (keys && hasUnknownKey(request, keys) && isBound()) void keyring.refresh().then(serve);
  else serve();
}

/** Begins an exchange at its first byte. */
export function beginExchange(context: RouterContext, request: IncomingMessage): Exchange {
  const host = hostOf(request.headers.host);
  const remoteAddress = (request.socket.remoteAddress ?? "").replace(/^::ffff:/, "");
  const scheme = schemeOf(context, request);
  const facts: RequestFacts = { remoteAddress, requestId: randomUUID(), receivedAt: Date.now(), scheme };
  const remote = `${remoteAddress}:${request.socket.remotePort ?? 0}`;
  const started = performance.now();
  const upstream: Exchange["upstream"] = {};
  const sticky = context.behindIngress ? undefined : stickyInstance(request.headers.cookie);
  const state: ExchangeState = { tried: new Set(), finished: false };
  return {
    request,
    host,
    facts,
    sticky,
    upstream,
    next() {
      const found = findEndpoints(context, request, host);
      if ("status" in found) return endedMeanwhile(state) ?? found;
      const { match } = found;
      const first =
        findServiceStep(context, state, { match, request, facts }) ??
        enterSpace(context.spacePlaces?.atApps, state, match);
      return first ?? takeEndpoint(context, state, { ...found, hashed: hashedValue(match, request), sticky });
    },
    markFailed(endpoint, reason) {
      state.reason = reason;
      context.chooser.markFailed(endpoint);
    },
    finish(end) {
      if (state.finished) return;
      state.finished = true;
      const endpoint = state.current?.endpoint;
      giveBack(context, state);
      const source = (endpoint ?? state.match?.route.destinations[0])?.appGUID;
      if (source === undefined) return;
      const times = toTimes(started, upstream);
      const access: Access = {
        ...end,
        ...requestFacts(request),
        ...facts,
        ...times,
        remote,
        forwardedFor: forwardedFor(request, remoteAddress),
        ...(endpoint && { endpoint }),
      };
      context.telemetry.log({ source, sourceType: "RTR", message: formatAccess(access) });
    },
  };
}

/** The places that the request takes. */
function giveBack({ chooser }: RouterContext, { held, leaveService, leaveSpace }: ExchangeState): void {
  if (held) chooser.release(held);
  leaveService?.();
  leaveSpace?.();
}

function schemeOf({ behindIngress }: RouterContext, { socket, headers }: IncomingMessage): RequestFacts["scheme"] {
  const isTLS = behindIngress ? headers["x-forwarded-proto"] === "https" : "encrypted" in socket;
  return isTLS ? "https" : "http";
}

/** Undefined where the request has a place. */
function enterSpace(places: Places | undefined, state: ExchangeState, match: Match): RouterResponse | undefined {
  if (!places || state.leaveSpace) return undefined;
  state.match = match;
  state.leaveSpace = places.take(match.route.space);
  return state.leaveSpace ? undefined : routerResponses.spaceBusy(places.max);
}

/** Undefined for a request that goes to an instance, without the headers of the service. */
function findServiceStep(
  { keyring, servicePlaces, spacePlaces }: RouterContext,
  state: ExchangeState,
  { match, request, facts }: { match: Match; request: IncomingMessage; facts: RequestFacts },
): ServiceTarget | RouterResponse | undefined {
  if (match.route.routeService === undefined) return undefined;
  state.match = match;
  const step = planRouteService(match.route, request, { facts, keys: keyring.keys(), now: Date.now() });
  if (step === undefined) facts.dropped = ROUTE_SERVICE_HEADERS;
  if (step === undefined || "status" in step) return step;
  state.leaveService ??= servicePlaces.take(match.route.guid);
  if (!state.leaveService) return routerResponses.serviceBusy(maxRequestsPerService);
  return enterSpace(spacePlaces?.atServices, state, match) ?? { service: step };
}

interface Tried {
  match: Match;
  endpoint: Endpoint | undefined;
}

interface Candidates {
  match: Match;
  endpoints: readonly Endpoint[];
  hashed: string | undefined;
  sticky: string | undefined;
}

/** The next instance with room, in place of the one that refused. */
function takeEndpoint(
  { chooser, behindIngress }: RouterContext,
  state: ExchangeState,
  { match, endpoints, hashed, sticky }: Candidates,
): Target | RouterResponse {
  const { tried, current: previous } = state;
  state.match = match;
  if (state.held) chooser.release(state.held);
  delete state.held;
  const endpoint =
    tried.size < maxTries ? acquireEndpoint(chooser, tried, { match, endpoints, hashed, sticky }) : undefined;
  if (endpoint === "busy") return busyResponse(appOf(match, undefined), chooser, behindIngress);
  if (!endpoint) return noneLeft(state, { match, endpoint: previous?.endpoint });
  tried.add(endpoint);
  state.held = endpoint;
  return (state.current = { match, endpoint });
}

/** Behind an ingress controller endpoints are Services, and the bound is the whole app's. */
function busyResponse(app: string, { maxRequests }: EndpointChooser, behindIngress = false): RouterResponse {
  return behindIngress ? routerResponses.appBusy(app, maxRequests) : routerResponses.busy(app, maxRequests);
}

function noneLeft({ reason = "no instance is left" }: ExchangeState, { match, endpoint }: Tried): RouterResponse {
  return routerResponses.failed(endpoint, appOf(match, endpoint), reason);
}

/** An app that stops while an instance has the request: that one failed, the route was there. */
function endedMeanwhile(state: ExchangeState): RouterResponse | undefined {
  return state.current && noneLeft(state, state.current);
}

/** The instance of the client's session while it has room, else any. */
function acquireEndpoint(
  chooser: EndpointChooser,
  tried: ReadonlySet<Endpoint>,
  { match, endpoints, hashed, sticky }: Candidates,
): Endpoint | "busy" | undefined {
  const bound = sticky === undefined ? [] : endpoints.filter((each) => each.instanceGUID === sticky);
  const own = bound.length > 0 ? chooser.acquire(match.route, bound, tried, hashed) : undefined;
  return own !== undefined && own !== "busy" ? own : chooser.acquire(match.route, endpoints, tried, hashed);
}

/** The value of the header that chooses the instance; undefined without one. */
function hashedValue({ route }: Match, { headers }: IncomingMessage): string | undefined {
  const value = route.hashHeader === undefined ? undefined : headers[route.hashHeader];
  return value === undefined || value === "" ? undefined : String(value);
}

function toTimes(started: number, upstream: Exchange["upstream"]): Pick<Access, "durationMs" | "routerMs"> {
  const endedAt = performance.now();
  const appMs = (upstream.endedAt ?? endedAt) - (upstream.startedAt ?? endedAt);
  return { durationMs: endedAt - started, routerMs: Math.max(0, endedAt - started - appMs) };
}

function forwardedFor({ headers }: IncomingMessage, remoteAddress: string): string {
  return [headers["x-forwarded-for"], remoteAddress].filter(Boolean).join(", ");
}

function requestFacts({
  headers,
  method = "",
  url = "",
  httpVersion,
}: IncomingMessage): Pick<Access, "host" | "method" | "url" | "httpVersion" | "headers"> {
  return { host: headers.host ?? "", method, url, httpVersion, headers };
}

function findEndpoints(
  context: RouterContext,
  request: IncomingMessage,
  host: string,
): { match: Match; endpoints: readonly Endpoint[] } | RouterResponse {
  if (!context.isSynced()) return routerResponses.starting();
  if (host === "") return routerResponses.emptyHost();
  if (request.url === "*") return routerResponses.badTarget();
  const match = context.table.find(host, request.url ?? "/");
  if (!match || (match.route.internal && !isOfThisMachine(request))) return routerResponses.unknownRoute(host);
  if (match.route.destinations.length === 0) return routerResponses.noApp(host);
  return selectEndpoints(match, host, context.behindIngress ? undefined : readInstanceSelector(request.headers));
}

/** Headers by which proxies say that they pass a request on. */
const FORWARDED = /^(forwarded|via|x-real-ip|x-forwarded-.*)$/;

/** A request that a proxy on this machine passes on may come from anywhere. */
function isOfThisMachine({ socket, headers }: IncomingMessage): boolean {
  const address = (socket.remoteAddress ?? "").replace(/^::ffff:/, "");
  const isLoopback = address === "::1" || /^127\./.test(address);
  return isLoopback && !Object.keys(headers).some((name) => FORWARDED.test(name));
}

function selectEndpoints(
  match: Match,
  host: string,
  selector: InstanceSelector | undefined,
): { match: Match; endpoints: readonly Endpoint[] } | RouterResponse {
  if (!selector)
    return match.endpoints.length > 0 ? { match, endpoints: match.endpoints } : routerResponses.noInstance(host, match);
  if ("invalid" in selector) return routerResponses.invalidInstanceSelector(selector.invalid);
  const endpoints = filterEndpoints(match.endpoints, selector);
  return endpoints.length > 0 ? { match, endpoints } : routerResponses.unknownInstance();
}

/** Whether the route asks for HTTP/2 to this instance. */
export function speaksHttp2({ route }: Match, { appGUID, processType, port }: Endpoint): boolean {
  return route.destinations.some(
    (each) => each.http2 === true && each.appGUID === appGUID && each.processType === processType && each.port === port,
  );
}

/** The app's name in the route's destination. */
export function appOf(match: Match, endpoint: Endpoint | undefined): string {
  const destination =
    match.route.destinations.find((each) => each.appGUID === endpoint?.appGUID) ?? match.route.destinations[0];
  return destination?.app ?? "?";
}
