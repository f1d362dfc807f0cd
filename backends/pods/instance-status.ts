// The instances of an LRP whose instances are pods: state, address and problem of each index. Pure.
import type { ContainerStatus } from "kubernetes-types/core/v1.js";
import { describeProblem, type InstanceProblem } from "../../crds/lrp/instance-problem.ts";
import { wantedIndexes } from "../../crds/lrp/index-pool.ts";
import type { LRP, LrpInstance } from "../../crds/lrp/lrp.ts";
import { omitUndefined } from "../../kube/api/omit-undefined.ts";
import { isEvicted, isRecentEviction } from "./evictions.ts";
import { findAppContainer, isLive, isPodReady } from "./pod-progress.ts";
import { findLastExit, findSidecarExit, findStartProblem, toEvictionProblem } from "./pod-problems.ts";
import type { ProbeFailure } from "./probe-failures.ts";
import type { PodObject } from "./slim-pod.ts";

/** Known facts about an LRP's pods. */
export interface PodFacts {
  lrp: LRP;
  pods: readonly PodObject[];
  /** The instance index that a pod has; undefined while it has none. */
  indexOf: (pod: PodObject) => number | undefined;
  /** Failed probes of a pod, oldest first. */
  probeFailures: (pod: PodObject) => readonly ProbeFailure[];
  /** Why pods are missing. */
  missing?: { state: "Crashed" | "Down"; problem: InstanceProblem } | undefined;
  now: Date;
}

type Presented = Omit<LrpInstance, "index" | "restart">;

/** How long a start may fail its checks before the details say so, in milliseconds. */
const SLOW_START_MS = 3_000;

/** An entry for each wanted index. */
export function presentInstances(facts: PodFacts): LrpInstance[] {
  const { spec } = facts.lrp;
  const byIndex = groupByIndex(facts);
  return wantedIndexes(spec).map((index) => {
    const restart = spec.restartInstances?.[String(index)];
    return { index, ...presentInstance(byIndex.get(index) ?? [], facts), ...(restart !== undefined && { restart }) };
  });
}

function groupByIndex({ pods, indexOf }: PodFacts): Map<number, PodObject[]> {
  const grouped = new Map<number, PodObject[]>();
  for (const pod of pods) {
    const index = indexOf(pod);
    if (index !== undefined) grouped.set(index, [...(grouped.get(index) ?? []), pod]);
  }
  return grouped;
}

function presentInstance(pods: readonly PodObject[], facts: PodFacts): Presented {
  const live = newest(pods.filter(isLive));
  const evictions = pods.filter(isEvicted);
  const eviction = describeEviction(newest(evictions), facts);
  const shown = live ? presentPod(live, facts) : presentMissing(facts, eviction);
  const crashCount = evictions.length + ((live && findAppContainer(live)?.restartCount) ?? 0);
  return {
    ...shown,
    ...(shown.state === "Starting" && shown.details === undefined && eviction !== undefined && { details: eviction }),
    ...(crashCount > 0 && { crashCount }),
  };
}

function describeEviction(last: PodObject | undefined, { lrp, now }: PodFacts): string | undefined {
  return last && isRecentEviction(last, now) ? describeProblem(toEvictionProblem(last, lrp.spec)) : undefined;
}

function presentMissing({ missing }: PodFacts, eviction: string | undefined): Presented {
  if (missing) return { state: missing.state, ready: false, details: describeProblem(missing.problem) };
  return eviction === undefined
    ? { state: "Starting", ready: false }
    : { state: "Crashed", ready: false, details: eviction };
}

function presentPod(pod: PodObject, facts: PodFacts): Presented {
  const container = findAppContainer(pod);
  const startedAt = container?.state?.running?.startedAt;
  if (!container || startedAt === undefined) return presentStopped(pod, facts);
  return hasStarted(container, facts.lrp)
    ? presentRunning(pod, startedAt, facts)
    : presentStarting(pod, startedAt, facts);
}

/** Kubelet says first that the startup probe has succeeded and then that the container is ready: without a readiness probe that is one thing. */
function hasStarted({ started, ready }: ContainerStatus, { spec }: LRP): boolean {
  return spec.readinessHealthCheck.type === "process" ? ready : (started ?? ready);
}

function presentStopped(pod: PodObject, { lrp: { spec }, probeFailures, now }: PodFacts): Presented {
  const found = findStartProblem(pod, spec, { failures: probeFailures(pod), now });
  if (!found) return { state: "Starting", ready: false };
  const { state, problem, since } = found;
  return { state, ready: false, details: describeProblem(problem), ...omitUndefined({ since }) };
}

/** Its health check has not succeeded yet. */
function presentStarting(
  pod: PodObject,
  startedAt: string,
  { lrp: { spec }, probeFailures, now }: PodFacts,
): Presented {
  const isSlow = now.getTime() - Date.parse(startedAt) >= SLOW_START_MS;
  const failures = probeFailures(pod);
  const problem = (isSlow ? findStartFailure(failures) : undefined) ?? findLastExit(pod, spec, failures);
  return { state: "Starting", ready: false, ...(problem && { details: describeProblem(problem) }) };
}

/** Address and start are shown once an instance runs, so that a start needs one write. */
function presentRunning(pod: PodObject, startedAt: string, { lrp: { spec }, probeFailures }: PodFacts): Presented {
  const ready = isPodReady(pod);
  const problem = ready ? undefined : (findSidecarExit(pod, spec) ?? findUnreadiness(probeFailures(pod)));
  return {
    state: "Running",
    ready,
    since: startedAt,
    guid: pod.metadata.uid ?? "",
    ...omitUndefined({ host: pod.status?.podIP }),
    ...(spec.ports.length > 0 && { ports: spec.ports.map((port) => ({ port, hostPort: port })) }),
    ...(problem && { details: describeProblem(problem) }),
  };
}

function findStartFailure(failures: readonly ProbeFailure[]): InstanceProblem | undefined {
  const last = failures.filter(({ probe }) => probe === "Startup").at(-1);
  return last && { kind: "notHealthyYet", why: last.why };
}

function findUnreadiness(failures: readonly ProbeFailure[]): InstanceProblem | undefined {
  const last = failures.filter(({ probe }) => probe === "Readiness").at(-1);
  return last && { kind: "notReady", why: last.why };
}

function newest(pods: readonly PodObject[]): PodObject | undefined {
  const created = ({ metadata }: PodObject): string => metadata.creationTimestamp ?? "";
  return pods.toSorted((a, b) => (created(a) < created(b) ? 1 : -1))[0];
}
