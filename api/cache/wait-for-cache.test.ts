// A wait for the controllers' result outlives reads that fail meanwhile.
import { expect, test, vi } from "vitest";
import type { ResourceRef } from "../../kube/api/resource-ref.ts";
import type { ClusterCache } from "./cluster-cache.ts";
import { waitForCache } from "./wait-for-cache.ts";

test("a condition that throws, as a read of a parked watch does, is not true yet", async () => {
  vi.useFakeTimers();
  try {
    const listeners = new Set<() => void>();
    const onChange = (listener: () => void) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    };
    const cache = { store: () => ({ onChange }) } as unknown as Pick<ClusterCache, "store">;
    let read = (): boolean => {
      throw new Error("parked");
    };
    const condition = vi.fn(() => read());
    const waited = waitForCache(cache, [{ kind: "RoleBinding" } as ResourceRef], condition, 10_000);
    await vi.advanceTimersByTimeAsync(1_000);
    for (const listener of listeners) listener();
    expect(condition.mock.calls.length).toBeGreaterThan(10);
    read = () => true;
    await vi.advanceTimersByTimeAsync(100);
    expect(await waited).toBe(true);
    expect(listeners.size).toBe(0);
  } finally {
    vi.useRealTimers();
  }
});
