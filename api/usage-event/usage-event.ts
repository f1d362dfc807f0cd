// Endpoints of usage events: `/v3/app_usage_events`, and `/v3/service_usage_events`, of which there are none yet.
import type { z } from "zod";
import { UsageLog, type AppUsageEvent } from "../../crds/usage-log/usage-log.ts";
import { SYSTEM_NAMESPACE } from "../../crds/groups.ts";
import { endpoint, ok, type Endpoint } from "../routing/endpoint.ts";
import { notFound } from "../http/errors.ts";
import { presentPage } from "../lists/page.ts";
import { csv, csvOf, listQuery, orderBy } from "../http/query.ts";
import type { Session } from "../access/session.ts";
import { listUsageEvents } from "./list-events.ts";
import { presentAppUsageEvent } from "./present.ts";
import { purgeAndReseed } from "./purge.ts";

const purgeRight = { verb: "delete", on: UsageLog } as const;

/** Members that the type of a list's query does not name. */
const UPDATED_FILTERS = {
  updated_ats: true,
  "updated_ats[lt]": true,
  "updated_ats[lte]": true,
  "updated_ats[gt]": true,
  "updated_ats[gte]": true,
};

/** Usage events are never updated, so CF takes no filter and no order by that time. */
function usageQuery<Filters extends z.ZodRawShape>(filters: Filters) {
  return listQuery(
    {
      ...filters,
      order_by: orderBy("created_at"),
      after_guid: csv
        .refine((list) => list.length === 1, { message: "filter accepts only one guid" })
        .transform(([guid = ""]) => guid)
        .optional(),
    },
    { labels: false },
  ).omit(UPDATED_FILTERS as object as Record<never, true>);
}

const appUsageQuery = usageQuery({});
const serviceUsageQuery = usageQuery({
  service_instance_types: csvOf("managed_service_instance", "user_provided_service_instance").optional(),
  service_offering_guids: csv.optional(),
});

/** Only who may delete the whole log may begin it anew. @throws CFError 403 */
function requirePurge(session: Session): void {
  session.authorize({ ...purgeRight, namespace: SYSTEM_NAMESPACE });
}

const appUsageEndpoints: readonly Endpoint[] = [
  endpoint({
    method: "GET",
    path: "/v3/app_usage_events",
    permission: "authenticated",
    lists: [UsageLog],
    query: appUsageQuery,
    badQueryError: "UnprocessableEntity",
    summary: "List app usage events",
    handler: ({ session, query, base, url }) =>
      ok(
        presentPage(listUsageEvents(session, query, url), { base, url, query }, (event: AppUsageEvent) =>
          presentAppUsageEvent(event, base),
        ),
      ),
  }),
  endpoint({
    method: "GET",
    path: "/v3/app_usage_events/:guid",
    permission: "authenticated",
    lists: [UsageLog],
    summary: "Get an app usage event",
    handler: ({ session, params, base }) => {
      const event = session
        .list(UsageLog)
        .flatMap(({ spec }) => spec.events)
        .find(({ guid }) => guid === params.guid);
      if (!event) throw notFound("App usage event");
      return ok(presentAppUsageEvent(event, base));
    },
  }),
  endpoint({
    method: "POST",
    path: "/v3/app_usage_events/actions/destructively_purge_all_and_reseed",
    permission: purgeRight,
    asks: [{ verb: "create", on: UsageLog }],
    summary: "Delete all app usage events, and begin anew with what runs now",
    handler: async ({ session }) => {
      requirePurge(session);
      await purgeAndReseed(session);
      return ok({});
    },
  }),
];

const serviceUsageEndpoints: readonly Endpoint[] = [
  endpoint({
    method: "GET",
    path: "/v3/service_usage_events",
    permission: "authenticated",
    query: serviceUsageQuery,
    badQueryError: "UnprocessableEntity",
    isAlwaysEmpty: true,
    summary: "List service usage events: always empty for now",
    handler: ({ query, base, url }) => ok(presentPage([], { base, url, query }, () => ({}))),
  }),
  endpoint({
    method: "GET",
    path: "/v3/service_usage_events/:guid",
    permission: "authenticated",
    isAlwaysEmpty: true,
    summary: "Get a service usage event: there are none for now",
    handler: () => {
      throw notFound("Service usage event");
    },
  }),
  endpoint({
    method: "POST",
    path: "/v3/service_usage_events/actions/destructively_purge_all_and_reseed",
    permission: purgeRight,
    asks: [{ verb: "create", on: UsageLog }],
    summary: "Delete all service usage events: there are none for now",
    handler: ({ session }) => {
      requirePurge(session);
      return ok({});
    },
  }),
];

export const usageEventEndpoints: readonly Endpoint[] = [...appUsageEndpoints, ...serviceUsageEndpoints];
