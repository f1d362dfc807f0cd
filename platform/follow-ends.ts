// Tells when objects have reached their end, such as the start of an LRP, and how long it took.
import { LRUCache } from "lru-cache";
import type { LRP } from "../crds/lrp/lrp.ts";
import type { KubeObject } from "../kube/api/object.ts";
import type { ResourceRef } from "../kube/api/resource-ref.ts";
import type { Informers } from "../kube/cache/informers.ts";
import type { Change } from "../kube/cache/reader.ts";

/** Objects under way whose beginning is remembered. The oldest give way, and their time is not observed. */
const MAX_UNDER_WAY = 10_000;

/** An LRP that a quota holds at no instances has not started. */
export function isStarted({ spec, status }: LRP): boolean {
  return spec.instances > 0 && (status?.runningInstances ?? 0) >= spec.instances;
}

interface Followed<T> {
  isEnded: (object: T) => boolean;
  now: () => number;
}

/** Calls `onEnd` at the first end of an object that is seen, with its time in seconds where its creation was seen, too. */
export function follow<T extends KubeObject>(
  informers: Informers,
  ref: ResourceRef<T>,
  { isEnded, now }: Followed<T>,
  onEnd: (object: T, seconds: number | undefined) => void,
): () => void {
  const begun = new LRUCache<string, number>({ maxSize: MAX_UNDER_WAY, sizeCalculation: () => 1 });
  return followChanges(informers, ref, (change) => {
    const { uid = "" } = change.object.metadata;
    if (change.type === "deleted") return void begun.delete(uid);
    if (change.type === "added" && !change.initial) begun.set(uid, now());
    if (!isEnded(change.object) || (change.type === "modified" ? isEnded(change.old) : change.initial)) return;
    const at = begun.get(uid);
    begun.delete(uid);
    onEnd(change.object, at === undefined ? undefined : (now() - at) / 1000);
  });
}

export function followChanges<T extends KubeObject>(
  informers: Informers,
  ref: ResourceRef<T>,
  listener: (change: Change<T>) => void,
): () => void {
  const handle = informers.ensure(ref);
  const stop = handle.store.onChange(listener);
  return () => {
    stop();
    handle.release();
  };
}
