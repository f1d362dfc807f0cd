// The changes of the last minute, which every replica keeps: a new leader records those that the one before it did not.
import type { KubeObject } from "../../kube/api/object.ts";
import type { ResourceRef } from "../../kube/api/resource-ref.ts";
import type { Informers } from "../../kube/cache/informers.ts";
import type { Change } from "../../kube/cache/reader.ts";

/** How long a change is kept, milliseconds: longer than any election. */
const KEEP_MS = 60_000;
/** Changes kept at most. The oldest give way. */
const MAX_KEPT = 1_000;

export interface SeenChange {
  ref: ResourceRef;
  change: Change<KubeObject>;
  at: Date;
}

export interface RecentChanges {
  /** Calls `listener` with what is kept, oldest first, and then with each new change. Returns the function that ends it. */
  follow(listener: (seen: SeenChange) => void): () => void;
}

/** What a watch lost is left out, and what the first list finds: it is no news. */
export function keepRecentChanges(
  informers: Informers,
  refs: readonly ResourceRef[],
  now: () => Date = () => new Date(),
): RecentChanges {
  let kept: SeenChange[] = [];
  const listeners = new Set<(seen: SeenChange) => void>();
  for (const ref of refs) {
    informers.ensure(ref).store.onChange((change) => {
      if (change.type === "added" ? change.initial : change.evicted) return;
      const seen = { ref, change, at: now() };
      kept.push(seen);
      if (kept.length > MAX_KEPT || isOld(kept[0], seen.at))
        kept = kept.slice(-MAX_KEPT).filter((one) => !isOld(one, seen.at));
      for (const listener of listeners) listener(seen);
    });
  }
  return {
    follow(listener) {
      const at = now();
      for (const seen of kept) if (!isOld(seen, at)) listener(seen);
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
}

function isOld(seen: SeenChange | undefined, now: Date): boolean {
  return seen !== undefined && now.getTime() - seen.at.getTime() > KEEP_MS;
}
