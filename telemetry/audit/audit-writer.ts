// Writes audit events into AuditLog objects: collected in memory, flushed at most once a second. A request never waits for it.
import pLimit from "p-limit";
import type { Logger } from "pino";
import { AuditLog, MAX_SEGMENT_EVENTS, type AuditEvent } from "../../crds/audit-log/audit-log.ts";
import { isForbidden, isInvalid, isNotFound } from "../../kube/client/errors.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import type { Permission } from "../../kube/rbac/resource-rules.ts";
import { createEventBuffer, type EventBuffer } from "./event-buffer.ts";
import { createSegments, type Segments } from "./segments.ts";

export const AUDIT_WRITER_PERMISSIONS: readonly Permission[] = [{ resource: AuditLog, verbs: ["create", "patch"] }];

/** Milliseconds between two flushes. The first event after a pause is written at once. */
const FLUSH_INTERVAL_MS = 1_000;
/** Namespaces written at the same time. */
const CONCURRENCY = 4;
/** Events that wait for an API server that does not answer. */
const MAX_WAITING = 10_000;

export interface AuditWriter {
  /** Never waits, never throws. */
  record(namespace: string, event: AuditEvent): void;
  /** Writes what waits, and records nothing from then on. */
  close(): Promise<void>;
}

export interface AuditWriterDeps {
  client: Pick<KubeClient, "create" | "patch">;
  /** Name of this process. */
  writer: string;
  log: Logger;
  intervalMs?: number;
}

export function createAuditWriter({
  client,
  writer,
  log,
  intervalMs = FLUSH_INTERVAL_MS,
}: AuditWriterDeps): AuditWriter {
  const buffer = createEventBuffer(MAX_WAITING);
  const segments = createSegments(client, writer);
  let isClosed = false;
  let timer: NodeJS.Timeout | undefined;
  let flushing: Promise<void> = Promise.resolve();
  let flushedAt = 0;

  function schedule(delayMs: number): void {
    timer ??= setTimeout(() => {
      flushing = flush(buffer, segments, log).finally(() => {
        timer = undefined;
        flushedAt = Date.now();
        if (!isClosed && buffer.namespaces().length > 0) schedule(intervalMs);
      });
    }, delayMs);
  }

  return {
    record(namespace, event) {
      if (isClosed) return;
      buffer.add(namespace, event);
      schedule(Math.max(0, flushedAt + intervalMs - Date.now()));
    },
    async close() {
      isClosed = true;
      clearTimeout(timer);
      await flushing;
      await flush(buffer, segments, log);
    },
  };
}

async function flush(buffer: EventBuffer, segments: Segments, log: Logger): Promise<void> {
  const dropped = buffer.takeDropped();
  if (dropped > 0) log.error({ dropped }, "audit events were lost: too many waited for the API server");
  const limit = pLimit(CONCURRENCY);
  await Promise.all(
    buffer.namespaces().map((namespace) => limit(() => flushNamespace(namespace, { buffer, segments, log }))),
  );
}

/** Events whose namespace takes none, because it is gone or going, are dropped; all others wait for the next flush. */
async function flushNamespace(
  namespace: string,
  { buffer, segments, log }: { buffer: EventBuffer; segments: Segments; log: Logger },
): Promise<void> {
  const events = buffer.peek(namespace, MAX_SEGMENT_EVENTS);
  try {
    await segments.append(namespace, events);
  } catch (err) {
    if (!isNotFound(err) && !isForbidden(err) && !isInvalid(err)) {
      log.warn({ err, namespace }, "audit events wait: they cannot be written now");
      return;
    }
    log.warn({ err, namespace, events: events.length }, "audit events were dropped: their namespace takes none");
  }
  buffer.remove(namespace, events);
}
