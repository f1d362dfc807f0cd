// Keeps the usage log bounded: old segments go, and what they say about things that still run moves to a new one.
import type { Logger } from "pino";
import { planCompaction, type StoredSegment } from "../../controllers/usage-log/plan.ts";
import { deleteAll } from "../../controllers/shared/history-limits.ts";
import { SYSTEM_NAMESPACE } from "../../crds/groups.ts";
import type { PlacedEvent } from "../../crds/usage-log/rules.ts";
import { toSegments } from "../../crds/usage-log/segments.ts";
import type { KubeObject } from "../../kube/api/object.ts";
import type { ResourceRef } from "../../kube/api/resource-ref.ts";
import type { Reader } from "../../kube/cache/reader.ts";
import type { KubeClient } from "../../kube/client/client.ts";

const WRITE_DEADLINE_MS = 10_000;

export interface UsageCompaction {
  /** The log has grown. */
  request(): void;
  /** Does what was requested; one run at a time. Never rejects. */
  run(): Promise<void>;
  /** Whether this process removed the segment of that name. */
  wasRemoved(name: string): boolean;
}

/** A usage log, and which of its events are about what still is. */
export interface CompactedLog<Event extends PlacedEvent> {
  ref: ResourceRef<KubeObject & StoredSegment<Event> & { spec: { writer: string } }>;
  listOpen: (events: readonly Event[]) => Map<string, Event>;
}

interface CompactionDeps<Event extends PlacedEvent> {
  kind: CompactedLog<Event>;
  client: KubeClient;
  read: Reader;
  log: Logger;
  /** Name of this process. */
  writer: string;
}

export function createUsageCompaction<Event extends PlacedEvent>(deps: CompactionDeps<Event>): UsageCompaction {
  const removed = new Set<string>();
  let isRequested = true;
  let isRunning = false;
  return {
    request: () => void (isRequested = true),
    async run() {
      if (!isRequested || isRunning) return;
      [isRequested, isRunning] = [false, true];
      try {
        await compact(deps, removed);
      } catch (err) {
        isRequested = true;
        deps.log.warn({ err }, "old usage events could not be removed; the next look tries again");
      } finally {
        isRunning = false;
      }
    },
    wasRemoved: (name) => removed.has(name),
  };
}

/** Events are written before their old segments go; readers show one that is in two segments once. */
async function compact<Event extends PlacedEvent>(
  { client, read, writer, kind: { ref, listOpen } }: CompactionDeps<Event>,
  removed: Set<string>,
): Promise<void> {
  const { remove, carry } = planCompaction(read.list(ref, { namespace: SYSTEM_NAMESPACE }), listOpen);
  if (remove.length === 0) return;
  for (const segment of toSegments(carry, { writer, purpose: "carried" }))
    await client.create(ref, segment, { deadlineMs: WRITE_DEADLINE_MS });
  for (const { metadata } of remove) removed.add(metadata.name);
  await deleteAll(client, ref, remove);
}
