// Which segments of the usage log are too old to be kept, and which of their events are kept all the same. Pure.
import { listOpenUsage, sortUsage } from "../../crds/usage-log/rules.ts";
import { type AppUsageEvent, KEPT_EVENTS, type UsageLog } from "../../crds/usage-log/usage-log.ts";

/** Segments that are kept at most, however few events they have: each new leader begins one. */
const KEPT_SEGMENTS = 200;

export interface Compaction {
  remove: UsageLog[];
  /** Events of removed segments about what still runs, in order. They are written before the segments go. */
  carry: AppUsageEvent[];
}

/** Old segments go when less than half of their events are about what still runs. */
export function planCompaction(segments: readonly UsageLog[]): Compaction {
  const kept = segments.filter(({ metadata }) => !metadata.deletionTimestamp);
  const open = new Set([...listOpenUsage(kept.flatMap(({ spec }) => spec.events)).values()].map(({ guid }) => guid));
  const openIn = ({ spec }: UsageLog): AppUsageEvent[] => spec.events.filter(({ guid }) => open.has(guid));
  const remove = listExcess(kept).filter((segment) => openIn(segment).length * 2 < segment.spec.events.length);
  return { remove, carry: sortUsage(remove.flatMap(openIn)) };
}

function listExcess(segments: readonly UsageLog[]): UsageLog[] {
  let events = 0;
  return segments
    .toSorted((one, other) => lastSequence(other) - lastSequence(one))
    .filter(({ spec }, at) => {
      const isExcess = events >= KEPT_EVENTS || at >= KEPT_SEGMENTS;
      events += spec.events.length;
      return isExcess;
    });
}

function lastSequence({ spec }: UsageLog): number {
  return spec.events.at(-1)?.sequence ?? 0;
}
