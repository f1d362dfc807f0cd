// When a refused pull is a failure.
import { expect, test } from "vitest";
import { isFirstRefusal } from "./refused-pull.ts";

test.each([
  ["unexpected status from GET request to http://r/token: 401 Unauthorized", 0, true],
  ["unexpected status code 401", 1_000, true],
  ["pull access denied, repository does not exist or may require authorization", 19_999, true],
  ["no basic auth credentials", 15_000, true],
  ["unexpected status code 401", 20_000, false],
  ["403 Forbidden", 60_000, false],
  ["not found", 0, false],
  ["dial tcp 10.0.0.1:443: connect: connection refused", 0, false],
  ["sha256:4010 not found", 0, false],
])("%s after %i ms is a first refusal: %s", (message, waitedMs, expected) =>
  expect(isFirstRefusal(message, waitedMs)).toBe(expected),
);
