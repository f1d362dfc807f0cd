// A process that stalled detects it before it answers.
import { afterEach, expect, test, vi } from "vitest";
import { createStallDetector } from "./stall-detector.ts";

afterEach(() => void vi.useRealTimers());

test.each([
  { name: "runs on", pause: 350, on: true, stalls: 0 },
  { name: "stood still", pause: 450, on: true, stalls: 1 },
  { name: "stood still, and nobody tells it anything", pause: 450, on: false, stalls: 0 },
])("a process that $name", ({ pause, on, stalls }) => {
  vi.useFakeTimers();
  const clock = { at: 0 };
  const onStall = vi.fn();
  const watch = createStallDetector(400, onStall, () => clock.at);
  watch.setEnabled(on);
  for (let tick = 0; tick < 10; tick++) {
    clock.at += 100;
    vi.advanceTimersByTime(100);
  }
  // No timer has run meanwhile: a request from the socket is handled first.
  clock.at += pause;
  watch.check();
  watch.check();
  expect(onStall).toHaveBeenCalledTimes(stalls);
  watch.close();
});
