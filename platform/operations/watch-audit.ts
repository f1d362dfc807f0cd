// Records audit events of what no request did: crashes, ends of builds, revisions, and writes past the CF API. On the leader only.
import { LRUCache } from "lru-cache";
import type { Logger } from "pino";
import type { PlacedEvent } from "../../api/cf/audit/to-audit-events.ts";
import { listBuildEvents, listRevisionEvents } from "../../controllers/audit-log/app-events.ts";
import { listInstanceEvents, listTerminations } from "../../controllers/audit-log/instance-events.ts";
import { AuditLog, type AuditEvent } from "../../crds/audit-log/audit-log.ts";
import { Build } from "../../crds/build/build.ts";
import { eventIdentity } from "../../crds/guid.ts";
import { LRP } from "../../crds/lrp/lrp.ts";
import { Revision } from "../../crds/revision/revision.ts";
import type { ResourceRef } from "../../kube/api/resource-ref.ts";
import { isUnreadable } from "../../kube/cache/errors.ts";
import type { Informers } from "../../kube/cache/informers.ts";
import type { Reader } from "../../kube/cache/reader.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { createAuditWriter } from "../../telemetry/audit/audit-writer.ts";
import type { PeriodicTask } from "../leases/singletons.ts";
import { OUTSIDE_AUDIT_KINDS, OUTSIDE_WRITTEN_KINDS, startOutsideAudit } from "./outside-audit.ts";
import { keepRecentChanges, type RecentChanges, type SeenChange } from "./recent-changes.ts";
import { retryUnreadable } from "./retry-unreadable.ts";

export const WATCH_AUDIT_KINDS: readonly ResourceRef[] = [LRP, ...OUTSIDE_AUDIT_KINDS];
/** Kinds whose changes are events. AuditLogs, which are large, are only read. */
const CHANGING_KINDS: readonly ResourceRef[] = [LRP, Revision, ...OUTSIDE_WRITTEN_KINDS];

export interface WatchAuditOptions {
  informers: Informers;
  log: Logger;
  /** Name of this process. */
  writer: string;
  /** As in startOutsideAudit. */
  deletionWaitMs?: number;
}

/**
 * What happens while no process runs is not recorded: `cf app` still shows a crash. Every process keeps the changes of the last minute; whoever leads next
 * records those of them that are in no AuditLog. Two processes that record the same change make events of one identity, which readers show once.
 */
export function createWatchAudit(options: WatchAuditOptions): PeriodicTask {
  const changes = keepRecentChanges(options.informers, CHANGING_KINDS);
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
  const audit = createAuditWriter({ client, writer: `${writer}-watch`, log });
  const startedAt = new Date();
  const place = ({ namespace, event }: PlacedEvent, at: Date): void => {
    const isKnown = at < startedAt && hasEvent(informers.read, namespace, event);
    if (!isKnown) audit.record(namespace, event);
  };
  const outside = startOutsideAudit({ ...options, record: place });
  const toEvents = createEventRules(informers.read);
  const retries = retryUnreadable(log, (seen) => {
    const namespace = seen.change.object.metadata.namespace ?? "";
    for (const event of toEvents(seen)) place({ namespace, event }, seen.at);
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
    const logs = read.list(AuditLog, { namespace });
    return logs.some(({ spec }) => spec.events.some(({ guid }) => eventIdentity(guid) === identity));
  } catch (error) {
    if (isUnreadable(error)) return false;
    throw error;
  }
}

/** The events of what controllers and runners did. */
function createEventRules(read: Reader): (seen: SeenChange) => AuditEvent[] {
  /** GUIDs of instances whose restart was asked for. */
  const terminated = new LRUCache<string, true>({ max: 1_000 });
  const wasTerminated = ({ guid = "" }: { guid?: string | undefined }): boolean => terminated.has(guid);
  return ({ ref, change, at }) => {
    if (ref.kind === Revision.kind && change.type === "added")
      return listRevisionEvents(read, change.object as Revision, at);
    if (change.type !== "modified") return [];
    if (ref.kind === Build.kind) return listBuildEvents(read, change.old as Build, change.object as Build, at);
    if (ref.kind !== LRP.kind) return [];
    const [old, lrp] = [change.old as LRP, change.object as LRP];
    for (const guid of listTerminations(old, lrp)) terminated.set(guid, true);
    return listInstanceEvents({ old, lrp, wasTerminated }, at);
  };
}
