// The body of a request, as an audit event shows it: secrets, commands, and passwords in URLs are replaced. Pure.
import { MAX_EVENT_DATA } from "../../../crds/audit-log/audit-log.ts";
import { hideUserinfo } from "../../../crds/hide-userinfo.ts";

const HIDDEN = "[PRIVATE DATA HIDDEN]";

/** Members whose value may be a secret, at any depth: of requests, and of the objects that kubectl writes. */
const SECRET_KEYS = new Set([
  "var",
  "env",
  "environment_variables",
  "command",
  "process_types",
  "processTypes",
  "files",
  "password",
  "username",
  "credentials",
  "parameters",
]);

/** Levels of nesting that are kept. */
const MAX_DEPTH = 6;

/** `value` without secrets. */
export function redact(value: unknown, depth = 0): unknown {
  if (typeof value === "string") return hideUserinfo(value);
  if (typeof value !== "object" || value === null) return value;
  if (depth === MAX_DEPTH) return HIDDEN;
  if (Array.isArray(value)) return value.map((item) => redact(item, depth + 1));
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [key, SECRET_KEYS.has(key) ? HIDDEN : redact(item, depth + 1)]),
  );
}

/** The JSON text of an event's data; a request that is too long is left out. */
export function toEventData(data: Record<string, unknown>): string | undefined {
  if (Object.keys(data).length === 0) return undefined;
  const whole = JSON.stringify(data);
  if (fitsEvent(whole)) return whole;
  const { request: _tooLong, ...rest } = data;
  const short = JSON.stringify({ ...rest, request: HIDDEN });
  return fitsEvent(short) ? short : undefined;
}

/** Counts bytes as they are stored, with quotes escaped: the API server takes no segment whose hundred events have more than 1.5 MB. */
function fitsEvent(text: string): boolean {
  return Buffer.byteLength(JSON.stringify(text)) <= MAX_EVENT_DATA;
}
