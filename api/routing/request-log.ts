// The log line of a request: every write, every fault, and reads that took long. Never a query, a body or a header.
import type { ServerResponse } from "node:http";
import type { Logger } from "pino";
import { omitUndefined } from "../../kube/api/omit-undefined.ts";
import type { Method } from "./endpoint.ts";

/** A read that took longer, without the time that it was held until something changed, is a line. Milliseconds. */
const SLOW_READ_MS = 1_000;

export interface AnsweredRequest {
  requestId: string;
  /** The client's trace, where it sends one. */
  traceId?: string | undefined;
  method: Method;
  /** Path of the endpoint's row, with its parameters as `:guid`. */
  path: string;
  status: number;
  milliseconds: number;
  /** How long it waited on purpose. */
  heldMilliseconds: number;
  /** The caller's name, where one is known. */
  user: string | undefined;
}

export function logRequest(log: Logger, request: AnsweredRequest): void {
  const { requestId, traceId, method, path, status, milliseconds, heldMilliseconds, user } = request;
  const fields = {
    requestId,
    ...omitUndefined({ traceId }),
    endpoint: `${method} ${path}`,
    status,
    ms: Math.round(milliseconds),
  };
  const held = Math.round(heldMilliseconds);
  log.info({ ...fields, ...(held > 0 && { heldMs: held }), ...(user !== undefined && { user }) }, "request");
}

/** Whether a request has a line. Pure. */
export function isLogged({
  method,
  status,
  milliseconds,
  heldMilliseconds,
}: Pick<AnsweredRequest, "method" | "status" | "milliseconds" | "heldMilliseconds">): boolean {
  return method !== "GET" || status >= 500 || milliseconds - heldMilliseconds > SLOW_READ_MS;
}

/** The status in logs, metrics and traces of a request whose client left before the answer, as proxies write it. */
const CLIENT_GONE = 499;

/** The response has ended, or was closed. */
export function answeredStatus({
  headersSent,
  statusCode,
}: Pick<ServerResponse, "headersSent" | "statusCode">): number {
  return headersSent ? statusCode : CLIENT_GONE;
}
