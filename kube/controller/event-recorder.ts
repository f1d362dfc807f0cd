// Writes Kubernetes Events about objects, as `kubectl describe` shows them: one per (object, reason), with a count.
import { createHash } from "node:crypto";
import { LRUCache } from "lru-cache";
import pLimit from "p-limit";
import type { Logger } from "pino";
import { Event } from "../api/builtin.ts";
import type { KubeObject, ObjectKey } from "../api/object.ts";
import type { ObjectOf } from "../api/resource-ref.ts";
import { toTime } from "../api/times.ts";
import type { KubeClient } from "../client/client.ts";
import { isAlreadyExists, isNotFound } from "../client/errors.ts";

export interface EventDraft {
  type: "Normal" | "Warning";
  /** CamelCase. Events with the same object and reason are merged. */
  reason: string;
  message: string;
}

export interface EventRecorder {
  /** Never waits and never throws: an Event that cannot be written is dropped. */
  record(object: KubeObject, component: string, event: EventDraft): void;
  /** Writes the counts that still wait for their interval. Resolves when no write is in flight. */
  flush(): Promise<void>;
}

export interface EventRecorderOptions {
  client: KubeClient;
  log: Logger;
  /** Stops all writes. */
  signal: AbortSignal;
  now?: () => Date;
  /** Shortest time between writes of one Event, which then carries the count. Milliseconds, 10 s by default. */
  intervalMs?: number;
}

/** State of one Event. */
interface Series {
  key: ObjectKey;
  object: KubeObject;
  component: string;
  event: EventDraft;
  /** Occurrences that are not written yet. */
  pending: number;
  first: Date;
  writtenAt: number;
  /** A write of it waits for its turn or is under way. A second one would read the same count. */
  isQueued?: boolean;
  /** We have written this Event before. */
  exists?: true;
  timer?: NodeJS.Timeout;
}

const MAX_SERIES = 2_000;
const MAX_MESSAGE = 1024;
const DEADLINE_MS = 10_000;
/** Events of a thousand pods must not crowd out what mends them. */
const CONCURRENCY = 2;

export function createEventRecorder(options: EventRecorderOptions): EventRecorder {
  const { signal, now = () => new Date(), intervalMs = 10_000 } = options;
  const series = new LRUCache<string, Series>({ max: MAX_SERIES, dispose: ({ timer }) => clearTimeout(timer) });
  signal.addEventListener("abort", () => series.clear(), { once: true });

  const { write, inFlight } = createWriter(options, (entry) => {
    if (entry.pending > 0 && !signal.aborted) schedule(entry);
  });
  function schedule(entry: Series): void {
    if (entry.timer || entry.isQueued) return;
    const waitMs = entry.writtenAt + intervalMs - performance.now();
    if (waitMs <= 0) return write(entry);
    entry.timer = setTimeout(() => write(entry), waitMs).unref();
  }

  return {
    record(object, component, event) {
      if (signal.aborted) return;
      const key = eventKey(object, event.reason);
      const id = `${key.namespace}/${key.name}`;
      const entry = series.get(id) ?? { key, object, component, event, pending: 0, first: now(), writtenAt: -Infinity };
      Object.assign(entry, { object, event, pending: entry.pending + 1 });
      series.set(id, entry);
      schedule(entry);
    },
    async flush() {
      do {
        await Promise.all(inFlight);
        for (const entry of series.values()) if (entry.pending > 0) write(entry);
      } while (inFlight.size > 0);
    },
  };
}

interface Writer {
  /** Queues a write of the series' count. */
  write(entry: Series): void;
  inFlight: ReadonlySet<Promise<void>>;
}

/** `onDone` is called when a write has succeeded or failed. */
function createWriter(
  { client, log, signal, now = () => new Date() }: EventRecorderOptions,
  onDone: (entry: Series) => void,
): Writer {
  const limit = pLimit(CONCURRENCY);
  const inFlight = new Set<Promise<void>>();
  return {
    inFlight,
    write(entry) {
      clearTimeout(entry.timer);
      delete entry.timer;
      // A series that was forgotten may be queued still, so the number of series is no bound.
      if (entry.isQueued || limit.pendingCount >= MAX_SERIES) return;
      entry.isQueued = true;
      const done = limit(async () => {
        if (!signal.aborted) await writeSeries(client, entry, { count: takePending(entry), now: now() });
      })
        .catch((err: unknown) => log.debug({ err, event: entry.key.name }, "an Event was not written"))
        .finally(() => {
          inFlight.delete(done);
          entry.isQueued = false;
          onDone(entry);
        });
      inFlight.add(done);
    },
  };
}

function takePending(entry: Series): number {
  const { pending } = entry;
  entry.pending = 0;
  entry.writtenAt = performance.now();
  return pending;
}

/** Derives the same key in all replicas, so that they count in one Event. Events of cluster-scoped objects live in `default`, as client-go's do. */
function eventKey({ metadata }: KubeObject, reason: string): Required<ObjectKey> {
  const digest = createHash("sha256")
    .update(`${metadata.uid ?? ""}/${reason}`)
    .digest("hex")
    .slice(0, 16);
  return { namespace: metadata.namespace ?? "default", name: `${metadata.name.slice(0, 200)}.${digest}` };
}

/** Whether it was created; false when it is there already. */
async function createEvent(client: KubeClient, entry: Series, at: { count: number; now: Date }): Promise<boolean> {
  try {
    await client.create(Event, toEvent(entry, at), { deadlineMs: DEADLINE_MS });
    entry.exists = true;
    return true;
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
    return false;
  }
}

async function writeSeries(client: KubeClient, entry: Series, at: { count: number; now: Date }): Promise<void> {
  const call = { deadlineMs: DEADLINE_MS };
  const live = entry.exists ? await client.find(Event, entry.key, call) : undefined;
  // Most Events are the only one of their series, so the first is created without a look.
  if (!live && (await createEvent(client, entry, at))) return;
  const known = live ?? (await client.get(Event, entry.key, call));
  const body = {
    count: (known.count ?? 0) + at.count,
    message: toMessage(entry.event),
    lastTimestamp: toTime(at.now),
  };
  try {
    await client.patch(Event, entry.key, { type: "merge", body }, call);
    entry.exists = true;
  } catch (error) {
    // The Event has expired: the next one creates it again.
    if (!isNotFound(error)) throw error;
  }
}

function toEvent(
  { key, object, component, event, first }: Series,
  { count, now }: { count: number; now: Date },
): ObjectOf<typeof Event> {
  const { apiVersion, kind, metadata } = object;
  const { name, namespace, uid, resourceVersion } = metadata;
  return {
    apiVersion: "v1",
    kind: "Event",
    metadata: key,
    involvedObject: {
      apiVersion,
      kind,
      name,
      ...(namespace && { namespace }),
      ...(uid && { uid }),
      ...(resourceVersion && { resourceVersion }),
    },
    type: event.type,
    reason: event.reason,
    message: toMessage(event),
    count,
    firstTimestamp: toTime(first),
    lastTimestamp: toTime(now),
    source: { component },
    reportingComponent: component,
    reportingInstance: "",
  };
}

function toMessage({ message }: EventDraft): string {
  return message.slice(0, MAX_MESSAGE);
}
