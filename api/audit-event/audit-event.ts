// Endpoints of audit events: `/v3/audit_events`.
import { AuditLog } from "../../crds/audit-log/audit-log.ts";
import { endpoint, ok, type Endpoint } from "../routing/endpoint.ts";
import { notFound } from "../http/errors.ts";
import { presentPage } from "../lists/page.ts";
import { csv, listQuery } from "../http/query.ts";
import { findEvent, listEvents } from "./list-events.ts";
import { presentAuditEvent } from "./present.ts";

const eventListQuery = listQuery(
  {
    types: csv.optional(),
    target_guids: csv.optional(),
    "target_guids[not]": csv.optional(),
    space_guids: csv.optional(),
    organization_guids: csv.optional(),
  },
  { labels: false },
);

export const auditEventEndpoints: readonly Endpoint[] = [
  endpoint({
    method: "GET",
    path: "/v3/audit_events",
    permission: "authenticated",
    lists: [AuditLog],
    query: eventListQuery,
    summary: "List audit events",
    handler: async ({ session, query, base, url }) => {
      await session.waitForOwnEvents();
      return ok(
        presentPage(
          listEvents(session, query, url),
          // An event is never written again.
          { base, url, query, isCacheable: true, textKey: () => [base] },
          (event) => presentAuditEvent(event, base),
        ),
      );
    },
  }),
  endpoint({
    method: "GET",
    path: "/v3/audit_events/:guid",
    permission: "authenticated",
    lists: [AuditLog],
    summary: "Get an audit event",
    handler: ({ session, params, base }) => {
      const event = findEvent(session, params.guid);
      if (!event) throw notFound("Event");
      return ok(presentAuditEvent(event, base));
    },
  }),
];
