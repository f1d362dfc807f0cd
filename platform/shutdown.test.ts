// The end of a process: what it waits for, and for how long at most.
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { createEnding, STOP_MS } from "./shutdown.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test("waits for the stop, and says that all is well", async () => {
  const done = Promise.withResolvers<void>();
  const exit = vi.fn();
  const ending = createEnding({ stop: () => done.promise, exit });
  expect(ending.signal.aborted).toBe(false);
  const ended = ending.end();
  expect(ending.signal.aborted).toBe(true);
  await vi.advanceTimersByTimeAsync(STOP_MS - 1);
  expect(exit).not.toHaveBeenCalled();
  done.resolve();
  await ended;
  expect(exit.mock.calls).toEqual([[0]]);
});

test("a stop that hangs is given up in time, counted from the first signal", async () => {
  const exit = vi.fn();
  const ending = createEnding({ stop: () => new Promise(() => undefined), exit });
  void ending.end();
  await vi.advanceTimersByTimeAsync(STOP_MS / 2);
  void ending.end();
  await vi.advanceTimersByTimeAsync(STOP_MS / 2 - 1);
  expect(exit).not.toHaveBeenCalled();
  await vi.advanceTimersByTimeAsync(1);
  expect(exit.mock.calls).toEqual([[1]]);
});

test("two signals stop it once", async () => {
  const stop = vi.fn(() => Promise.resolve());
  const ending = createEnding({ stop, exit: () => undefined });
  await Promise.all([ending.end(), ending.end()]);
  expect(stop).toHaveBeenCalledOnce();
});

test("told while it starts it gives the start up; one that was through already is stopped", async () => {
  const exit = vi.fn();
  const platform: { stop?: () => Promise<void> } = {};
  const ending = createEnding({ stop: () => platform.stop?.(), exit });
  await ending.end();
  expect(exit).not.toHaveBeenCalled();
  platform.stop = vi.fn(() => Promise.resolve());
  await ending.end();
  expect(platform.stop).toHaveBeenCalledOnce();
  expect(exit.mock.calls).toEqual([[0]]);
});
