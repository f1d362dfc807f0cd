// A line of our own log with allowed fields only: all other strings become `***`. Pure.
import { MASK, scrubText } from "./scrub-text.ts";

/** Fields whose text the platform chooses, or that hold the name of an object. */
const KEPT: ReadonlySet<string> = new Set([
  ...["time", "level", "version", "operations", "replica", "controller", "kind", "namespace"],
  ...["name", "guid", "method", "endpoint", "user", "lease", "resource", "operation", "reason", "class", "webhook"],
]);
/** IDs of requests. The API makes them of these letters, and a scrubbed one would join no logs. */
const IDS: ReadonlySet<string> = new Set(["requestId", "traceId"]);
const ID = /^[\w:-]{1,300}$/;
/** Free text. */
const SCRUBBED: ReadonlySet<string> = new Set(["msg", "message"]);

export function scrubLine(line: string): string {
  const fields = parse(line);
  return fields ? JSON.stringify(keepFields(fields)) : scrubText(line);
}

function parse(line: string): Record<string, unknown> | undefined {
  if (!line.startsWith("{")) return undefined;
  try {
    return JSON.parse(line) as Record<string, unknown>;
  } catch {
    return undefined; // a line that was cut, or of another program
  }
}

function keepFields(fields: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).map(([key, value]) => [key, keepValue(key, value)]));
}

function keepValue(key: string, value: unknown): unknown {
  if (typeof value === "number" || typeof value === "boolean" || value === null) return value;
  if (key === "err" && typeof value === "object") return keepError(value as Record<string, unknown>);
  return typeof value === "string" ? keepText(key, value) : MASK;
}

function keepText(key: string, text: string): string {
  if (IDS.has(key)) return ID.test(text) ? text : MASK;
  return SCRUBBED.has(key) || KEPT.has(key) ? scrubText(text) : MASK;
}

/** A stack keeps its frames alone, since it begins with the message. */
function keepError({ type, code, message, stack, cause }: Record<string, unknown>): Record<string, unknown> {
  const frames = typeof stack === "string" ? stack.split("\n").filter((line) => /^\s+at /.test(line)) : [];
  return {
    ...(typeof type === "string" && { type }),
    ...((typeof code === "string" || typeof code === "number") && { code }),
    ...(typeof message === "string" && { message: scrubText(message) }),
    ...(frames.length > 0 && { stack: frames.join("\n") }),
    ...(typeof cause === "object" && cause !== null && { cause: keepError(cause as Record<string, unknown>) }),
  };
}
