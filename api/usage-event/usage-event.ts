// Endpoints of usage events: `/v3/app_usage_events` and `/v3/service_usage_events`.
import type { z } from "zod";
import { ServiceUsageLog, type ServiceUsageEvent } from "../../crds/service-usage-log/service-usage-log.ts";
import { UsageLog, type AppUsageEvent } from "../../crds/usage-log/usage-log.ts";
import { SYSTEM_NAMESPACE } from "../../crds/groups.ts";
import { endpoint, ok, type Endpoint } from "../routing/endpoint.ts";
import { presentPage } from "../lists/page.ts";
import { csv, csvOf, listQuery, orderBy } from "../http/query.ts";
import type { Session } from "../access/session.ts";
import { isOneOf } from "../lists/list-objects.ts";
import { getUsageEvent, listUsageEvents, type UsageEvents } from "./list-events.ts";
import { INSTANCE_TYPES, presentAppUsageEvent, presentServiceUsageEvent } from "./present.ts";
import { purgeAndReseed, purgeAndReseedServices } from "./purge.ts";

const appUsage: UsageEvents<AppUsageEvent> = { ref: UsageLog, noun: "app usage event" };
const serviceUsage: UsageEvents<ServiceUsageEvent> = { ref: ServiceUsageLog, noun: "service usage event" };
const purgeRight = { verb: "delete", on: UsageLog } as const;
const servicePurgeRight = { verb: "delete", on: ServiceUsageLog } as const;

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
  service_instance_types: csvOf(INSTANCE_TYPES.managed, INSTANCE_TYPES["user-provided"]).optional(),
  service_offering_guids: csv.optional(),
});

/** Only who may delete the whole log may begin it anew. @throws CFError 403 */
function requirePurge(session: Session, right: typeof purgeRight | typeof servicePurgeRight): void {
  session.authorize({ ...right, namespace: SYSTEM_NAMESPACE });
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
        presentPage(listUsageEvents(session, appUsage, query, url), { base, url, query }, (event: AppUsageEvent) =>
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
    handler: ({ session, params, base }) =>
      ok(presentAppUsageEvent(getUsageEvent(session, appUsage, params.guid), base)),
  }),
  endpoint({
    method: "POST",
    path: "/v3/app_usage_events/actions/destructively_purge_all_and_reseed",
    permission: purgeRight,
    asks: [{ verb: "create", on: UsageLog }],
    summary: "Delete all app usage events, and begin anew with what runs now",
    handler: async ({ session }) => {
      requirePurge(session, purgeRight);
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
    lists: [ServiceUsageLog],
    query: serviceUsageQuery,
    badQueryError: "UnprocessableEntity",
    summary: "List service usage events",
    handler: ({ session, query, base, url }) => {
      const { service_instance_types: types, service_offering_guids: offerings } = query;
      const events = listUsageEvents(session, serviceUsage, query, url);
      const found =
        types || offerings
          ? events.filter(
              ({ type, offering }) => isOneOf(types, INSTANCE_TYPES[type]) && isOneOf(offerings, offering?.guid ?? ""),
            )
          : events;
      return ok(presentPage(found, { base, url, query }, (event) => presentServiceUsageEvent(event, base)));
    },
  }),
  endpoint({
    method: "GET",
    path: "/v3/service_usage_events/:guid",
    permission: "authenticated",
    lists: [ServiceUsageLog],
    summary: "Get a service usage event",
    handler: ({ session, params, base }) =>
      ok(presentServiceUsageEvent(getUsageEvent(session, serviceUsage, params.guid), base)),
  }),
  endpoint({
    method: "POST",
    path: "/v3/service_usage_events/actions/destructively_purge_all_and_reseed",
    permission: servicePurgeRight,
    asks: [{ verb: "create", on: ServiceUsageLog }],
    summary: "Delete all service usage events, and begin anew with the instances that exist",
    handler: async ({ session }) => {
      requirePurge(session, servicePurgeRight);
      await purgeAndReseedServices(session);
      return ok({});
    },
  }),
];

export const usageEventEndpoints: readonly Endpoint[] = [...appUsageEndpoints, ...serviceUsageEndpoints];
