// Presents an audit event as CF's JSON.
import type { AuditEvent } from "../../crds/audit-log/audit-log.ts";
import { link } from "../http/presentation.ts";
import { toTime } from "../../kube/api/times.ts";

export function presentAuditEvent(event: AuditEvent, base: string): object {
  const { guid, at, type, actor, target, data, requestId, spaceGUID, orgGUID } = event;
  const time = toTime(at);
  return {
    guid,
    created_at: time,
    updated_at: time,
    type,
    actor,
    target,
    data: {
      ...(data === undefined ? {} : (JSON.parse(data) as object)),
      ...(requestId !== undefined && { request_id: requestId }),
    },
    space: spaceGUID === undefined ? null : { guid: spaceGUID },
    organization: orgGUID === undefined ? null : { guid: orgGUID },
    links: { self: link(`${base}/v3/audit_events/${guid}`) },
  };
}
