// Texts of traceparent, well-formed and not.
import { expect, test } from "vitest";
import { formatTraceparent, parseTraceparent } from "./trace-context.ts";

const TRACE = "0123456789abcdef0123456789abcdef";
const SPAN = "0123456789abcdef";

test.each([
  ["sampled", `00-${TRACE}-${SPAN}-01`, { traceId: TRACE, spanId: SPAN, sampled: true }],
  ["not sampled, with an unknown flag", `00-${TRACE}-${SPAN}-02`, { traceId: TRACE, spanId: SPAN, sampled: false }],
  ["a later version with more fields", `01-${TRACE}-${SPAN}-01-more`, { traceId: TRACE, spanId: SPAN, sampled: true }],
  ["version 00 with more fields", `00-${TRACE}-${SPAN}-01-more`, undefined],
  ["the version that is forbidden", `ff-${TRACE}-${SPAN}-01`, undefined],
  ["a trace of zeros", `00-${"0".repeat(32)}-${SPAN}-01`, undefined],
  ["a span of zeros", `00-${TRACE}-${"0".repeat(16)}-01`, undefined],
  ["capitals", `00-${TRACE.toUpperCase()}-${SPAN}-01`, undefined],
  ["a line break", `00-${TRACE}-${SPAN}-01\n`, undefined],
  ["nothing", undefined, undefined],
])("%s", (_what, text, expected) => expect(parseTraceparent(text)).toEqual(expected));

test("its own text", () => {
  const text = `00-${TRACE}-${SPAN}-01`;
  expect(formatTraceparent(parseTraceparent(text)!)).toBe(text);
});
