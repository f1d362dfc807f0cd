// The segments that one process appends to: one at a time per namespace, a new one when it is full or gone.
import { LRUCache } from "lru-cache";
import { newGUID } from "../../crds/guid.ts";
import type { ResourceRef } from "../../kube/api/resource-ref.ts";
import { isNotFound } from "../../kube/client/errors.ts";
import type { KubeClient } from "../../kube/client/client.ts";

const WRITE_DEADLINE_MS = 10_000;
/** Namespaces whose segment is remembered; in another one a new segment begins. */
const MAX_SEGMENTS = 5_000;

/** A kind whose objects have `spec.writer` and `spec.events`. */
export interface SegmentKind {
  ref: ResourceRef;
  /** Names of its objects begin so. */
  prefix: string;
  /** Events in one segment. */
  maxEvents: number;
}

export interface Segments<Event> {
  /** Appends at most `maxEvents` events. @throws KubeError */
  append(namespace: string, events: readonly Event[]): Promise<void>;
}

/** `writer` names this process. */
export function createSegments<Event>(
  client: Pick<KubeClient, "create" | "patch">,
  writer: string,
  kind: SegmentKind,
): Segments<Event> {
  const open = new LRUCache<string, { name: string; length: number }>({ max: MAX_SEGMENTS });
  const prefix = `${kind.prefix}-${newGUID().slice(-12)}`;
  let made = 0;

  async function begin(namespace: string, events: readonly Event[]): Promise<void> {
    const name = `${prefix}-${++made}`;
    const draft = { metadata: { name, namespace }, spec: { writer, events } };
    await client.create(kind.ref, draft, { deadlineMs: WRITE_DEADLINE_MS });
    open.set(namespace, { name, length: events.length });
  }

  return {
    async append(namespace, events) {
      const segment = open.get(namespace);
      if (!segment || segment.length + events.length > kind.maxEvents) return begin(namespace, events);
      const body = events.map((value) => ({ op: "add", path: "/spec/events/-", value }));
      const key = { namespace, name: segment.name };
      // When the outcome of a write is unknown, its events are written again: into a new segment, where readers see them once by GUID.
      open.delete(namespace);
      try {
        await client.patch(kind.ref, key, { type: "json", body }, { deadlineMs: WRITE_DEADLINE_MS });
      } catch (error) {
        if (!isNotFound(error)) throw error;
        return begin(namespace, events);
      }
      open.set(namespace, { ...segment, length: segment.length + events.length });
    },
  };
}
