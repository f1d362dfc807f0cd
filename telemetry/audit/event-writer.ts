// Writes events into segments, such as AuditLog objects: collected in memory, flushed at most once a second. A request never waits for it.
import pLimit from "p-limit";
import type { Logger } from "pino";
import { isForbidden, isInvalid, isNotFound } from "../../kube/client/errors.ts";
import { withoutAuditID } from "../../kube/client/audit-id.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { createEventBuffer, type EventBuffer } from "./event-buffer.ts";
import { createSegments, type SegmentKind, type Segments } from "./segments.ts";

/** Milliseconds between two flushes. */
const FLUSH_INTERVAL_MS = 1_000;
/** Milliseconds that the first event after a pause waits for the others of its request, so that they become one write. */
const GATHER_MS = 50;
/** Namespaces written at the same time. */
const CONCURRENCY = 4;
/** Events that wait for an API server that does not answer. */
const MAX_WAITING = 10_000;

export interface EventWriter<Event> {
  /** Never waits, never throws. */
  record(namespace: string, event: Event): void;
  /** Writes what waits, and records nothing from then on. */
  close(): Promise<void>;
}

export interface EventWriterDeps {
  kind: SegmentKind;
  client: Pick<KubeClient, "create" | "patch">;
  /** Name of this process. */
  writer: string;
  log: Logger;
  intervalMs?: number;
}

export function createEventWriter<Event>({
  kind,
  client,
  writer,
  log,
  intervalMs = FLUSH_INTERVAL_MS,
}: EventWriterDeps): EventWriter<Event> {
  const buffer = createEventBuffer<Event>(MAX_WAITING);
  const target: Target<Event> = { buffer, segments: createSegments(client, writer, kind), kind, log };
  let isClosed = false;
  let timer: NodeJS.Timeout | undefined;
  let flushing: Promise<void> = Promise.resolve();
  let flushedAt = 0;

  function schedule(delayMs: number): void {
    timer ??= withoutAuditID(() =>
      setTimeout(() => {
        flushing = flush(target).finally(() => {
          timer = undefined;
          flushedAt = Date.now();
          if (!isClosed && buffer.namespaces().length > 0) schedule(intervalMs);
        });
      }, delayMs),
    );
  }

  return {
    record(namespace, event) {
      if (isClosed) return;
      buffer.add(namespace, event);
      schedule(Math.max(Math.min(GATHER_MS, intervalMs), flushedAt + intervalMs - Date.now()));
    },
    async close() {
      isClosed = true;
      clearTimeout(timer);
      await flushing;
      await flush(target);
    },
  };
}

interface Target<Event> {
  buffer: EventBuffer<Event>;
  segments: Segments<Event>;
  kind: SegmentKind;
  log: Logger;
}

async function flush<Event>(target: Target<Event>): Promise<void> {
  const { buffer, kind, log } = target;
  const dropped = buffer.takeDropped();
  if (dropped > 0) log.error({ dropped, kind: kind.ref.kind }, "events were lost: too many waited for the API server");
  const limit = pLimit(CONCURRENCY);
  await Promise.all(buffer.namespaces().map((namespace) => limit(() => flushNamespace(namespace, target))));
}

/**
 * Events whose namespace takes none, because it is gone or going, are dropped; all others wait for the next flush, as do those recorded meanwhile.
 * Events that are refused together are written again in smaller sets, until only the invalid one is dropped: it may be one tenant's, the others not.
 */
async function flushNamespace<Event>(namespace: string, { buffer, segments, kind, log }: Target<Event>): Promise<void> {
  let size = kind.maxEvents;
  let due = buffer.count(namespace);
  const next = (): Event[] => buffer.peek(namespace, Math.min(size, due));
  for (let events = next(); events.length > 0; events = next()) {
    const about = { kind: kind.ref.kind, namespace, events: events.length };
    try {
      await segments.append(namespace, events);
      size = Math.min(kind.maxEvents, size * 2);
    } catch (err) {
      if (isInvalid(err) && events.length > 1) {
        size = Math.ceil(events.length / 2);
        continue;
      }
      if (!isNotFound(err) && !isForbidden(err) && !isInvalid(err)) {
        log.warn({ err, ...about }, "events wait: they cannot be written now");
        return;
      }
      log.warn({ err, ...about }, "events were dropped: the API server takes them neither now nor later");
    }
    buffer.remove(namespace, events);
    due -= events.length;
  }
}
