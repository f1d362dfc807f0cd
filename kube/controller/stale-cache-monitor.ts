// Keys that do not get on because what they read is not, or not yet, what the server has. That is nothing for a moment; when it lasts, the watch is opened anew, and people are told.
import type { Logger } from "pino";
import type { Outcome } from "./workqueue.ts";

export interface Standstill {
  /** The key is to be tried again for that reason: when. `resource` is what is behind. */
  outrun(key: string, resource: string): Outcome;
  /** It got on, or stopped for a reason of its own. */
  passed(key: string): void;
  /** What is behind for so long that people are told; in order, the very same array while nothing changes. */
  readonly behind: readonly string[];
}

export interface StandstillOptions {
  /** Opens the watch of a kind anew where it was. */
  recheck: (resource: string) => void;
  log: Logger;
  /** Monotonic milliseconds. */
  now?: () => number;
}

/** A watch is behind by milliseconds; one that is silent for good notices it only when its time is over. */
const RECHECK_MS = 5_000;
const RECHECK_EVERY_MS = 30_000;
const TELL_MS = 30_000;

interface Held {
  resource: string;
  since: number;
  told: boolean;
}

export function createStandstill({ recheck, log, now = () => performance.now() }: StandstillOptions): Standstill {
  const held = new Map<string, Held>();
  const rechecked = new Map<string, number>();
  let behind: readonly string[] = [];

  const list = (): void => {
    behind = [...new Set([...held.values()].flatMap(({ told, resource }) => (told ? [resource] : [])))].sort();
  };
  const look = (key: string, one: Held): void => {
    const at = now();
    if (at - one.since >= RECHECK_MS && at - (rechecked.get(one.resource) ?? -Infinity) >= RECHECK_EVERY_MS) {
      rechecked.set(one.resource, at);
      recheck(one.resource);
    }
    if (at - one.since < TELL_MS || one.told) return;
    one.told = true;
    list();
    log.warn({ key, resource: one.resource, seconds: Math.round((at - one.since) / 1000) }, "an object waits for a cache that stays behind the API server; it is tried again");
  };
  return {
    outrun(key, resource) {
      const one = held.get(key) ?? { resource, since: now(), told: false };
      // What is named is what holds it up now.
      one.resource = resource;
      held.set(key, one);
      look(key, one);
      // What brings the cache level may be no event that wakes this key, so it must not wait ever longer.
      return now() - one.since < RECHECK_MS ? { then: "retry" } : { then: "again", afterMs: RECHECK_MS };
    },
    passed(key) {
      const one = held.get(key);
      held.delete(key);
      if (one?.told) list();
    },
    get behind() {
      return behind;
    },
  };
}
