// Waits for a condition with a deadline.
import { vi } from "vitest";

export const eventually = <T>(timeout: number, check: () => T | Promise<T>): Promise<T> =>
  vi.waitFor(check, { timeout, interval: 50 });
