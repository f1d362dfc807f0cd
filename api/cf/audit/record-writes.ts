// Records what a session does: lines in the logs of apps, and audit events.
import { App } from "../../../crds/app/app.ts";
import type { AuditWriter } from "../../../telemetry/audit/audit-writer.ts";
import type { LogEntry } from "../../../telemetry/envelope.ts";
import type { ClusterCache } from "../../cache/cluster-cache.ts";
import { appOfWrite, toAppLogLine } from "../app/app-log.ts";
import { redact } from "./redact-request.ts";
import { toAuditEvents, toAppEvent, type AuditContext } from "./to-audit-events.ts";
import type { RecentEvents } from "./recent-events.ts";
import { observeWrites, type WriteObserver } from "./observed-writes.ts";
import type { SessionRecorder, SessionRequest, SessionWriter } from "../../access/session.ts";
import type { Caller } from "../../identity/caller.ts";

/** Records a line; never blocks, never throws. */
export type AppLog = (entry: LogEntry) => void;

export interface Recorders {
  cache: ClusterCache;
  now: () => Date;
  /** Records lines in apps' logs, if this process keeps any. */
  appLog?: AppLog;
  /** Records audit events, if this process does. */
  audit?: AuditWriter;
  /** Events that are on their way into the cache. */
  recentEvents: RecentEvents;
}

/** Creates the recorder of all sessions. */
export function createSessionRecorder(recorders: Recorders): SessionRecorder {
  const { appLog, cache, recentEvents } = recorders;
  const auditOf = ({ name }: Caller): EventRecorder | undefined =>
    recorders.audit && withRecent(recorders.audit, recentEvents, name);
  return {
    observe(writer, request) {
      const audit = auditOf(request.caller);
      const observers = [
        ...(appLog ? [logToApps(cache, appLog)] : []),
        ...(audit ? [recordEvents(recorders, request, audit)] : []),
      ];
      return observers.reduce<SessionWriter>(observeWrites, writer);
    },
    recordAppEvent(request, type, app, data) {
      const audit = auditOf(request.caller);
      if (!audit) return;
      const context = { ...toAuditContext(recorders, request), isManifest: false };
      const { namespace, event } = toAppEvent({ type, app, data }, context);
      audit.record(namespace, event);
    },
    waitForOwnEvents: ({ name }) => (recorders.audit ? recentEvents.waitFor(name) : undefined),
  };
}

type EventRecorder = Pick<AuditWriter, "record">;

function withRecent(audit: AuditWriter, recent: RecentEvents, caller: string): EventRecorder {
  return {
    record(namespace, event) {
      audit.record(namespace, event);
      recent.add(caller, event);
    },
  };
}

/** Each write adds a line to its app's log. */
function logToApps(cache: ClusterCache, log: AppLog): WriteObserver {
  return (write) => {
    const app = appOfWrite(cache, write);
    const source = app && cache.guid(App, app);
    const message = source && toAppLogLine(write, source);
    if (source && message) log({ source, sourceType: "API", message });
  };
}

/** Each write that CF records becomes audit events; a request that changes an object in several writes made or updated it once. */
function recordEvents(deps: Recorders, request: SessionRequest, audit: EventRecorder): WriteObserver {
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

function toAuditContext(
  { cache, now }: Recorders,
  { caller, body, isManifest = false, requestId }: SessionRequest,
): AuditContext {
  const hasRequest = body !== undefined && !isManifest;
  return { cache, actor: caller.name, now: now(), isManifest, requestId, ...(hasRequest && { request: redact(body) }) };
}
