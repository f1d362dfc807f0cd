// The trace that a client's request belongs to, by W3C's header or B3's. Stock cf sends one B3 trace for a whole command.
import type { IncomingHttpHeaders } from "node:http";

const W3C = /^[0-9a-f]{2}-([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}/;
const B3 = /^(?:[0-9a-f]{16}|[0-9a-f]{32})$/i;
/** B3 in one header: `trace-span-sampled`. */
const B3_SINGLE = /^([0-9a-f]{16}|[0-9a-f]{32})-[0-9a-f]{16}(?:-|$)/i;

/** 32 hexadecimal digits, as W3C writes a trace; undefined without a valid header. Pure. */
export function traceIDOf(headers: IncomingHttpHeaders): string | undefined {
  const id = findID(headers)?.toLowerCase().padStart(32, "0");
  return id === undefined || /^0+$/.test(id) ? undefined : id;
}

function findID({ traceparent, b3, "x-b3-traceid": traceID = "" }: IncomingHttpHeaders): string | undefined {
  const w3c = W3C.exec(String(traceparent))?.[1];
  if (w3c !== undefined) return w3c;
  return B3.test(String(traceID)) ? String(traceID) : B3_SINGLE.exec(String(b3))?.[1];
}
