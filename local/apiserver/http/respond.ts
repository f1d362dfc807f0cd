// Writes answers: JSON or YAML, warnings, errors as Status.
import type { ServerResponse } from "node:http";
import { stringify } from "yaml";
import { badRequest, statusOf, StatusError } from "../status.ts";
import type { Wanted } from "./negotiate.ts";

/** Sends a JSON text in the format wanted. */
export function sendText(
  response: ServerResponse,
  code: number,
  json: string,
  { format }: Pick<Wanted, "format">,
): void {
  const body = format === "yaml" ? stringify(JSON.parse(json)) : json;
  response.writeHead(code, {
    "content-type": format === "yaml" ? "application/yaml" : "application/json",
    "content-length": Buffer.byteLength(body),
    "cache-control": "no-cache, private",
  });
  response.end(response.req.method === "HEAD" ? undefined : body);
}

export function sendPlain(response: ServerResponse, code: number, text: string): void {
  response.writeHead(code, {
    "content-type": "text/plain; charset=utf-8",
    "content-length": Buffer.byteLength(text),
    "x-content-type-options": "nosniff",
  });
  response.end(text);
}

/** Warnings that a client shows to its user; quotes and backslashes escaped, control characters dropped. */
export function addWarnings(response: ServerResponse, warnings: string[]): void {
  if (warnings.length === 0) return;
  const unique = [...new Set(warnings)].slice(0, 50);
  response.setHeader(
    "warning",
    unique
      .map(
        (text) =>
          `299 - "${text
            .replaceAll(/[^\x20-\x7e]/g, " ")
            .slice(0, 1_000)
            .replaceAll(/["\\]/g, "\\$&")}"`,
      )
      .join(", "),
  );
}

/** Sends what an error says; unknown errors go to `onUnknown` and become a 500 without inner details. */
export function sendError(response: ServerResponse, error: unknown, onUnknown: (error: unknown) => void): void {
  const told =
    error instanceof RangeError && /call stack/.test(error.message) ? badRequest("exceeded max depth") : error;
  if (!(told instanceof StatusError)) onUnknown(told);
  if (response.headersSent) {
    response.destroy();
    return;
  }
  const status = statusOf(told);
  if (status.details?.retryAfterSeconds) response.setHeader("retry-after", String(status.details.retryAfterSeconds));
  if (status.code === 413) response.setHeader("connection", "close");
  sendText(response, status.code ?? 500, JSON.stringify(status), { format: "json" });
}
