// Plans the instance indexes of one LRP's pods: which gated pod gets which index, and which pod is replaced because its index is not wanted. Pure.
import { indexesInOrder, toWantedIndex, wantedIndexes, type IndexPool } from "../../../../crds/lrp/index-pool.ts";

/** A pod of the LRP. */
export interface IndexedPod {
  uid: string;
  name: string;
  /** RFC 3339, whole seconds. */
  createdAt: string;
  /** Its index: its label, or one that was sent to the API server and is not in the cache yet. */
  index: number | undefined;
  /** Waits behind our scheduling gate, by the cache. */
  gated: boolean;
  /** Neither terminating nor ended: its index is taken. */
  live: boolean;
  ready: boolean;
  /** Ready, or known to have failed: nobody waits for its start. */
  startedOrFailed: boolean;
}

export interface IndexPlan {
  /** Gated pods and their indexes, the oldest pod first. Pods that have been given an index before keep it. */
  assign: { uid: string; index: number }[];
  /** The uid of a pod to delete, so that a new one takes a lower index. */
  replace: string | undefined;
}

/**
 * Each gated pod gets the lowest index of the pool that no live pod has. While there are more live pods than instances, as in a rollout of the
 * Deployment, indexes beyond the last instance are given too: such a pod is replaced once the surplus has gone.
 * Of a detached LRP people decide how many there are, and no pod is replaced.
 * `reserved`: indexes of pods that the cache does not show yet.
 */
export function planIndexes(
  pods: readonly IndexedPod[],
  pool: IndexPool & { detached?: boolean | undefined },
  reserved: readonly number[] = [],
): IndexPlan {
  const live = pods.filter((pod) => pod.live);
  const taken = new Set([...reserved, ...live.flatMap(({ index }) => (index === undefined ? [] : [index]))]);
  const assign: IndexPlan["assign"] = [];
  const free = indexesInOrder(pool).filter((index) => !taken.has(index));
  for (const { uid, index = free.next().value } of live.filter(({ gated }) => gated).toSorted(byAge)) {
    if (index === undefined) break;
    assign.push({ uid, index });
    taken.add(index);
  }
  return { assign, replace: pool.detached ? undefined : planReplacement(live, pool) };
}

/**
 * Replaces a single pod at a time: the next is replaced when all others are ready or have failed. Not while pods are missing or surplus, since the
 * ReplicaSet is about to change them.
 */
function planReplacement(live: readonly IndexedPod[], pool: IndexPool): string | undefined {
  if (
    live.length !== wantedIndexes(pool).length ||
    live.some(({ startedOrFailed, index }) => !startedOrFailed || index === undefined)
  )
    return undefined;
  const isWanted = toWantedIndex(pool);
  const seen = new Set<number | undefined>();
  const unwanted = live.toSorted(byAge).filter(({ index = 0 }) => {
    // An older pod has the same index.
    const isDouble = seen.has(index);
    seen.add(index);
    return isDouble || !isWanted(index);
  });
  return unwanted.toSorted(byUrgency)[0]?.uid;
}

function byAge(a: IndexedPod, b: IndexedPod): number {
  return compare(a.createdAt, b.createdAt) || compare(a.name, b.name);
}

/** Pods that are not ready first, then the highest index. */
function byUrgency(a: IndexedPod, b: IndexedPod): number {
  return Number(a.ready) - Number(b.ready) || (b.index ?? 0) - (a.index ?? 0) || byAge(b, a);
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
