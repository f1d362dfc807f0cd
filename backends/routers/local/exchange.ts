// One request on its way through the router: what is common to plain requests and upgrades, and the line in the log at its end.
import { randomUUID } from "node:crypto";
import type { IncomingMessage } from "node:http";
import type { Telemetry } from "../../../telemetry/telemetry.ts";
import { type Access, formatAccess } from "./access-log.ts";
import { type RouterResponse, routerResponses } from "./error-responses.ts";
import { type EndpointChooser, filterEndpoints, readInstanceSelector } from "./endpoint-chooser.ts";
import { hostOf, type RequestFacts } from "./headers.ts";
import type { Endpoint, Match, RoutingTable } from "./routing-table.ts";

/** What the router is made of. */
export interface RouterContext {
  table: RoutingTable;
  chooser: EndpointChooser;
  telemetry: Telemetry;
  /** False until the routes are known. */
  isSynced: () => boolean;
  /** Deadline of a whole request, milliseconds. */
  requestTimeoutMs: number;
}

/** At most this many instances are tried. */
const maxTries = 3;

export interface Exchange {
  request: IncomingMessage;
  host: string;
  facts: RequestFacts;
  /** The next instance to try; an answer when there is none, or no more. */
  next(): { match: Match; endpoint: Endpoint } | RouterResponse;
  /** The instance refused. `reason` is told when no other is left. */
  markFailed(endpoint: Endpoint, reason: string): void;
  /** Writes the line. Only the first call counts. */
  finish(end: Pick<Access, "status" | "requestBytes" | "responseBytes" | "error">): void;
  /** To be called when the instance begins and ends to work on it. */
  upstream: { startedAt?: number; endedAt?: number };
}

/** Begins an exchange at its first byte. */
export function beginExchange(context: RouterContext, request: IncomingMessage): Exchange {
  const host = hostOf(request.headers.host);
  const remoteAddress = (request.socket.remoteAddress ?? "").replace(/^::ffff:/, "");
  const facts: RequestFacts = { remoteAddress, requestId: randomUUID(), receivedAt: Date.now(), scheme: "http" };
  const remote = `${remoteAddress}:${request.socket.remotePort ?? 0}`;
  const started = performance.now();
  const tried = new Set<Endpoint>();
  const upstream: Exchange["upstream"] = {};
  const state: { current?: { match: Match; endpoint: Endpoint }; reason?: string; match?: Match; finished: boolean } = {
    finished: false,
  };

  return {
    request,
    host,
    facts,
    upstream,
    next() {
      const found = findEndpoints(context, request, host);
      if ("status" in found) return found;
      state.match = found.match;
      const endpoint =
        tried.size < maxTries ? context.chooser.next(found.match.route.guid, found.endpoints, tried) : undefined;
      if (!endpoint)
        return routerResponses.failed(
          state.current?.endpoint,
          appOf(found.match, state.current?.endpoint),
          state.reason ?? "no instance is left",
        );
      tried.add(endpoint);
      return (state.current = { match: found.match, endpoint });
    },
    markFailed(endpoint, reason) {
      state.reason = reason;
      context.chooser.markFailed(endpoint);
    },
    finish(end) {
      if (state.finished) return;
      state.finished = true;
      const source = (state.current?.endpoint ?? state.match?.route.destinations[0])?.appGUID;
      if (source === undefined) return;
      const endedAt = performance.now();
      const appMs = (upstream.endedAt ?? endedAt) - (upstream.startedAt ?? endedAt);
      const access: Access = {
        ...end,
        ...requestFacts(request),
        remote,
        receivedAt: facts.receivedAt,
        durationMs: endedAt - started,
        routerMs: Math.max(0, endedAt - started - appMs),
        requestId: facts.requestId,
        forwardedFor: [request.headers["x-forwarded-for"], remoteAddress].filter(Boolean).join(", "),
        ...(state.current && { endpoint: state.current.endpoint }),
      };
      context.telemetry.log({ source, sourceType: "RTR", message: formatAccess(access) });
    },
  };
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
  const match = context.table.find(host, request.url ?? "/");
  if (!match) return routerResponses.unknownRoute(host);
  if (match.route.destinations.length === 0) return routerResponses.noApp(host);
  const selector = readInstanceSelector(request.headers);
  if (!selector)
    return match.endpoints.length > 0 ? { match, endpoints: match.endpoints } : routerResponses.noInstance(host, match);
  if ("invalid" in selector) return routerResponses.invalidInstanceSelector(selector.invalid);
  const endpoints = filterEndpoints(match.endpoints, selector);
  return endpoints.length > 0 ? { match, endpoints } : routerResponses.unknownInstance();
}

/** The app's name as the route's destination says it. */
export function appOf(match: Match, endpoint: Endpoint | undefined): string {
  const destination =
    match.route.destinations.find((each) => each.appGUID === endpoint?.appGUID) ?? match.route.destinations[0];
  return destination?.app ?? "?";
}
