// The audit events of instances, from the changes of an LRP's status: crashes, lost and regained readiness, replacements. Reads and writes nothing.
import { LRUCache } from "lru-cache";
import type { AuditEvent } from "../../crds/audit-log/audit-log.ts";
import { eventGUID } from "../../crds/guid.ts";
import { crashesSince } from "../../crds/lrp/crashes.ts";
import { toWantedIndex } from "../../crds/lrp/index-pool.ts";
import type { LRP, LrpInstance } from "../../crds/lrp/lrp.ts";

const READY = "audit.app.process.ready";
const NOT_READY = "audit.app.process.not-ready";

type Part = "process" | "app";

/** The fields of an LRP that the events follow from. */
export interface ObservedLRP {
  metadata: Pick<LRP["metadata"], "uid" | "resourceVersion" | "deletionTimestamp">;
  spec: Pick<
    LRP["spec"],
    "app" | "space" | "org" | "processGUID" | "processType" | "version" | "instances" | "indexes" | "restartInstances"
  > & { readinessHealthCheck: Pick<LRP["spec"]["readinessHealthCheck"], "type"> };
  status?: { instances?: readonly LrpInstance[] | undefined } | undefined;
}

interface Draft {
  type: string;
  /** In whose name CF records it. */
  actor: Part;
  index: number;
  /** Members besides object, type and index in every record of it. */
  identity: string[];
  data: Record<string, unknown>;
}

/** Facts that an instance's status does not show any more. */
interface History {
  /** The run that was shown last, while its instance shows no GUID. */
  lost?: LrpInstance;
  /** Whether the instance has crashed since. */
  crashed?: boolean;
  /** The last recorded loss of readiness, in milliseconds; `open` until its return is recorded. */
  unready?: { guid: string; at: number; open: boolean };
}

/** An instance before and after a change of its LRP. */
interface InstanceChange {
  lrp: ObservedLRP;
  was: LrpInstance | undefined;
  instance: LrpInstance;
  history: History;
  /** The run that was shown last before the change. */
  ran: LrpInstance | undefined;
  /** Whether somebody asked for its restart. */
  isTerminated: boolean;
  now: Date;
}

/** Instances whose history is kept, and restarted runs. The oldest give way, and with them the events that need them. */
const MAX_KEPT = 10_000;
/** An instance whose readiness comes and goes is recorded once in so many milliseconds. */
const READINESS_PAUSE_MS = 5 * 60_000;

interface Memory {
  /** By LRP and index. */
  histories: LRUCache<string, History>;
  /** GUIDs of runs whose restart was asked for. */
  terminated: LRUCache<string, true>;
}

/**
 * Returns the events of an LRP's changes, which it must see in their order. Processes that have seen the same changes make the same events.
 */
export function createInstanceEvents(): (old: ObservedLRP, lrp: ObservedLRP, now: Date) => AuditEvent[] {
  const memory: Memory = {
    histories: new LRUCache({ max: MAX_KEPT }),
    terminated: new LRUCache({ max: MAX_KEPT }),
  };
  return (old, lrp, now) => {
    for (const guid of listTerminated(memory, old, lrp)) memory.terminated.set(guid, true);
    const before = new Map(old.status?.instances?.map((instance) => [instance.index, instance]));
    const instances = lrp.status?.instances ?? [];
    const events = instances.flatMap((instance) => {
      const drafts = judge(memory, { lrp, was: before.get(instance.index), instance, now });
      before.delete(instance.index);
      return drafts.map((draft) => toEvent(lrp, draft, now));
    });
    for (const index of before.keys()) memory.histories.delete(historyKey(lrp, index));
    return events;
  };
}

function historyKey({ metadata }: ObservedLRP, index: number): string {
  return `${metadata.uid}/${index}`;
}

/** GUIDs of the runs whose restart was asked for since `old`, as spec or status tell. */
function listTerminated({ histories }: Memory, old: ObservedLRP, lrp: ObservedLRP): string[] {
  const [before, after] = [old.spec.restartInstances ?? {}, lrp.spec.restartInstances ?? {}];
  const shown = new Map(lrp.status?.instances?.map(({ index, restart }) => [index, restart]));
  return (old.status?.instances ?? [])
    .filter(({ index, restart }) => before[index] !== after[index] || shown.get(index) !== restart)
    .flatMap(({ index, guid }) => guid ?? histories.get(historyKey(lrp, index))?.lost?.guid ?? []);
}

/** The events of one instance; remembers what the next change needs. */
function judge(
  { histories, terminated }: Memory,
  change: Pick<InstanceChange, "lrp" | "was" | "instance" | "now">,
): Draft[] {
  const key = historyKey(change.lrp, change.instance.index);
  const history = histories.get(key) ?? {};
  const ran = change.was?.guid ? change.was : history.lost;
  const whole = { ...change, history, ran, isTerminated: ran?.guid !== undefined && terminated.has(ran.guid) };
  const drafts = listDrafts(whole);
  const next = { ...nextRun(whole), ...nextReadiness(whole, drafts) };
  if (Object.keys(next).length > 0) histories.set(key, next);
  else histories.delete(key);
  return drafts;
}

