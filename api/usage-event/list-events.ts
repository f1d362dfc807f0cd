// The usage events that a caller can see: all of them, or none.
import { sortUsage, type PlacedEvent } from "../../crds/usage-log/rules.ts";
import type { KubeObject } from "../../kube/api/object.ts";
import type { ResourceRef } from "../../kube/api/resource-ref.ts";
import type { Session } from "../access/session.ts";
import { isOneOf, listObjects } from "../lists/list-objects.ts";
import { notFound, unprocessable } from "../http/errors.ts";
import { timeFilter } from "../http/query.ts";
import { matchesTimeFilter } from "../http/timestamps.ts";

export interface UsageQuery {
  page: number;
  per_page: number;
  order_by?: string | undefined;
  guids?: string[] | undefined;
  after_guid?: string | undefined;
}

interface UsageEvent extends PlacedEvent {
  at: string;
}

/** A usage log: its kind, and what its events are called. */
export interface UsageEvents<Event extends UsageEvent> {
  ref: ResourceRef<KubeObject & { spec: { events: Event[] } }>;
  noun: string;
}

/** The sorted events of a list of segments: nothing is sorted again while the segments are the same. */
const cachedEvents = new WeakMap<readonly object[], readonly UsageEvent[]>();

/** All events that match: page them afterwards. @throws CFError 422 when `after_guid` names none */
export function listUsageEvents<Event extends UsageEvent>(
  session: Session,
  log: UsageEvents<Event>,
  query: UsageQuery,
  url: string,
): readonly Event[] {
  const [path = ""] = url.split("?");
  const segments = listObjects(session, log.ref, { page: 1, per_page: 1 }, { url: path });
  let events = cachedEvents.get(segments) as readonly Event[] | undefined;
  if (!events) cachedEvents.set(segments, (events = sortUsage(segments.flatMap(({ spec }) => spec.events))));
  const from = query.after_guid === undefined ? 0 : indexAfter(events, query.after_guid, { session, log });
  const found = from === 0 ? filtered(events, query) : filtered(events.slice(from), query);
  return query.order_by?.startsWith("-") ? found.toReversed() : found;
}

/** The same array without filters. */
function filtered<Event extends UsageEvent>(events: readonly Event[], query: UsageQuery): readonly Event[] {
  const created = timeFilter(query, "created_ats");
  if (!created && !query.guids) return events;
  return events.filter(
    ({ guid, at }) =>
      isOneOf(query.guids, guid) && (!created || matchesTimeFilter(created, Math.floor(Date.parse(at) / 1000))),
  );
}

/** A caller who reads no events gets an empty list, whatever the GUID, as in CF. */
function indexAfter<Event extends UsageEvent>(
  events: readonly Event[],
  guid: string,
  { session, log }: { session: Session; log: UsageEvents<Event> },
): number {
  const at = events.findIndex((event) => event.guid === guid);
  if (at < 0 && session.allows({ verb: "get", on: log.ref }))
    throw unprocessable(`After guid filter must be a valid ${log.noun} guid.`);
  return at + 1;
}

/** @throws CFError 404 */
export function getUsageEvent<Event extends UsageEvent>(
  session: Session,
  log: UsageEvents<Event>,
  guid: string,
): Event {
  const event = session
    .list(log.ref)
    .flatMap(({ spec }) => spec.events)
    .find((one) => one.guid === guid);
  if (!event) throw notFound(`${log.noun[0]?.toUpperCase() ?? ""}${log.noun.slice(1)}`);
  return event;
}
