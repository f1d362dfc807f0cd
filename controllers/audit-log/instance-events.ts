// The audit events of instances, from the changes of an LRP's status: crashes, lost and regained readiness, replacements. Pure.
import type { AuditEvent } from "../../crds/audit-log/audit-log.ts";
import { eventGUID } from "../../crds/guid.ts";
import type { LRP, LrpInstance } from "../../crds/lrp/lrp.ts";

type Part = "process" | "app";
interface Draft {
  type: string;
  /** In whose name CF records it. */
  actor: Part;
  index: number;
  data: Record<string, unknown>;
}

/** `wasTerminated` tells instances that somebody asked to be restarted. */
export interface InstanceChange {
  old: LRP;
  lrp: LRP;
  wasTerminated: (instance: LrpInstance) => boolean;
}

/** The events of all instances that have changed; each change makes the same events in every process that sees it. */
export function listInstanceEvents({ old, lrp, wasTerminated }: InstanceChange, now: Date): AuditEvent[] {
  const before = new Map(old.status?.instances?.map((instance) => [instance.index, instance]));
  const drafts = (lrp.status?.instances ?? []).flatMap((instance): Draft[] => {
    const was = before.get(instance.index);
    if ((instance.crashCount ?? 0) > (was?.crashCount ?? 0)) return crash(lrp, instance);
    if (!was || was.state !== "Running") return [];
    if (was.guid === instance.guid) return readiness(lrp, was, instance);
    return isReplacement(lrp, instance) && !wasTerminated(was) ? [rescheduling(lrp, was)] : [];
  });
  return drafts.map((draft) => toEvent(lrp, draft, now));
}

/** GUIDs of the instances whose restart was asked for since `old`. */
export function listTerminations(old: LRP, lrp: LRP): string[] {
  const [before, after] = [old.spec.restartInstances ?? {}, lrp.spec.restartInstances ?? {}];
  return (old.status?.instances ?? [])
    .filter(({ index }) => before[index] !== after[index])
    .flatMap(({ guid }) => guid ?? []);
}

/** CF records a crash twice: of the process, and of the app as in its first API. */
function crash({ spec: { version } }: LRP, instance: LrpInstance): Draft[] {
  const { index, crashCount } = instance;
  const data = toCrashData(instance);
  return [
    { type: "audit.app.process.crash", actor: "process", index, data: { ...data, crash_count: crashCount, version } },
    { type: "app.crash", actor: "app", index, data },
  ];
}

/** Of an instance that runs on. Its first readiness is left out: the events of many starts would drive all others out of a bounded log. */
function readiness({ spec: { version } }: LRP, was: LrpInstance, instance: LrpInstance): Draft[] {
  const { index, ready, guid = "", host = "" } = instance;
  if (instance.state !== "Running" || was.ready === ready) return [];
  const type = `audit.app.process.${ready ? "ready" : "not-ready"}`;
  return [{ type, actor: "process", index, data: { instance: guid, index, cell_id: host, ready, version } }];
}

/** A runner that ends everything replaces nothing. */
function isReplacement({ metadata }: LRP, { state }: LrpInstance): boolean {
  return metadata.deletionTimestamp === undefined && (state === "Starting" || state === "Running");
}

function rescheduling({ spec: { version } }: LRP, { index, guid = "", host = "" }: LrpInstance): Draft {
  const data = { instance: guid, index, cell_id: host, reason: "The instance was replaced by another one", version };
  return { type: "audit.app.process.rescheduling", actor: "process", index, data };
}

function toEvent({ spec, metadata }: LRP, { type, actor, index, data }: Draft, now: Date): AuditEvent {
  const { app, processGUID, processType, space, org } = spec;
  const { uid = "", resourceVersion = "" } = metadata;
  return {
    guid: eventGUID(now.getTime(), uid, resourceVersion, type, String(index)),
    at: now.toISOString(),
    type,
    actor:
      actor === "process"
        ? { guid: processGUID, type: "process", name: processType }
        : { guid: app.guid, type: "app", name: app.name },
    target: { guid: app.guid, type: "app", name: app.name },
    spaceGUID: space.guid,
    orgGUID: org.guid,
    data: JSON.stringify(data),
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