function listDrafts(change: InstanceChange): Draft[] {
  const { lrp, instance, ran } = change;
  if (hasCrashed(change)) return crash(lrp, instance, ran);
  if (instance.state !== "Running" || !instance.guid || !isWanted(change)) return [];
  if (ran && ran.guid !== instance.guid) return rescheduling(change, ran);
  // Without a check of its own, readiness says whether the process runs, and a kubelet that restarts denies it for a moment.
  return lrp.spec.readinessHealthCheck.type === "process" ? [] : readiness(change);
}

/** Whether nobody has asked for the end of the instance, or of the run that it had. */
function isWanted({ lrp, instance, ran, isTerminated }: InstanceChange): boolean {
  if (lrp.metadata.deletionTimestamp !== undefined || !toWantedIndex(lrp.spec)(instance.index)) return false;
  return !isTerminated && (!ran || ran.restart === instance.restart);
}

function hasCrashed({ was, instance }: InstanceChange): boolean {
  return crashesSince(was, instance) > 0;
}

function nextRun(change: InstanceChange): Pick<History, "lost" | "crashed"> {
  const { instance, history, ran } = change;
  if (instance.guid) return {};
  const crashed = history.crashed === true || instance.state === "Crashed" || hasCrashed(change);
  return { ...(ran && { lost: ran }), ...(crashed && { crashed }) };
}

function nextReadiness({ instance, history, now }: InstanceChange, drafts: readonly Draft[]): Pick<History, "unready"> {
  const types = drafts.map(({ type }) => type);
  if (types.includes(NOT_READY)) return { unready: { guid: instance.guid ?? "", at: now.getTime(), open: true } };
  if (!history.unready) return {};
  return { unready: { ...history.unready, open: history.unready.open && !types.includes(READY) } };
}

/** CF records a crash twice: of the process, and of the app as in its first API. */
function crash(
  { spec: { version }, metadata }: ObservedLRP,
  instance: LrpInstance,
  ran: LrpInstance | undefined,
): Draft[] {
  const { index, crashCount, restart = "" } = instance;
  const data = toCrashData(instance, ran);
  // Counts begin again, so that they identify a crash only together with the run.
  const identity = [ran?.guid ?? metadata.resourceVersion ?? "", restart, String(crashCount)];
  return [
    {
      type: "audit.app.process.crash",
      actor: "process",
      index,
      identity,
      data: { ...data, crash_count: crashCount, version },
    },
    { type: "app.crash", actor: "app", index, identity, data },
  ];
}

/** Readiness changes of an instance that runs on. The first is left out: the events of many starts would drive all others out of a bounded log. */
function readiness({ lrp, was, instance, history: { unready }, now }: InstanceChange): Draft[] {
  if (instance.ready) return unready?.open && unready.guid === instance.guid ? [toReadiness(lrp, instance)] : [];
  const isLost = was?.ready === true && was.guid === instance.guid;
  const isSoon = unready !== undefined && now.getTime() - unready.at < READINESS_PAUSE_MS;
  return isLost && !isSoon ? [toReadiness(lrp, instance)] : [];
}

function toReadiness({ spec: { version }, metadata }: ObservedLRP, instance: LrpInstance): Draft {
  const { index, ready, guid = "", host = "" } = instance;
  const identity = [metadata.resourceVersion ?? ""];
  const data = { instance: guid, index, cell_id: host, ready, version };
  return { type: ready ? READY : NOT_READY, actor: "process", index, identity, data };
}

/** Once another run is up: until then it may be the same one, of which a kubelet that restarts says for a moment that it starts. */
function rescheduling({ lrp, instance, history }: InstanceChange, ran: LrpInstance): Draft[] {
  // A replacement counts from zero; a laptop's run with a count has crashed.
  if (history.crashed || instance.crashCount) return [];
  const { index, guid = "", host = "" } = ran;
  const reason = "The instance was replaced by another one";
  const data = { instance: guid, index, cell_id: host, reason, version: lrp.spec.version };
  return [{ type: "audit.app.process.rescheduling", actor: "process", index, identity: [guid], data }];
}

function toEvent(
  { spec, metadata }: ObservedLRP,
  { type, actor, index, identity, data }: Draft,
  now: Date,
): AuditEvent {
  const { app, processGUID, processType, space, org } = spec;
  const { uid = "" } = metadata;
  return {
    guid: eventGUID(now.getTime(), uid, type, String(index), ...identity),
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
function toCrashData(
  { index, details = "", ...instance }: LrpInstance,
  ran: LrpInstance | undefined,
): Record<string, unknown> {
  // A crashed instance has neither any more, and one that starts again has the next run's.
  const { guid = "", host = "" } = ran ?? instance;
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
