// Pods of an LRP that the cluster ended: which of them are kept, and how long the next pod of one that filled its disk waits. Pure.
import { toWantedIndex, type IndexPool } from "../../crds/lrp/index-pool.ts";
import { findPodCondition, isLive } from "./pod-progress.ts";
import type { PodObject } from "./slim-pod.ts";

type IndexOf = (pod: PodObject) => number | undefined;

/** The first wait; each further eviction doubles it, as kubelet does for containers that crash. */
const FIRST_WAIT_MS = 10_000;
/** Evictions that count, at most: the longest wait is 160 s. */
const MAX_COUNTED = 5;
/** Between two evictions that count, at most. */
const COUNTED_MS = 600_000;
/** A pod that is created later was not made because of the eviction. */
const SUCCESSION_MS = 60_000;
/** For so long an eviction is why its index has no running instance: longer than the longest wait. */
const RECENT_MS = 300_000;

/** Ended by the cluster, and not because somebody deleted it: an LRP's containers are always restarted. */
export function isEvicted({ metadata, status }: PodObject): boolean {
  return (status?.phase === "Failed" || status?.phase === "Succeeded") && metadata.deletionTimestamp === undefined;
}

/**
 * Evicted for its own limit, as opposed to a shortage of the node. Kubelet drops the reason and message of an eviction when all containers
 * end with status 0 on SIGTERM (`generateAPIPodStatus`); whatever else than its own limit ends a pod leaves a DisruptionTarget.
 */
export function isDiskFull(pod: PodObject): boolean {
  const why = explainEnd(pod);
  if (pod.status?.phase === "Succeeded" && why === undefined) return true;
  return why !== undefined && /exceed/i.test(why) && /ephemeral|EmptyDir/i.test(why);
}

/** Kubelet's text of why a pod was ended, if it has kept one. */
export function explainEnd(pod: PodObject): string | undefined {
  return pod.status?.message ?? findPodCondition(pod, "DisruptionTarget")?.message ?? pod.status?.reason;
}

/** Whether it is why its index has no running instance now. */
export function isRecentEviction(pod: PodObject, now: Date): boolean {
  return now.getTime() - endedAt(pod) < RECENT_MS;
}

/** The evicted pods of each index that are worth keeping, newest first: the last one, and those before it that lengthen the wait. */
export function keptEvictions(pods: readonly PodObject[], indexOf: IndexOf): Map<number, PodObject[]> {
  const kept = new Map<number, PodObject[]>();
  for (const pod of pods.filter(isEvicted).toSorted((a, b) => createdAt(b) - createdAt(a))) {
    const index = indexOf(pod);
    if (index === undefined) continue;
    const newer = kept.get(index) ?? [];
    if (newer.length === 0 || lengthensWait(pod, newer)) kept.set(index, [...newer, pod]);
  }
  return kept;
}

function lengthensWait(pod: PodObject, newer: readonly PodObject[]): boolean {
  const next = newer.at(-1);
  return (
    next !== undefined &&
    isDiskFull(next) &&
    isDiskFull(pod) &&
    newer.length < MAX_COUNTED &&
    createdAt(next) - createdAt(pod) < COUNTED_MS
  );
}

/**
 * Milliseconds from its creation that a pod waits after these evictions of its index, newest first: an app that filled its disk would be
 * evicted again and again, and nobody would see why.
 */
export function waitAfter(evictions: readonly PodObject[], pod: PodObject): number {
  const [last] = evictions;
  if (!last || !isDiskFull(last) || Math.abs(createdAt(pod) - endedAt(last)) > SUCCESSION_MS) return 0;
  return FIRST_WAIT_MS * 2 ** (evictions.length - 1);
}

/** The longest of these waits, when `waiting` are the pods without an index. */
export function longestWait(
  pods: readonly PodObject[],
  waiting: readonly PodObject[],
  { pool, indexOf }: { pool: IndexPool; indexOf: IndexOf },
): number {
  const running = new Set(pods.filter(isLive).map(indexOf));
  const isWanted = toWantedIndex(pool);
  const evictions = [...keptEvictions(pods, indexOf)].filter(([index]) => isWanted(index) && !running.has(index));
  return Math.max(0, ...evictions.flatMap(([, some]) => waiting.map((pod) => waitAfter(some, pod))));
}

/** Milliseconds until a pod that waits so long may start. None when the clocks of the cluster differ by more than that. */
export function timeLeft(pod: PodObject, waitMs: number, now: Date): number {
  const left = createdAt(pod) + waitMs - now.getTime();
  return left > 0 && left <= waitMs ? left : 0;
}

function createdAt({ metadata }: PodObject): number {
  return Date.parse(metadata.creationTimestamp ?? "");
}

/** The last change of its conditions: kubelet sets one when it evicts. */
function endedAt(pod: PodObject): number {
  const changes = (pod.status?.conditions ?? []).map(({ lastTransitionTime }) => Date.parse(lastTransitionTime ?? ""));
  return Math.max(createdAt(pod), ...changes.filter((time) => !Number.isNaN(time)));
}
