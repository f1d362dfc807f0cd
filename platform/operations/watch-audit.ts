// Records audit events of what no request did: crashes, ends of builds, revisions, and writes past the CF API. On the leader only.
import type { Logger } from "pino";
import type { PlacedEvent } from "../../api/cf/audit/to-audit-events.ts";
import { listBuildEvents, listRevisionEvents } from "../../controllers/audit-log/app-events.ts";
import {
  isOperationDone,
  isServiced,
  listServiceEvents,
  type Serviced,
} from "../../controllers/audit-log/service-events.ts";
import { createInstanceEvents, type ObservedLRP } from "../../controllers/audit-log/instance-events.ts";
import { listPlacedChanges, placeEvents } from "../../controllers/audit-log/placed-instances.ts";
import { App } from "../../crds/app/app.ts";
import { AuditLog, type AuditEvent } from "../../crds/audit-log/audit-log.ts";
import { Build } from "../../crds/build/build.ts";
import { eventIdentity } from "../../crds/guid.ts";
import { LRP } from "../../crds/lrp/lrp.ts";
import { PlacementDecision } from "../../crds/placement-decision/placement-decision.ts";
import { Process } from "../../crds/process/process.ts";
import { ServiceBinding } from "../../crds/service-binding/service-binding.ts";
import { ServiceInstance } from "../../crds/service-instance/service-instance.ts";
import { Revision } from "../../crds/revision/revision.ts";
import type { KubeObject } from "../../kube/api/object.ts";
import type { ResourceRef } from "../../kube/api/resource-ref.ts";
import { isUnreadable } from "../../kube/cache/errors.ts";
import type { Informers } from "../../kube/cache/informers.ts";
import type { Reader } from "../../kube/cache/reader.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { createAuditWriter } from "../../telemetry/audit/audit-writer.ts";
import type { PeriodicTask } from "../leases/singletons.ts";
import { isOutsideChange, OUTSIDE_AUDIT_KINDS, OUTSIDE_WRITTEN_KINDS, startOutsideAudit } from "./outside-audit.ts";
import { keepRecentChanges, type RecentChanges, type SeenChange } from "./recent-changes.ts";
import { retryUnreadable } from "./retry-unreadable.ts";

const SERVICED_KINDS: readonly ResourceRef[] = [ServiceInstance, ServiceBinding];
export const WATCH_AUDIT_KINDS: readonly ResourceRef[] = [
  LRP,
  PlacementDecision,
  App,
  Process,
  ...SERVICED_KINDS,
  ...OUTSIDE_AUDIT_KINDS,
];
/** Kinds whose changes are events. AuditLogs, which are large, are only read. */
const CHANGING_KINDS: readonly ResourceRef[] = [
  LRP,
  PlacementDecision,
  Revision,
  ...SERVICED_KINDS,
  ...OUTSIDE_WRITTEN_KINDS,
];

/**
 * Milliseconds between two writes of events; the first after a pause is written at once. Nobody waits for the others: no request made them, and what a
 * killed leader had not written the next one records.
 */
const WRITE_INTERVAL_MS = 5_000;

export interface WatchAuditOptions {
  informers: Informers;
  log: Logger;
  /** Name of this process. */
  writer: string;
  /** As in startOutsideAudit. */
  deletionWaitMs?: number;
}

/**
 * Events while no process runs are not recorded: `cf app` still shows a crash. Every process keeps the changes of the last minute; whoever leads next
 * records those of them that are in no AuditLog. Two processes that record the same change make events of one identity, which readers show once.
 */
export function createWatchAudit(options: WatchAuditOptions): PeriodicTask {
  const changes = keepRecentChanges(options.informers, CHANGING_KINDS, { judge: createJudge() });
  return { reads: WATCH_AUDIT_KINDS, start: (signal, client) => record(options, changes, client, signal) };
}

