// The body of a request, as an audit event shows it: secrets and commands are replaced. Pure.
import { MAX_EVENT_DATA } from "../../../crds/audit-log/audit-log.ts";

const HIDDEN = "[PRIVATE DATA HIDDEN]";

/** Members whose value may be a secret, at any depth. */
const SECRET_KEYS = new Set([
  "var",
  "env",
  "environment_variables",
  "command",
  "password",
  "username",
  "credentials",
  "parameters",
]);

/** Levels of nesting that are kept. */
const MAX_DEPTH = 6;

/** `value` without secrets. */
export function redact(value: unknown, depth = 0): unknown {
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
  if (whole.length <= MAX_EVENT_DATA) return whole;
  const { request: _tooLong, ...rest } = data;
  const short = JSON.stringify({ ...rest, request: HIDDEN });
  return short.length <= MAX_EVENT_DATA ? short : undefined;
}
