// The end of a process: what it waits for, and for how long at most.
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { createShutdown, SHUTDOWN_TIMEOUT_MS } from "./shutdown.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test("waits for the stop, and exits with 0", async () => {
  const done = Promise.withResolvers<void>();
  const exit = vi.fn();
  const ending = createShutdown({ stop: () => done.promise, exit });
  expect(ending.signal.aborted).toBe(false);
  const ended = ending.trigger();
  expect(ending.signal.aborted).toBe(true);
  await vi.advanceTimersByTimeAsync(SHUTDOWN_TIMEOUT_MS - 1);
  expect(exit).not.toHaveBeenCalled();
  done.resolve();
  await ended;
  expect(exit.mock.calls).toEqual([[0]]);
});

test("a stop that hangs is given up in time, counted from the first signal", async () => {
  const exit = vi.fn();
  const ending = createShutdown({ stop: () => new Promise(() => undefined), exit });
  void ending.trigger();
  await vi.advanceTimersByTimeAsync(SHUTDOWN_TIMEOUT_MS / 2);
  void ending.trigger();
  await vi.advanceTimersByTimeAsync(SHUTDOWN_TIMEOUT_MS / 2 - 1);
  expect(exit).not.toHaveBeenCalled();
  await vi.advanceTimersByTimeAsync(1);
  expect(exit.mock.calls).toEqual([[1]]);
});

test("two signals stop it once", async () => {
  const stop = vi.fn(() => Promise.resolve());
  const ending = createShutdown({ stop, exit: () => undefined });
  await Promise.all([ending.trigger(), ending.trigger()]);
  expect(stop).toHaveBeenCalledOnce();
});

test("a signal during the start aborts it; a finished start is stopped", async () => {
  const exit = vi.fn();
  const platform: { stop?: () => Promise<void> } = {};
  const ending = createShutdown({ stop: () => platform.stop?.(), exit });
  await ending.trigger();
  expect(exit).not.toHaveBeenCalled();
  platform.stop = vi.fn(() => Promise.resolve());
  await ending.trigger();
  expect(platform.stop).toHaveBeenCalledOnce();
  expect(exit.mock.calls).toEqual([[0]]);
});
