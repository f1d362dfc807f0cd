// A held read ends when its state changes, at its deadline, when the client goes away and on shutdown, and only so many are held.
import { expect, test, vi } from "vitest";
import type { ResourceRef } from "../../kube/api/resource-ref.ts";
import type { ClusterCache } from "./cluster-cache.ts";
import { createHeldReads } from "./held-reads.ts";

const ref = { kind: "Build" } as ResourceRef;

function bench(options = {}) {
  const listeners = new Set<() => void>();
  const subscribe = (listener: () => void) => {
    listeners.add(listener);
    return () => listeners.delete(listener);
  };
  const cache = { store: () => ({ onChange: subscribe, onStateChange: subscribe }) };
  const held = createHeldReads(cache as unknown as Pick<ClusterCache, "store">, options);
  const state = { underWay: true };
  const abort = new AbortController();
  let over = 0;
  const hold = (isUnderWay = () => state.underWay): Promise<void> =>
    held.holdWhile([ref], isUnderWay, { signal: abort.signal }).then(() => void over++);
  return {
    held,
    state,
    abort,
    hold,
    listeners,
    change: () => listeners.forEach((listener) => listener()),
    over: () => over,
  };
}

test("is answered at once when nothing is under way, or when that cannot be read", async () => {
  const { hold, state, listeners } = bench();
  state.underWay = false;
  await hold();
  await hold(() => {
    throw new Error("not synced");
  });
  expect(listeners.size).toBe(0);
});

test("is held over changes that leave it under way, and answered by the one that ends it", async () => {
  const { hold, state, change, over, listeners } = bench();
  const held = hold();
  change();
  await Promise.resolve();
  expect(over()).toBe(0);
  state.underWay = false;
  change();
  await held;
  expect(listeners.size).toBe(0);
});

test("ends when the client disconnects", async () => {
  const { hold, abort } = bench();
  const held = hold();
  abort.abort();
  await held;
});

test("is answered on shutdown, and nothing is held afterwards", async () => {
  const { hold, held } = bench();
  const one = hold();
  held.close();
  await one;
  await hold();
});

test("is answered at the deadline", async () => {
  vi.useFakeTimers();
  try {
    const { hold, over } = bench({ maxHoldMs: 1_000 });
    const held = hold();
    await vi.advanceTimersByTimeAsync(999);
    expect(over()).toBe(0);
    await vi.advanceTimersByTimeAsync(1);
    await held;
  } finally {
    vi.useRealTimers();
  }
});

test("beyond the bound is answered at once, and held again when there is room", async () => {
  const { hold, state, change, over } = bench({ maxHeld: 1 });
  const first = hold();
  await hold();
  expect(over()).toBe(1);
  state.underWay = false;
  change();
  await first;
  state.underWay = true;
  const third = hold();
  await Promise.resolve();
  expect(over()).toBe(2);
  state.underWay = false;
  change();
  await third;
});
