// Whether this process may serve: once everything that was expected at start has been seen. What comes later is staleness, not unreadiness.
import type { Watches } from "./watches.ts";

/** True when fulfilled, else a few words about what is missing (shown to operators; no secrets). */
export type Expectation = () => true | string;

export interface Readiness {
  /** Adds something that must be fulfilled before the process is ready the first time. */
  expect(name: string, fulfilled: Expectation): void;
  /** Asks the expectations until all have been fulfilled once; from then on the answer is ready, and they are forgotten. */
  check(): { ready: boolean; pending: { name: string; missing: string }[] };
}

export function createReadiness(): Readiness {
  const expectations = new Map<string, Expectation>();
  let opened = false;
  return {
    expect(name, fulfilled) {
      if (!opened) expectations.set(name, fulfilled);
    },
    check() {
      const pending: { name: string; missing: string }[] = [];
      for (const [name, fulfilled] of expectations) {
        const answer = fulfilled();
        if (answer === true) expectations.delete(name);
        else pending.push({ name, missing: answer });
      }
      opened ||= pending.length === 0;
      return { ready: opened, pending };
    },
  };
}

/** Every watch of the set is synced. A parked one is named with its reason. */
export function watchesSynced(watches: Pick<Watches, "status">): Expectation {
  return () => {
    const missing = watches.status().filter(({ synced }) => !synced);
    return missing.length === 0 || missing.map(({ resource, state, parkReason }) => `${resource} ${parkReason ?? state}`).join(", ");
  };
}
