// The audit events of crashes: an LRP whose status counts one more. Pure.
import type { AuditEvent } from "../../crds/audit-log/audit-log.ts";
import { newGUID } from "../../crds/guid.ts";
import type { LRP, LrpInstance } from "../../crds/lrp/lrp.ts";

/** One event for each instance that has crashed since `old`. */
export function listCrashEvents(old: LRP, lrp: LRP, now: Date): AuditEvent[] {
  const counts = new Map(old.status?.instances?.map(({ index, crashCount = 0 }) => [index, crashCount]));
  return (lrp.status?.instances ?? [])
    .filter(({ index, crashCount = 0 }) => crashCount > (counts.get(index) ?? 0))
    .map((instance) => toCrashEvent(lrp, instance, now));
}

function toCrashEvent({ spec }: LRP, instance: LrpInstance, now: Date): AuditEvent {
  const { app, processGUID, processType, space, org } = spec;
  return {
    guid: newGUID(now.getTime()),
    at: now.toISOString(),
    type: "audit.app.process.crash",
    actor: { guid: processGUID, type: "process", name: processType },
    target: { guid: app.guid, type: "app", name: app.name },
    spaceGUID: space.guid,
    orgGUID: org.guid,
    data: JSON.stringify(toCrashData(instance)),
  };
}

/** CF's metadata of a crash; the exit status only where the reason tells it. */
function toCrashData({ index, guid = "", host = "", details = "" }: LrpInstance): Record<string, unknown> {
  const status = /exited with status (\d+)/i.exec(details)?.[1];
  return {
    instance: guid,
    index,
    cell_id: host,
    reason: "CRASHED",
    exit_description: details,
    ...(status !== undefined && { exit_status: Number(status) }),
  };
}