/** Resolves when the last events have been written after the signal. */
function record(
  options: WatchAuditOptions,
  changes: RecentChanges,
  client: KubeClient,
  signal: AbortSignal,
): Promise<void> {
  const { informers, log, writer } = options;
  const audit = createAuditWriter({ client, writer: `${writer}-watch`, log, intervalMs: WRITE_INTERVAL_MS });
  const startedAt = new Date();
  const place = ({ namespace, event }: PlacedEvent, at: Date): void => {
    // A change of that very millisecond may be of the term before.
    const isKnown = at <= startedAt && hasEvent(informers.read, namespace, event);
    if (!isKnown) audit.record(namespace, event);
  };
  const outside = startOutsideAudit({ ...options, record: place });
  const retries = retryUnreadable(log, (seen) => {
    const namespace = seen.change.object.metadata.namespace ?? "";
    for (const event of listEvents(informers.read, seen)) place({ namespace, event }, seen.at);
    outside.see(seen);
  });
  const unfollow = changes.follow(retries.handle);
  return new Promise((resolve) =>
    signal.addEventListener("abort", () => {
      unfollow();
      retries.stop();
      outside.stop();
      resolve(audit.close());
    }),
  );
}

/** Whether an AuditLog has it. What cannot be read has nothing: readers show doubles once. */
function hasEvent(read: Reader, namespace: string, event: AuditEvent): boolean {
  const identity = eventIdentity(event.guid);
  try {
    return read.list(AuditLog, { namespace }).some((log) => identitiesIn(log).has(identity));
  } catch (error) {
    if (isUnreadable(error)) return false;
    throw error;
  }
}

/** By segment as it was read: a new leader asks for each of a minute's changes. */
const identities = new WeakMap<AuditLog, ReadonlySet<string>>();

function identitiesIn(log: AuditLog): ReadonlySet<string> {
  const known = identities.get(log);
  if (known) return known;
  const found = new Set(log.spec.events.map(({ guid }) => eventIdentity(guid)));
  identities.set(log, found);
  return found;
}

/**
 * Keeps only changes that may be events. Those of instances are judged here, in every process, as they need what was seen before; of such an object, which
 * may be large, only the name is kept.
 */
function createJudge(): (seen: SeenChange) => SeenChange | undefined {
  const toInstanceEvents = createInstanceEvents();
  return (seen) => {
    const { ref, change, at } = seen;
    if (!INSTANCE_KINDS.has(ref.kind))
      return isEventOfApp(seen) || isEndOfOperation(seen) || isOutsideChange(seen) ? seen : undefined;
    if (change.type !== "modified") return undefined;
    const events = listObserved(change).flatMap(([old, lrp]) => toInstanceEvents(old, lrp, at));
    if (events.length === 0) return undefined;
    const { apiVersion, kind, metadata } = change.object;
    const { namespace, name } = metadata;
    const object = { apiVersion, kind, metadata: { ...(namespace !== undefined && { namespace }), name } };
    return { ref, change: { ...change, old: object, object }, at, events };
  };
}

/** Kinds whose statuses show instances. */
const INSTANCE_KINDS: ReadonlySet<string> = new Set([LRP.kind, PlacementDecision.kind]);

function listObserved({ old, object }: { old: KubeObject; object: KubeObject }): [ObservedLRP, ObservedLRP][] {
  return object.kind === LRP.kind
    ? [[old as LRP, object as LRP]]
    : listPlacedChanges(old as PlacementDecision, object as PlacementDecision);
}

/** A new revision, or a build's new state. */
function isEventOfApp({ ref, change }: SeenChange): boolean {
  if (ref.kind === Revision.kind) return change.type === "added";
  if (ref.kind !== Build.kind || change.type !== "modified") return false;
  return (change.old as Build).status?.state !== (change.object as Build).status?.state;
}

/** The end of what a service broker was asked to do. */
function isEndOfOperation(seen: SeenChange): boolean {
  const serviced = toServiced(seen);
  return serviced !== undefined && isOperationDone(serviced.old, serviced.object);
}

function toServiced({ ref, change }: SeenChange): { old: Serviced; object: Serviced | undefined } | undefined {
  if (!isServiced(ref.kind) || change.type === "added") return undefined;
  const object = change.type === "deleted" ? undefined : (change.object as Serviced);
  return { old: change.old as Serviced, object };
}

/** The events of what controllers and runners did. */
function listEvents(read: Reader, seen: SeenChange): readonly AuditEvent[] {
  const { ref, change, at, events = [] } = seen;
  if (ref.kind === Revision.kind && change.type === "added")
    return listRevisionEvents(read, change.object as Revision, at);
  if (ref.kind === Build.kind && change.type === "modified")
    return listBuildEvents(read, change.old as Build, change.object as Build, at);
  if (ref.kind === PlacementDecision.kind) return placeEvents(read, change.object.metadata, events);
  const serviced = toServiced(seen);
  return serviced ? listServiceEvents(read, serviced.old, serviced.object, at) : events;
}
