// Which segments of the usage log are too old to be kept, and which of their events are kept all the same. Pure.
import { sortUsage, type PlacedEvent } from "../../crds/usage-log/rules.ts";
import { KEPT_EVENTS } from "../../crds/usage-log/usage-log.ts";
import type { KubeObject } from "../../kube/api/object.ts";

/** Segments that are kept at most, however few events they have: each new leader begins one. */
const KEPT_SEGMENTS = 200;

/** A segment as it is stored. */
export type StoredSegment<Event> = Pick<KubeObject, "metadata"> & { spec: { events: readonly Event[] } };

export interface Compaction<Event, Segment> {
  remove: Segment[];
  /** Events of removed segments about what still runs, in order. They are written before the segments go. */
  carry: Event[];
}

/** Old segments go when less than half of their events are about what still runs, by `listOpen`. */
export function planCompaction<Event extends PlacedEvent, Segment extends StoredSegment<Event>>(
  segments: readonly Segment[],
  listOpen: (events: readonly Event[]) => Map<string, Event>,
): Compaction<Event, Segment> {
  const kept = segments.filter(({ metadata }) => !metadata.deletionTimestamp);
  const open = new Set([...listOpen(kept.flatMap(({ spec }) => spec.events)).values()].map(({ guid }) => guid));
  const openIn = ({ spec }: Segment): Event[] => spec.events.filter(({ guid }) => open.has(guid));
  const remove = listExcess(kept).filter((segment) => openIn(segment).length * 2 < segment.spec.events.length);
  return { remove, carry: sortUsage(remove.flatMap(openIn)) };
}

function listExcess<Segment extends StoredSegment<PlacedEvent>>(segments: readonly Segment[]): Segment[] {
  let events = 0;
  return segments
    .toSorted((one, other) => lastSequence(other) - lastSequence(one))
    .filter(({ spec }, at) => {
      const isExcess = events >= KEPT_EVENTS || at >= KEPT_SEGMENTS;
      events += spec.events.length;
      return isExcess;
    });
}

function lastSequence({ spec }: StoredSegment<PlacedEvent>): number {
  return spec.events.at(-1)?.sequence ?? 0;
}
