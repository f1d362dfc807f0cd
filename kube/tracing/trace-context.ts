// A place in a trace, and its text as W3C's traceparent. Foreign texts are untrusted: anything malformed is no context.

export interface TraceContext {
  /** 32 hexadecimal digits. */
  traceId: string;
  /** 16 hexadecimal digits: the span that the next one belongs to. */
  spanId: string;
  /** Whether the spans of the trace are kept; undefined where nobody has decided. */
  sampled: boolean | undefined;
}

/** Version 00 has four fields, a later one may have more; ff is forbidden. */
const TRACEPARENT =
  /^(?!ff)[0-9a-f]{2}-(?<traceId>[0-9a-f]{32})-(?<spanId>[0-9a-f]{16})-(?<flags>[0-9a-f]{2})(?:$|(?<!^00.*)-.{0,256}$)/;
const SAMPLED = 1;

/** Undefined for a text that W3C's Trace Context does not allow. Pure. */
export function parseTraceparent(text: string | undefined): TraceContext | undefined {
  const { traceId = "", spanId = "", flags = "" } = TRACEPARENT.exec(text ?? "")?.groups ?? {};
  if (isZero(traceId) || isZero(spanId)) return undefined;
  return { traceId, spanId, sampled: (parseInt(flags, 16) & SAMPLED) !== 0 };
}

export function formatTraceparent({ traceId, spanId, sampled }: TraceContext): string {
  return `00-${traceId}-${spanId}-${sampled ? "01" : "00"}`;
}

/** IDs of zeros mean none. */
export function isZero(id: string): boolean {
  return /^0*$/.test(id);
}
