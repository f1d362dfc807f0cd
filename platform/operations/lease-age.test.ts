// The age of another machine's Lease counts by this machine's clock from the first change on.
import { expect, test } from "vitest";
import { toLeaseAge } from "./lease-age.ts";

test("a clock that is wrong makes no agent silent for longer than until its next sign", () => {
  let now = Date.parse("2026-01-01T12:00:00Z");
  const age = toLeaseAge(() => new Date(now));
  expect(age(undefined)).toBe(Infinity);
  expect(age("2026-01-01T11:00:00Z")).toBe(3_600_000);
  now += 20_000;
  expect(age("2026-01-01T11:00:20Z")).toBe(0);
  now += 30_000;
  expect(age("2026-01-01T11:00:20Z")).toBe(30_000);
});

test("a Lease from the future is as old as its first sight", () => {
  let now = Date.parse("2026-01-01T12:00:00Z");
  const age = toLeaseAge(() => new Date(now));
  expect(age("2026-01-01T13:00:00Z")).toBe(0);
  now += 90_000;
  expect(age("2026-01-01T13:00:00Z")).toBe(90_000);
});
