// Runs that settle: one for many changes, and another for those during a run.
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { coalesceRuns } from "./coalesced-runs.ts";

const options = { settleMs: 20, retryMs: 500, onError: () => undefined };

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test("changes that come together are one run; one that comes during a run is another, after it", async () => {
  const ends: (() => void)[] = [];
  const change = coalesceRuns(() => new Promise<void>((resolve) => ends.push(resolve)), options);
  change();
  change();
  await vi.advanceTimersByTimeAsync(20);
  expect(ends).toHaveLength(1);
  change();
  await vi.advanceTimersByTimeAsync(20);
  expect(ends).toHaveLength(1);
  ends[0]?.();
  await vi.advanceTimersByTimeAsync(0);
  expect(ends).toHaveLength(2);
});

test("a failed run is repeated", async () => {
  const run = vi.fn<() => Promise<void>>().mockRejectedValueOnce(new Error("no")).mockResolvedValue();
  coalesceRuns(run, options)();
  await vi.advanceTimersByTimeAsync(520);
  expect(run).toHaveBeenCalledTimes(2);
});
