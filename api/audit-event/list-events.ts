// The audit events that a caller can see: those of the AuditLogs in namespaces where the caller may read them.
import { AuditLog, type AuditEvent } from "../../crds/audit-log/audit-log.ts";
import { isOneOf, listObjects } from "../cache/list-objects.ts";
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

/** The events of a list of segments: nothing is filtered or sorted again while the segments are the same. */
const cachedEvents = new WeakMap<readonly AuditLog[], readonly AuditEvent[]>();

/** All visible events that match, sorted: page them afterwards. */
export function listEvents(session: Session, query: EventQuery, url: string): readonly AuditEvent[] {
  const [target, ...others] = query.target_guids ?? [];
  const segments = listObjects(
    session,
    AuditLog,
    { page: query.page, per_page: query.per_page },
    { url, ...(target !== undefined && others.length === 0 && { scope: { index: ["target", target] as const } }) },
  );
  let events = cachedEvents.get(segments);
  if (!events) cachedEvents.set(segments, (events = sorted(matchingEvents(segments, query), query.order_by)));
  return events;
}

/** The visible event with that GUID. */
export function findEvent(session: Session, guid: string): AuditEvent | undefined {
  for (const { spec } of session.list(AuditLog)) {
    const found = spec.events.find((event) => event.guid === guid);
    if (found) return found;
  }
  return undefined;
}

/** An event whose first write had no answer may be in two segments. */
function matchingEvents(segments: readonly AuditLog[], query: EventQuery): AuditEvent[] {
  const matches = toFilter(query);
  const events = segments.flatMap(({ spec }) => spec.events.filter(matches));
  return [...new Map(events.map((event) => [event.guid, event])).values()];
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

/** By time. Events of the same millisecond stay in the order in which they were written. */
function sorted(events: AuditEvent[], orderBy: string | undefined): AuditEvent[] {
  events.sort((one, other) => (one.at < other.at ? -1 : one.at > other.at ? 1 : 0));
  return orderBy?.startsWith("-") ? events.reverse() : events;
}
