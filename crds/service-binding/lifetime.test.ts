// Lifetimes of credentials as brokers tell them.
import { expect, test } from "vitest";
import { lifetimeAt, toLifetime } from "./lifetime.ts";

const [early, middle, late] = ["2026-01-01T00:00:00.000Z", "2026-02-01T00:00:00.000Z", "2026-03-01T00:00:00.000Z"];

test.each([
  [
    { expires_at: "2026-03-01T00:00:00.0Z", renew_before: "2026-02-01T00:00:00Z" },
    { expiresAt: late, renewBefore: middle },
  ],
  [{ expires_at: "tomorrow", renew_before: 7 }, {}],
  [{ expires_at: "2026-99-99T00:00:00Z" }, {}],
  ["text", {}],
  [null, {}],
])("%j", (metadata, lifetime) => {
  expect(toLifetime(metadata)).toEqual(lifetime);
});

test.each([
  [{}, middle, { state: "good" }],
  [{ expiresAt: late, renewBefore: middle }, early, { state: "good", nextAt: new Date(middle) }],
  [{ expiresAt: late, renewBefore: middle }, middle, { state: "due", nextAt: new Date(late) }],
  [{ expiresAt: middle }, late, { state: "expired" }],
])("%j at %s", (lifetime, now, state) => {
  expect(lifetimeAt(lifetime, new Date(now))).toEqual(state);
});
