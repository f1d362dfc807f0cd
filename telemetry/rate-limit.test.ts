// The log rate limit of an instance.
import { expect, test } from "vitest";
import { createByteRate, rateLimit, rateLimitLine } from "./rate-limit.ts";

test("lines beyond the bytes of a second are dropped, which is said once a second", () => {
  let now = 0;
  const said: string[] = [];
  const allow = rateLimit(
    10,
    (limit) => said.push(rateLimitLine(limit)),
    () => now,
  );
  expect([allow(6), allow(4), allow(1), allow(1)]).toEqual([true, true, false, false]);
  expect(said).toEqual(["app instance exceeded log rate limit (10 bytes/sec)"]);
  now = 1_000;
  expect([allow(10), allow(1)]).toEqual([true, false]);
  expect(said).toHaveLength(2);
});

test("-1 is no limit, 0 lets nothing through", () => {
  const never = (): never => expect.unreachable();
  expect(rateLimit(-1, never)(1e9)).toBe(true);
  expect(rateLimit(0, () => undefined)(1)).toBe(false);
});

test("the rate is that since it was taken last", () => {
  let now = 0;
  const rate = createByteRate(() => now);
  rate.add(100);
  rate.add(100);
  now = 2_000;
  expect(rate.take()).toBe(100);
  now = 4_000;
  expect(rate.take()).toBe(0);
});
