// Audit events that this process has just recorded: a read of events waits for the caller's own, as in CF, where an event is written with its change.
import { AuditLog, type AuditEvent } from "../../../crds/audit-log/audit-log.ts";
import type { ClusterCache } from "../../cache/cluster-cache.ts";
import { waitForCache } from "../../cache/wait-for-cache.ts";

/** Longest wait for an event after it was recorded, milliseconds: twice the time between two writes of events. */
const MAX_AGE_MS = 2_000;
/** Events of all callers; beyond that a read does not wait for the oldest. */
const MAX_EVENTS = 2_000;

interface RecentEvent {
  caller: string;
  event: AuditEvent;
  /** On the clock of `performance.now`. */
  recordedAt: number;
}

export interface RecentEvents {
  add(caller: string, event: AuditEvent): void;
  /** Resolves once the cache has the events that this caller's requests recorded, or when they are too old to wait for; undefined when there are none. */
  waitFor(caller: string): Promise<void> | undefined;
}

export function createRecentEvents(cache: Pick<ClusterCache, "store">): RecentEvents {
  /** Oldest first. */
  let recent: RecentEvent[] = [];

  function isWritten({ event }: RecentEvent): boolean {
    for (const { spec } of cache.store(AuditLog).byIndex("target", event.target.guid))
      if (spec.events.some(({ guid }) => guid === event.guid)) return true;
    return false;
  }

  return {
    add(caller, event) {
      const now = performance.now();
      const first = recent.findIndex(({ recordedAt }) => now - recordedAt < MAX_AGE_MS);
      recent = first === -1 ? [] : recent.slice(Math.max(first, recent.length - MAX_EVENTS + 1));
      recent.push({ caller, event, recordedAt: now });
    },
    waitFor(caller) {
      const own = recent.filter((one) => one.caller === caller && !isWritten(one));
      const newest = own.at(-1);
      if (!newest) return undefined;
      const leftMs = newest.recordedAt + MAX_AGE_MS - performance.now();
      return leftMs > 0
        ? waitForCache(cache, [AuditLog], () => own.every(isWritten), leftMs).then(() => undefined)
        : undefined;
    },
  };
}
