// A router log line in gorouter's format. Pure.
import type { IncomingHttpHeaders } from "node:http";
import type { Endpoint } from "./routing-table.ts";

/** A request that is over. Times in milliseconds. */
export interface Access {
  host: string;
  method: string;
  url: string;
  httpVersion: string;
  headers: IncomingHttpHeaders;
  remote: string;
  status: number;
  requestBytes: number;
  responseBytes: number;
  receivedAt: number;
  durationMs: number;
  /** The router's own part of the duration. */
  routerMs: number;
  requestId: string;
  forwardedFor: string;
  endpoint?: Endpoint;
  error?: string;
}

/** A line; quotes and control characters in what the client sent are escaped, so that it cannot forge a line. */
export function formatAccess(access: Access): string {
  const { headers, endpoint } = access;
  const backend = endpoint ? `${endpoint.host}:${endpoint.hostPort}` : undefined;
  return [
    `${orDash(access.host)} - [${new Date(access.receivedAt).toISOString().replace("Z", "000000Z")}]`,
    quote(`${access.method} ${access.url} HTTP/${access.httpVersion}`),
    `${access.status} ${access.requestBytes} ${access.responseBytes}`,
    quote(headers.referer),
    quote(headers["user-agent"]),
    quote(access.remote),
    quote(backend),
    `x_forwarded_for:${quote(access.forwardedFor)}`,
    `x_forwarded_proto:${quote(headers["x-forwarded-proto"]?.toString() ?? "http")}`,
    `vcap_request_id:${quote(access.requestId)}`,
    `response_time:${seconds(access.durationMs)}`,
    `gorouter_time:${seconds(access.routerMs)}`,
    `app_id:${quote(endpoint?.appGUID)}`,
    `app_index:${quote(endpoint && String(endpoint.index))}`,
    `instance_id:${quote(endpoint?.instanceGUID)}`,
    `x_cf_routererror:${quote(access.error)}`,
  ].join(" ");
}

function quote(text: string | undefined): string {
  return `"${text === undefined || text === "" ? "-" : orDash(text).replaceAll("\\", "\\\\").replaceAll('"', '\\"')}"`;
}

function orDash(text: string): string {
  return text.replace(/[\u0000-\u001f\u007f]/g, "?");
}

function seconds(milliseconds: number): string {
  return (milliseconds / 1000).toFixed(6);
}
