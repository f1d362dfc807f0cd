// Writers of an object besides the platform: the managers of its fields. Caches drop managedFields, so they are recorded before.
import type { KubeObject } from "../../kube/api/object.ts";

/** A manager other than the platform's, and the time of its last write: RFC 3339, whole seconds. */
export interface OutsideWriter {
  manager: string;
  time: string;
}

/** Managers of every process of the platform begin so. */
const PLATFORM = "cupola";

interface Writers {
  outside: readonly OutsideWriter[];
  isPlatformWritten: boolean;
}

const NONE: Writers = { outside: [], isPlatformWritten: true };
/** Kept of objects with such a writer. */
const writers = new WeakMap<object, Writers>();

/** A watch's transform. Keyed by metadata, which later transforms keep; most objects have no such writer and cost nothing. */
export function recordOutsideWriters<T extends KubeObject>(object: T): T {
  const { metadata } = object;
  const entries = (metadata.managedFields ?? []).filter(({ subresource }) => !subresource);
  const outside = entries.filter(({ manager = "" }) => !manager.startsWith(PLATFORM));
  if (outside.length > 0)
    writers.set(metadata, {
      outside: outside.map(({ manager = "", time = "" }) => ({ manager, time })),
      isPlatformWritten: entries.length > outside.length,
    });
  return object;
}

/** Managers besides the platform's. */
export function outsideWritersOf({ metadata }: KubeObject): readonly OutsideWriter[] {
  return (writers.get(metadata) ?? NONE).outside;
}

/** Whether the platform manages a field of an object, too, that has an outside writer. */
export function isPlatformWritten({ metadata }: KubeObject): boolean {
  return (writers.get(metadata) ?? NONE).isPlatformWritten;
}
