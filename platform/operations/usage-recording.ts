// A term of a recorder of usage events, of apps or of services: it compares at the start, with each change and once a second, and keeps its log bounded.
import type { Logger } from "pino";
import type { PlacedEvent } from "../../crds/usage-log/rules.ts";
import type { KubeObject } from "../../kube/api/object.ts";
import type { Informers } from "../../kube/cache/informers.ts";
import type { Change } from "../../kube/cache/reader.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import type { EventWriter } from "../../telemetry/audit/event-writer.ts";
import { createUsageCompaction, type CompactedLog } from "./usage-compaction.ts";

/** Milliseconds between two tries to read what a usage event needs. */
const RETRY_MS = 1_000;

export interface UsageRecorderOptions {
  informers: Informers;
  log: Logger;
  /** Name of this process. */
  writer: string;
}

/** Compares what exists with the log. */
export interface ComparingRecorder {
  /** Everything is compared again at the next look. */
  restart(): void;
  /** Compares again what could not be read before, or everything. */
  retry(): void;
}

export interface UsageRecording<Event extends PlacedEvent> {
  kind: CompactedLog<Event>;
  writer: Pick<EventWriter<Event>, "close">;
  recorder: ComparingRecorder;
  /** Ends of the subscriptions by which the recorder learns of changes. */
  subscriptions: readonly (() => void)[];
}

/** Resolves when the last events have been written after the signal. */
export function runUsageRecording<Event extends PlacedEvent>(
  { kind, writer, recorder, subscriptions }: UsageRecording<Event>,
  { informers, log, writer: name }: UsageRecorderOptions,
  { client, signal }: { client: KubeClient; signal: AbortSignal },
): Promise<void> {
  const compaction = createUsageCompaction({ kind, client, read: informers.read, log, writer: name });
  const unfollow = informers.store(kind.ref).onChange((change) => {
    if (change.type === "added") compaction.request();
    if (!isForeign(change, name, compaction.wasRemoved)) return;
    recorder.restart();
    // A purge writes what there is before it deletes: what changes from now on follows from that.
    if (change.type === "added") recorder.retry();
  });
  recorder.retry();
  const timer = setInterval(() => {
    recorder.retry();
    void compaction.run();
  }, RETRY_MS).unref();
  return new Promise<void>((resolve) => {
    signal.addEventListener("abort", () => {
      clearInterval(timer);
      for (const stop of [...subscriptions, unfollow]) stop();
      resolve(writer.close());
    });
  });
}

/** Whether somebody else changed the log: a purge, by the API or by `kubectl delete`. */
function isForeign(
  change: Change<KubeObject & { spec: { writer: string } }>,
  writer: string,
  wasRemoved: (name: string) => boolean,
): boolean {
  if (change.type === "added") return change.object.spec.writer !== writer;
  return change.type === "deleted" && !wasRemoved(change.object.metadata.name);
}
