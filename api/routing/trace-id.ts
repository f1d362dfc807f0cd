// The trace that a client's request belongs to, by W3C's header or B3's. Stock cf sends one B3 trace for a whole command, and leaves open whether it is kept.
import type { IncomingHttpHeaders } from "node:http";
import { isZero, parseTraceparent, type TraceContext } from "../../kube/tracing/trace-context.ts";

const B3_TRACE = /^(?:[0-9a-f]{16}|[0-9a-f]{32})$/i;
const B3_SPAN = /^[0-9a-f]{16}$/i;
/** B3 in one header: `trace-span-sampled-parent`. */
const B3_SINGLE = /^([0-9a-f]{16}|[0-9a-f]{32})-([0-9a-f]{16})(?:-([01d]))?(?:-|$)/i;
const DECISIONS: Readonly<Record<string, boolean>> = { "0": false, "1": true, d: true, true: true, false: false };

/** 32 hexadecimal digits, as W3C writes a trace; undefined without a valid header. Pure. */
export function traceIDOf(headers: IncomingHttpHeaders): string | undefined {
  return traceContextOf(headers)?.traceId;
}

/** The client's span; undefined without a valid header. Pure. */
export function traceContextOf(headers: IncomingHttpHeaders): TraceContext | undefined {
  const { traceparent } = headers;
  return parseTraceparent(typeof traceparent === "string" ? traceparent : undefined) ?? findB3(headers);
}

function findB3(headers: IncomingHttpHeaders): TraceContext | undefined {
  const [id, span, decision] = splitB3(headers);
  if (!B3_TRACE.test(id) || isZero(id)) return undefined;
  const traceId = id.toLowerCase().padStart(32, "0");
  // A client without a span of its own stands for the whole trace, as in B3 the first span has the trace's own digits.
  const spanId = B3_SPAN.test(span) && !isZero(span) ? span.toLowerCase() : traceId.slice(16);
  return isZero(spanId) ? undefined : { traceId, spanId, sampled: DECISIONS[decision] };
}

function splitB3(headers: IncomingHttpHeaders): [trace: string, span: string, decision: string] {
  const [, trace, span = "", decision = ""] = B3_SINGLE.exec(String(headers["b3"])) ?? [];
  if (headers["x-b3-traceid"] === undefined && trace !== undefined) return [trace, span, decision.toLowerCase()];
  const isDebug = headers["x-b3-flags"] === "1";
  return [
    String(headers["x-b3-traceid"]),
    String(headers["x-b3-spanid"]),
    isDebug ? "1" : String(headers["x-b3-sampled"]),
  ];
}
