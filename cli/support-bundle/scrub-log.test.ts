// Lines of our log: which fields stay.
import { expect, test } from "vitest";
import { scrubLine } from "./scrub-log.ts";

test("keeps allowed fields, numbers, and the frames of a stack", () => {
  const line = JSON.stringify({
    level: "error",
    time: "2026-11-27T20:00:00.000Z",
    msg: "a request failed",
    endpoint: "GET /v3/apps/:guid",
    status: 502,
    header: "Bearer abc",
    body: { password: "abc" },
    err: {
      type: "Error",
      message: "broker https://u:abc@example.org is away",
      stack: "Error: secret abc\n    at run (file:///app/a.js:1:2)",
      extra: "abc",
    },
  });
  expect(JSON.parse(scrubLine(line))).toEqual({
    level: "error",
    time: "2026-11-27T20:00:00.000Z",
    msg: "a request failed",
    endpoint: "GET /v3/apps/:guid",
    status: 502,
    header: "***",
    body: "***",
    err: {
      type: "Error",
      message: "broker https://***:***@example.org is away",
      stack: "    at run (file:///app/a.js:1:2)",
    },
  });
});

test("a line that is no JSON is scrubbed as text", () => {
  expect(scrubLine("{ password: 'abc' ")).toBe("{ password: *** ");
});

test("IDs of requests stay, so that logs can be joined; other text in their place does not", () => {
  const [traceId, requestId] = ["0123456789abcdef0123456789abcdef", "0123456789abcdef0123456789abcdef::b2b72c6f"];
  expect(JSON.parse(scrubLine(JSON.stringify({ traceId, requestId })))).toEqual({ traceId, requestId });
  expect(JSON.parse(scrubLine('{"requestId":"a b"}'))).toEqual({ requestId: "***" });
});
