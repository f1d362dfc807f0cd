// The audit events that a caller can see: those of the AuditLogs in namespaces where the caller may read them.
import { AuditLog, type AuditEvent } from "../../crds/audit-log/audit-log.ts";
import { eventIdentity } from "../../crds/guid.ts";
import { placeOf } from "../cache/change-log.ts";
import type { ItemOrder } from "../lists/listed-items.ts";
import { isOneOf, listItems } from "../lists/list-objects.ts";
import { timeFilter } from "../http/query.ts";
import { matchesTimeFilter } from "../http/timestamps.ts";
import type { Session } from "../access/session.ts";

/** The filters of the list; values of one filter are alternatives. */
export interface EventQuery {
  page: number;
  per_page: number;
  order_by?: string | undefined;
  guids?: string[] | undefined;
  types?: string[] | undefined;
  target_guids?: string[] | undefined;
  "target_guids[not]"?: string[] | undefined;
  space_guids?: string[] | undefined;
  organization_guids?: string[] | undefined;
}

/** All visible events that match, sorted: page them afterwards. */
export function listEvents(session: Session, query: EventQuery, url: string): readonly AuditEvent[] {
  const [target, ...others] = query.target_guids ?? [];
  // Made when events are filtered: a remembered list filters none.
  let filter: ((event: AuditEvent) => boolean) | undefined;
  const matches = (event: AuditEvent): boolean => (filter ??= toFilter(query))(event);
  const order = query.order_by?.startsWith("-") ? newestFirst : oldestFirst;
  if (target !== undefined && others.length === 0)
    return eventsIn(session.list(AuditLog, { index: ["target", target] }), matches, order);
  return withoutDoubles(
    listItems(session, {
      ref: AuditLog,
      url,
      findAll: (segments) => eventsIn(segments, matches, order),
      itemsOf: (segment) => eventsOf(segment).filter(matches),
      order,
    }),
    order,
  );
}

/** The visible event with that GUID. */
export function findEvent(session: Session, guid: string): AuditEvent | undefined {
  for (const { spec } of session.list(AuditLog)) {
    const found = spec.events.find((event) => event.guid === guid);
    if (found) return found;
  }
  return undefined;
}

/** Where an event that was listed is written: a segment, and the place there. */
interface EventPlace {
  uid: string;
  segment: string;
  index: number;
}
const eventPlaces = new WeakMap<AuditEvent, EventPlace>();
const nowhere: EventPlace = { uid: "", segment: "", index: 0 };

function eventsOf(segment: AuditLog): readonly AuditEvent[] {
  const { events } = segment.spec;
  for (const [index, event] of events.entries())
    eventPlaces.set(event, { uid: segment.metadata.uid ?? "", segment: placeOf(segment), index });
  return events;
}

function eventsIn(
  segments: readonly AuditLog[],
  matches: (event: AuditEvent) => boolean,
  order: EventOrder,
): readonly AuditEvent[] {
  return withoutDoubles(segments.flatMap((segment) => eventsOf(segment).filter(matches)).sort(order.compare), order);
}

/** Lists without doubles, by the list that they were found in. */
const singles = new WeakMap<readonly AuditEvent[], readonly AuditEvent[]>();

/**
 * An event whose first write had no answer may be in two segments, at the same time; one that two leaders recorded, or the API and a leader, at two times.
 * The oldest is shown. The same array where there is no double.
 */
function withoutDoubles(events: readonly AuditEvent[], order: EventOrder): readonly AuditEvent[] {
  let found = singles.get(events);
  if (!found) singles.set(events, (found = findSingles(events, order)));
  return found;
}

function findSingles(events: readonly AuditEvent[], order: EventOrder): readonly AuditEvent[] {
  if (order === newestFirst) {
    const oldest = findSingles(events.toReversed(), oldestFirst);
    return oldest.length === events.length ? events : oldest.toReversed();
  }
  let at = "";
  const seen = new Set<string>();
  const recorded = new Set<string>();
  const isFirst = (event: AuditEvent): boolean => {
    const identity = eventIdentity(event.guid);
    if (identity !== event.guid) return recorded.size !== recorded.add(identity).size;
    if (event.at !== at) {
      at = event.at;
      seen.clear();
    }
    return seen.size !== seen.add(event.guid).size;
  };
  const found = events.filter(isFirst);
  return found.length === events.length ? events : found;
}

function toFilter(query: EventQuery): (event: AuditEvent) => boolean {
  const created = timeFilter(query, "created_ats");
  const updated = timeFilter(query, "updated_ats");
  const excluded = query["target_guids[not]"];
  return ({ guid, type, target, spaceGUID = "", orgGUID = "", at }) =>
    isOneOf(query.guids, guid) &&
    isOneOf(query.types, type) &&
    isOneOf(query.target_guids, target.guid) &&
    !excluded?.includes(target.guid) &&
    isOneOf(query.space_guids, spaceGUID) &&
    isOneOf(query.organization_guids, orgGUID) &&
    [created, updated].every((filter) => !filter || matchesTimeFilter(filter, Math.floor(Date.parse(at) / 1000)));
}

type EventOrder = ItemOrder<AuditEvent>;

/** By time. Events of the same millisecond stay in the order in which they were written. */
const oldestFirst: EventOrder = {
  compare(one, other) {
    if (one.at !== other.at) return compareText(one.at, other.at);
    const [first, second] = [eventPlaces.get(one) ?? nowhere, eventPlaces.get(other) ?? nowhere];
    return compareText(first.segment, second.segment) || first.index - second.index;
  },
  ownerOf: (event) => (eventPlaces.get(event) ?? nowhere).uid,
};
const newestFirst: EventOrder = { ...oldestFirst, compare: (one, other) => oldestFirst.compare(other, one) };

function compareText(one: string, other: string): number {
  return one < other ? -1 : one > other ? 1 : 0;
}
