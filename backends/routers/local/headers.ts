// The headers that the router removes and adds. Pure.
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
}

/** The headers for the instance. `upgrade` asks it for a WebSocket and nothing else. */
export function requestHeaders(raw: RawHeaders, facts: RequestFacts, endpoint: Endpoint, upgrade = false): string[] {
  const result: string[] = [];
  const seen = new Set<string>();
  const forwarded: string[] = [];
  for (const [name, value] of endToEnd(raw)) {
    const lower = name.toLowerCase();
    seen.add(lower);
    if (lower === "x-forwarded-for") forwarded.push(value);
    if (!requestOwn.has(lower)) result.push(name, value);
  }
  if (upgrade) result.push("Connection", "Upgrade", "Upgrade", "websocket");
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

/** The headers for the client. `upgrade`: of an answer that opens a WebSocket. */
export function responseHeaders(raw: RawHeaders, requestId: string, upgrade = false): string[] {
  const headers = endToEnd(raw).filter(([name]) => name.toLowerCase() !== "x-vcap-request-id");
  return [
    ...headers.flat(),
    ...(upgrade ? ["Connection", "Upgrade", "Upgrade", "websocket"] : []),
    "X-Vcap-Request-Id",
    requestId,
  ];
}

/** Without the headers of this one connection: the known ones and those that Connection names. */
function endToEnd(raw: RawHeaders): [name: string, value: string][] {
  const headers: [string, string][] = [];
  for (let i = 0; i + 1 < raw.length; i += 2) headers.push([raw[i] ?? "", raw[i + 1] ?? ""]);
  const named = headers
    .filter(([name]) => name.toLowerCase() === "connection")
    .flatMap(([, value]) => value.split(",").map((each) => each.trim().toLowerCase()));
  const dropped = new Set([...hopByHop, ...named.filter((name) => !protectedFromConnection.test(name))]);
  return headers.filter(([name]) => !dropped.has(name.toLowerCase()));
}

/** The host without its port; IPv6 addresses keep their brackets. */
export function hostOf(header: string | undefined): string {
  return (header ?? "").trim().toLowerCase().replace(/:\d*$/, "");
}
