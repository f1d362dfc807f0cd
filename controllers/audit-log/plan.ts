// Which segments of a namespace's audit events are too old to be kept. Pure.
import { type AuditLog, KEPT_EVENTS } from "../../crds/audit-log/audit-log.ts";

/** Segments that are kept at most, however few events they have: each restart of a replica begins a new one. */
const KEPT_SEGMENTS = 100;

/** The segments beyond one of the limits, oldest first. */
export function planExcessSegments(segments: readonly AuditLog[]): AuditLog[] {
  const newestFirst = segments
    .filter(({ metadata }) => !metadata.deletionTimestamp)
    .toSorted((one, other) => (lastGUID(one) < lastGUID(other) ? 1 : -1));
  let events = 0;
  const excess = newestFirst.filter((segment, at) => {
    const isExcess = events >= KEPT_EVENTS || at >= KEPT_SEGMENTS;
    events += segment.spec.events.length;
    return isExcess;
  });
  return excess.toReversed();
}

/** GUIDs of events sort by time. */
function lastGUID({ spec }: AuditLog): string {
  return spec.events.at(-1)?.guid ?? "";
}
