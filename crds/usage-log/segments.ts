// Segments of the usage log that are written whole, with events that are known already.
import { SYSTEM_NAMESPACE } from "../groups.ts";
import { newGUID } from "../guid.ts";
import { MAX_SEGMENT_EVENTS } from "./usage-log.ts";

/** A segment of either usage log. */
export type UsageSegment<Event> = {
  metadata: { name: string; namespace: string };
  spec: { writer: string; events: Event[] };
};

/** As many segments as the events need, in order. `purpose` ends their names. */
export function toSegments<Event>(
  events: readonly Event[],
  { writer, purpose }: { writer: string; purpose: string },
): UsageSegment<Event>[] {
  return Array.from({ length: Math.ceil(events.length / MAX_SEGMENT_EVENTS) }, (_none, at) => ({
    metadata: { name: `usage-${newGUID().slice(-12)}-${purpose}`, namespace: SYSTEM_NAMESPACE },
    spec: { writer, events: events.slice(at * MAX_SEGMENT_EVENTS, (at + 1) * MAX_SEGMENT_EVENTS) },
  }));
}
