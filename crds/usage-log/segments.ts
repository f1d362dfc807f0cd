// Segments of the usage log that are written whole, with events that are known already.
import { SYSTEM_NAMESPACE } from "../groups.ts";
import { newGUID } from "../guid.ts";
import { MAX_SEGMENT_EVENTS, type AppUsageEvent, type UsageLog } from "./usage-log.ts";

/** As many segments as the events need, in order. `purpose` ends their names. */
export function toSegments(
  events: readonly AppUsageEvent[],
  { writer, purpose }: { writer: string; purpose: string },
): Pick<UsageLog, "metadata" | "spec">[] {
  return Array.from({ length: Math.ceil(events.length / MAX_SEGMENT_EVENTS) }, (_none, at) => ({
    metadata: { name: `usage-${newGUID().slice(-12)}-${purpose}`, namespace: SYSTEM_NAMESPACE },
    spec: { writer, events: events.slice(at * MAX_SEGMENT_EVENTS, (at + 1) * MAX_SEGMENT_EVENTS) },
  }));
}
