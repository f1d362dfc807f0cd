// Headers on their way through the router: what is taken out, what is added. Pure.
import type { Endpoint } from "./routing-table.ts";

/** Names that belong to one connection only, and what the router writes itself. */
const hopByHop = new Set([
  "connection",
  "keep-alive",
  "proxy-connection",
  "proxy-authenticate",
  "proxy-authorization",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
]);
const requestOwn = new Set([
  "x-forwarded-for",
  "x-vcap-request-id",
  "x-cf-applicationid",
  "x-cf-instanceid",
  "x-cf-instanceindex",
  "x-cf-app-instance",
  "x-cf-process-instance",
  "expect",
]);

/** Names and values in turn, as node and undici give and take them. */
export type RawHeaders = readonly string[];

/** What the router knows of a request. */
export interface RequestFacts {
  remoteAddress: string;
  requestId: string;
  /** Milliseconds since the epoch. */
  receivedAt: number;
  scheme: "http" | "https";
}

/** The headers for the instance. An upgrade keeps Connection and Upgrade. */
export function requestHeaders(raw: RawHeaders, facts: RequestFacts, endpoint: Endpoint, upgrade = false): string[] {
  const drop = connectionHeaders(raw);
  const result: string[] = [];
  const seen = new Set<string>();
  const forwarded: string[] = [];
  forEachHeader(raw, (name, value) => {
    const lower = name.toLowerCase();
    seen.add(lower);
    if (lower === "x-forwarded-for") forwarded.push(value);
    if (requestOwn.has(lower) || (!upgrade && (hopByHop.has(lower) || drop.has(lower)))) return;
    result.push(name, value);
  });
  result.push("X-Forwarded-For", [...forwarded, facts.remoteAddress].join(", "));
  if (!seen.has("x-forwarded-proto")) result.push("X-Forwarded-Proto", facts.scheme);
  if (!seen.has("x-request-start")) result.push("X-Request-Start", String(facts.receivedAt));
  result.push(
    "X-Vcap-Request-Id",
    facts.requestId,
    "X-CF-ApplicationID",
    endpoint.appGUID,
    "X-CF-InstanceID",
    endpoint.instanceGUID,
    "X-CF-InstanceIndex",
    String(endpoint.index),
  );
  return result;
}

/** The headers for the client. */
export function responseHeaders(raw: RawHeaders, requestId: string, upgrade = false): string[] {
  const drop = connectionHeaders(raw);
  const result: string[] = [];
  forEachHeader(raw, (name, value) => {
    const lower = name.toLowerCase();
    if (lower === "x-vcap-request-id" || (!upgrade && (hopByHop.has(lower) || drop.has(lower)))) return;
    result.push(name, value);
  });
  result.push("X-Vcap-Request-Id", requestId);
  return result;
}

function connectionHeaders(raw: RawHeaders): Set<string> {
  const names = new Set<string>();
  forEachHeader(raw, (name, value) => {
    if (name.toLowerCase() === "connection") for (const each of value.split(",")) names.add(each.trim().toLowerCase());
  });
  return names;
}

function forEachHeader(raw: RawHeaders, visit: (name: string, value: string) => void): void {
  for (let i = 0; i + 1 < raw.length; i += 2) visit(raw[i] ?? "", raw[i + 1] ?? "");
}

/** The host without its port; IPv6 addresses keep their brackets. */
export function hostOf(header: string | undefined): string {
  return (header ?? "").trim().toLowerCase().replace(/:\d*$/, "");
}
