// Headers of traces, and what is none.
import { expect, test } from "vitest";
import { traceContextOf, traceIDOf } from "./trace-id.ts";

const ID = "0af7651916cd43dd8448eb211c80319c";
const SPAN = "b7ad6b7169203331";

test.each([
  ["W3C", { traceparent: `00-${ID}-${SPAN}-01` }, ID],
  ["B3, as stock cf sends it", { "x-b3-traceid": ID, "x-b3-spanid": SPAN }, ID],
  ["B3 in one header", { b3: `${ID}-${SPAN}-1` }, ID],
  ["a short B3 ID, in capitals", { "x-b3-traceid": SPAN.toUpperCase() }, `${"0".repeat(16)}${SPAN}`],
  ["W3C before B3", { traceparent: `00-${ID}-${SPAN}-01`, "x-b3-traceid": SPAN }, ID],
  ["zeros", { "x-b3-traceid": "0".repeat(32) }, undefined],
  ["another text", { "x-b3-traceid": `${ID}"\n` }, undefined],
  ["no header", {}, undefined],
])("%s", (_what, headers, expected) => expect(traceIDOf(headers)).toBe(expected));

test.each([
  ["the client's span and its decision", { traceparent: `00-${ID}-${SPAN}-00` }, SPAN, false],
  ["B3 that leaves the decision open", { "x-b3-traceid": ID, "x-b3-spanid": SPAN }, SPAN, undefined],
  ["B3 with a decision", { "x-b3-traceid": ID, "x-b3-spanid": SPAN, "x-b3-sampled": "0" }, SPAN, false],
  ["B3 for debugging", { "x-b3-traceid": ID, "x-b3-spanid": SPAN, "x-b3-flags": "1" }, SPAN, true],
  ["B3 in one header with a decision", { b3: `${ID}-${SPAN}-d` }, SPAN, true],
  ["B3 in one header without", { b3: `${ID}-${SPAN}` }, SPAN, undefined],
  ["B3 without a span", { "x-b3-traceid": ID }, ID.slice(16), undefined],
])("%s: span %s", (_what, headers, spanId, sampled) =>
  expect(traceContextOf(headers)).toEqual({ traceId: ID, spanId, sampled }),
);
