// When a failed request is tried again.
import { expect, test } from "vitest";
import { retryAfterMs, retryDelay } from "./retry-delay.ts";

const now = Date.parse("2026-01-01T00:00:00Z");

test.each([
  ["no answer", { failures: 1, status: 0 }, 100],
  ["503, third failure", { failures: 3, status: 503 }, 400],
  ["the last failure", { failures: 5, status: 503 }, undefined],
  ["404", { failures: 1, status: 404 }, undefined],
  ["401", { failures: 1, status: 401 }, undefined],
  ["429 with seconds", { failures: 1, status: 429, retryAfter: "3" }, 3000],
  ["503 with a date", { failures: 1, status: 503, retryAfter: "Thu, 01 Jan 2026 00:00:05 GMT" }, 5000],
  ["longer than anybody waits", { failures: 1, status: 429, retryAfter: "3600" }, undefined],
  ["a Retry-After of the past", { failures: 1, status: 503, retryAfter: "Wed, 31 Dec 2025 00:00:00 GMT" }, 100],
  ["an unreadable one", { failures: 1, status: 503, retryAfter: "soon" }, 100],
])("%s", (_name, failure, milliseconds) => {
  expect(retryDelay(failure, now, 0)).toBe(milliseconds);
});

test("delays are spread by chance", () => {
  expect(retryDelay({ failures: 1, status: 500 }, now, 0.5)).toBe(150);
  expect(retryAfterMs(undefined, now)).toBe(0);
});
