// The table of Diego's crash policy, as the documentation states it.
import { describe, expect, it } from "vitest";
import { crashResetMs, planCrash, startRetryDelay } from "./crash-backoff.ts";

describe("planCrash", () => {
  const rows: [string, number, number, number, number | undefined][] = [
    ["1st crash: at once", 0, 0, 1, 0],
    ["2nd: at once", 1, 0, 2, 0],
    ["3rd: at once", 2, 0, 3, 0],
    ["4th: 30 s", 3, 0, 4, 30_000],
    ["5th: doubled", 4, 0, 5, 60_000],
    ["9th: 16 minutes", 8, 0, 9, 960_000],
    ["never longer than that", 30, 0, 31, 960_000],
    ["a short run does not reset the count", 6, crashResetMs - 1, 7, 240_000],
    ["a run of five minutes resets the count", 8, crashResetMs, 1, 0],
    ["the 200th is the last", 199, 0, 200, undefined],
  ];
  it.each(rows)("%s", (...[, before, ranMs, crashCount, delayMs]) => {
    expect(planCrash(before, ranMs)).toEqual({ crashCount, delayMs });
  });
});

it("a failed start is retried soon, and later every 30 s", () => {
  expect([1, 2, 3, 5, 6, 50].map(startRetryDelay)).toEqual([1000, 2000, 4000, 16_000, 30_000, 30_000]);
});
