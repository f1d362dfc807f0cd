// Which errors of a pull stay, and when a refused one is a failure.
import { expect, test } from "vitest";
import { isFirstRefusal, isPermanentPullError } from "./refused-pull.ts";

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
  ['Head "https://r/v2/shop/manifests/401": dial tcp: connection refused', 0, false],
])("%s after %i ms is a first refusal: %s", (message, waitedMs, expected) =>
  expect(isFirstRefusal(message, waitedMs)).toBe(expected),
);

test.each([
  ["unexpected status code 401", true],
  ["error parsing HTTP 403 response body", true],
  ["403 Forbidden", true],
  ["no basic auth credentials", true],
  ["r/shop:1: not found", true],
  ["manifest unknown", true],
  ["name unknown: repository not known to registry", true],
  ["no match for platform in manifest", true],
  ["dial tcp 10.0.0.1:443: connect: connection refused", false],
  ['Head "https://r/v2/shop/manifests/401": dial tcp: i/o timeout', false],
  ["unexpected status code 500", false],
])("%s is permanent: %s", (message, expected) => expect(isPermanentPullError(message)).toBe(expected));
