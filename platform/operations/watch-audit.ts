// Records audit events of what no request did: crashes, ends of builds, revisions, and writes past the CF API. On the leader only.
import type { Logger } from "pino";
import { listBuildEvents, listRevisionEvents } from "../../controllers/audit-log/app-events.ts";
import { listCrashEvents } from "../../controllers/audit-log/crash-events.ts";
import type { AuditEvent } from "../../crds/audit-log/audit-log.ts";
import { Build } from "../../crds/build/build.ts";
import { LRP } from "../../crds/lrp/lrp.ts";
import { Revision } from "../../crds/revision/revision.ts";
import type { KubeObject } from "../../kube/api/object.ts";
import type { ResourceRef } from "../../kube/api/resource-ref.ts";
import type { Informers } from "../../kube/cache/informers.ts";
import type { Change } from "../../kube/cache/reader.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { createAuditWriter, type AuditWriter } from "../../telemetry/audit/audit-writer.ts";
import type { PeriodicTask } from "../leases/singletons.ts";
import { attempt, OUTSIDE_AUDIT_KINDS, startOutsideAudit } from "./outside-audit.ts";

export const WATCH_AUDIT_KINDS: readonly ResourceRef[] = [LRP, ...OUTSIDE_AUDIT_KINDS];

export interface WatchAuditOptions {
  informers: Informers;
  log: Logger;
  /** Name of this process. */
  writer: string;
  /** As in startOutsideAudit. */
  deletionWaitMs?: number;
}

/** What happens while no process leads is not recorded: `cf app` still shows a crash. */
export function createWatchAudit(options: WatchAuditOptions): PeriodicTask {
  return { reads: WATCH_AUDIT_KINDS, start: (signal, client) => record(options, client, signal) };
}

/** Resolves when the last events have been written after the signal. */
function record(options: WatchAuditOptions, client: KubeClient, signal: AbortSignal): Promise<void> {
  const { informers, log, writer } = options;
  const audit = createAuditWriter({ client, writer: `${writer}-watch`, log });
  const stop = [
    listen(informers, audit, LRP, (change) =>
      change.type === "modified" && !change.evicted ? listCrashEvents(change.old, change.object, new Date()) : [],
    ),
    listen(informers, audit, Build, (change) =>
      change.type === "modified" && !change.evicted
        ? listBuildEvents(informers.read, change.old, change.object, new Date())
        : [],
    ),
    listen(informers, audit, Revision, (change) =>
      change.type === "added" ? listRevisionEvents(informers.read, change.object, new Date()) : [],
    ),
    startOutsideAudit({ ...options, record: ({ namespace, event }) => audit.record(namespace, event) }),
  ];
  return new Promise((resolve) =>
    signal.addEventListener("abort", () => {
      for (const end of stop) end();
      resolve(audit.close());
    }),
  );
}

/** Records the events of each change that is news. */
function listen<T extends KubeObject>(
  informers: Informers,
  audit: AuditWriter,
  ref: ResourceRef<T>,
  toEvents: (change: Change<T>) => AuditEvent[],
): () => void {
  return informers.store(ref).onChange((change) => {
    if (change.initial) return;
    attempt(() => {
      for (const event of toEvents(change)) audit.record(change.object.metadata.namespace ?? "", event);
    });
  });
}
