// Observers of a session's writes: the log of the app, and the audit events.
import { App } from "../../../crds/app/app.ts";
import type { AuditWriter } from "../../../telemetry/audit/audit-writer.ts";
import type { ClusterCache } from "../../cache/cluster-cache.ts";
import { appOfWrite, toAppLogLine } from "../app/app-log.ts";
import { redact } from "./redact-request.ts";
import { toAuditEvents, toAppEvent, type AuditContext } from "./to-audit-events.ts";
import type { WriteObserver } from "../../access/observed-writes.ts";
import type { AppLog, Session, SessionDeps, SessionRequest } from "../../access/session.ts";

/** Each write adds a line to its app's log. */
export function logToApps(cache: ClusterCache, log: AppLog): WriteObserver {
  return (write) => {
    const app = appOfWrite(cache, write);
    const source = app && cache.guid(App, app);
    const message = source && toAppLogLine(write, source);
    if (source && message) log({ source, sourceType: "API", message });
  };
}

/** Each write that CF records becomes audit events; a request that changes an object in several writes made or updated it once. */
export function recordEvents(deps: SessionDeps, request: SessionRequest, audit: AuditWriter): WriteObserver {
  const touched = new Set<string>();
  return (write) => {
    for (const { namespace, event } of toAuditEvents(write, toAuditContext(deps, request))) {
      const { target, type } = event;
      const isRepeated = type.endsWith(".update") && touched.has(target.guid);
      if (/\.(?:create|update)$/.test(type)) touched.add(target.guid);
      if (!isRepeated) audit.record(namespace, event);
    }
  };
}

/** Records what writes no object and CF records all the same: reads of variables, downloads, manifests. */
export function recordAppEvents(
  deps: SessionDeps,
  request: SessionRequest,
  audit: AuditWriter,
): Session["recordAppEvent"] {
  return (type, app, data) => {
    const context = { ...toAuditContext(deps, request), isManifest: false };
    const { namespace, event } = toAppEvent({ type, app, data }, context);
    audit.record(namespace, event);
  };
}

function toAuditContext(
  { cache, now }: SessionDeps,
  { caller, body, isManifest = false }: SessionRequest,
): AuditContext {
  const hasRequest = body !== undefined && !isManifest;
  return { cache, actor: caller.name, now: now(), isManifest, ...(hasRequest && { request: redact(body) }) };
}
