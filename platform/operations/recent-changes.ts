// The changes of the last minute that may be events. Every replica keeps them: a new leader records those that the one before it did not.
import type { AuditEvent } from "../../crds/audit-log/audit-log.ts";
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
  /** The events of a change that is judged when it is seen. */
  events?: readonly AuditEvent[];
}

interface RecentChangesOptions {
  /** Kept parts of a change; undefined if it is no event. */
  judge: (seen: SeenChange) => SeenChange | undefined;
  now?: () => Date;
}

export interface RecentChanges {
  /** Calls `listener` with what is kept, oldest first, and then with each new change. Returns the function that ends it. */
  follow(listener: (seen: SeenChange) => void): () => void;
}

/** Skips evicted changes and objects of the first list. */
export function keepRecentChanges(
  informers: Informers,
  refs: readonly ResourceRef[],
  { judge, now = () => new Date() }: RecentChangesOptions,
): RecentChanges {
  let kept: SeenChange[] = [];
  const listeners = new Set<(seen: SeenChange) => void>();
  for (const ref of refs) {
    informers.ensure(ref).store.onChange((change) => {
      if (change.type === "added" ? change.initial : change.evicted) return;
      const seen = judge({ ref, change, at: now() });
      if (!seen) return;
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
