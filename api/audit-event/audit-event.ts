// Endpoints of audit events: `/v3/audit_events`.
import { AuditLog } from "../../crds/audit-log/audit-log.ts";
import type { Session } from "../access/session.ts";
import { endpoint, ok, type Endpoint, type Reply } from "../routing/endpoint.ts";
import { notFound } from "../http/errors.ts";
import { presentPage } from "../lists/page.ts";
import { csv, listQuery } from "../http/query.ts";
import { type EventQuery, findEvent, listEvents } from "./list-events.ts";
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

interface ListRequest {
  session: Session;
  query: EventQuery;
  base: string;
  url: string;
}

function listReply({ session, query, base, url }: ListRequest): Reply {
  return ok(
    presentPage(
      listEvents(session, query, url),
      // An event is never written again.
      { base, url, query, isCacheable: true, textKey: () => [base] },
      (event) => presentAuditEvent(event, base),
    ),
  );
}

export const auditEventEndpoints: readonly Endpoint[] = [
  endpoint({
    method: "GET",
    path: "/v3/audit_events",
    permission: "authenticated",
    lists: [AuditLog],
    query: eventListQuery,
    summary: "List audit events",
    handler: (request) => {
      const pending = request.session.waitForOwnEvents();
      return pending ? pending.then(() => listReply(request)) : listReply(request);
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
