// The headers that the router removes and adds. Pure.
import { ROUTE_SERVICE_HEADERS } from "./route-service-signature.ts";
import type { Endpoint } from "./routing-table.ts";

/** Headers that belong to one connection only. */
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
/** Headers that only the router writes, and Expect, which it answers. */
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

/** A Connection header of the client does not remove these: they say where the request comes from and how long it is, and apps trust the router for it. */
const protectedFromConnection =
  /^(host|content-length|content-type|forwarded|via|x-forwarded-.*|x-real-ip|x-request-start|x-vcap-.*|x-cf-.*)$/;

/** Names and values in turn, as node and undici give and take them. */
export type RawHeaders = readonly string[];

/** Facts of a request that its headers do not give. */
export interface RequestFacts {
  remoteAddress: string;
  requestId: string;
  /** Milliseconds since the epoch. */
  receivedAt: number;
  scheme: "http" | "https";
  /** Names, in lower case, of headers that are not passed on. */
  dropped?: ReadonlySet<string>;
}

/** The headers for whoever gets the request next. */
function forwardedHeaders(raw: RawHeaders, facts: RequestFacts, upgrade: boolean): string[] {
  const result: string[] = [];
  let forwardedFor = "";
  let [hasProto, hasStart] = [false, false];
  forEachEndToEnd(raw, (lower, name, value) => {
    if (lower === "x-forwarded-for") forwardedFor += `${value}, `;
    hasProto ||= lower === "x-forwarded-proto";
    hasStart ||= lower === "x-request-start";
    if (!requestOwn.has(lower) && !facts.dropped?.has(lower)) result.push(name, value);
  });
  if (upgrade) result.push("Connection", "Upgrade", "Upgrade", "websocket");
  result.push("X-Forwarded-For", forwardedFor + facts.remoteAddress);
  if (!hasProto) result.push("X-Forwarded-Proto", facts.scheme);
  if (!hasStart) result.push("X-Request-Start", String(facts.receivedAt));
  result.push("X-Vcap-Request-Id", facts.requestId);
  return result;
}

/** The headers for the instance. `upgrade` asks it for a WebSocket and nothing else. */
export function requestHeaders(raw: RawHeaders, facts: RequestFacts, endpoint: Endpoint, upgrade = false): string[] {
  const result = forwardedHeaders(raw, facts, upgrade);
  result.push("X-CF-ApplicationID", endpoint.appGUID);
  if (!endpoint.isService)
    result.push("X-CF-InstanceID", endpoint.instanceGUID, "X-CF-InstanceIndex", String(endpoint.index));
  return result;
}

/** The headers for a route service, with its own host. It calls `url` with the signature. */
export function serviceHeaders(
  raw: RawHeaders,
  facts: RequestFacts,
  { host, url, signature, metadata }: { host: string; url: string; signature: string; metadata: string },
): string[] {
  const dropped = new Set(["host", ...ROUTE_SERVICE_HEADERS]);
  const result = forwardedHeaders(raw, { ...facts, dropped }, false);
  result.push("Host", host, "X-CF-Forwarded-Url", url);
  result.push("X-CF-Proxy-Signature", signature, "X-CF-Proxy-Metadata", metadata);
  return result;
}

/** The headers for the client. `upgrade`: of an answer that opens a WebSocket. */
export function responseHeaders(raw: RawHeaders, requestId: string, upgrade = false): string[] {
  const headers: string[] = [];
  forEachEndToEnd(raw, (lower, name, value) => {
    if (lower !== "x-vcap-request-id") headers.push(name, value);
  });
  if (upgrade) headers.push("Connection", "Upgrade", "Upgrade", "websocket");
  headers.push("X-Vcap-Request-Id", requestId);
  return headers;
}

/** Leaves out the headers of this one connection: the known ones and those that Connection names. */
function forEachEndToEnd(raw: RawHeaders, visit: (lower: string, name: string, value: string) => void): void {
  const named = namedByConnection(raw);
  for (let i = 0; i + 1 < raw.length; i += 2) {
    const name = raw[i] ?? "";
    const lower = name.toLowerCase();
    if (!hopByHop.has(lower) && !named?.has(lower)) visit(lower, name, raw[i + 1] ?? "");
  }
}

/** Undefined for none, as usual. */
function namedByConnection(raw: RawHeaders): Set<string> | undefined {
  let named: Set<string> | undefined;
  for (let i = 0; i + 1 < raw.length; i += 2) {
    if (raw[i]?.toLowerCase() !== "connection") continue;
    named ??= new Set();
    for (const each of (raw[i + 1] ?? "").split(",")) {
      const name = each.trim().toLowerCase();
      if (!protectedFromConnection.test(name)) named.add(name);
    }
  }
  return named;
}

/** The host without its port; IPv6 addresses keep their brackets. */
export function hostOf(header: string | undefined): string {
  return (header ?? "").trim().toLowerCase().replace(/:\d*$/, "");
}
