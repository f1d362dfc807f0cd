// The app usage events that a caller can see: all of them, or none.
import { sortUsage } from "../../crds/usage-log/rules.ts";
import { UsageLog, type AppUsageEvent } from "../../crds/usage-log/usage-log.ts";
import type { Session } from "../access/session.ts";
import { isOneOf, listObjects } from "../lists/list-objects.ts";
import { unprocessable } from "../http/errors.ts";
import { timeFilter } from "../http/query.ts";
import { matchesTimeFilter } from "../http/timestamps.ts";

export interface UsageQuery {
  page: number;
  per_page: number;
  order_by?: string | undefined;
  guids?: string[] | undefined;
  after_guid?: string | undefined;
}

/** The sorted events of a list of segments: nothing is sorted again while the segments are the same. */
const cachedEvents = new WeakMap<readonly UsageLog[], readonly AppUsageEvent[]>();

/** All events that match: page them afterwards. @throws CFError 422 when `after_guid` names none */
export function listUsageEvents(session: Session, query: UsageQuery, url: string): readonly AppUsageEvent[] {
  const [path = ""] = url.split("?");
  const segments = listObjects(session, UsageLog, { page: 1, per_page: 1 }, { url: path });
  let events = cachedEvents.get(segments);
  if (!events) cachedEvents.set(segments, (events = sortUsage(segments.flatMap(({ spec }) => spec.events))));
  const from = query.after_guid === undefined ? 0 : indexAfter(events, query.after_guid, session);
  const found = from === 0 ? filtered(events, query) : filtered(events.slice(from), query);
  return query.order_by?.startsWith("-") ? found.toReversed() : found;
}

/** The same array without filters. */
function filtered(events: readonly AppUsageEvent[], query: UsageQuery): readonly AppUsageEvent[] {
  const created = timeFilter(query, "created_ats");
  if (!created && !query.guids) return events;
  return events.filter(
    ({ guid, at }) =>
      isOneOf(query.guids, guid) && (!created || matchesTimeFilter(created, Math.floor(Date.parse(at) / 1000))),
  );
}

/** A caller who reads no events gets an empty list, whatever the GUID, as in CF. */
function indexAfter(events: readonly AppUsageEvent[], guid: string, session: Session): number {
  const at = events.findIndex((event) => event.guid === guid);
  if (at < 0 && session.allows({ verb: "get", on: UsageLog }))
    throw unprocessable("After guid filter must be a valid app usage event guid.");
  return at + 1;
}
