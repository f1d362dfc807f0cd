// How far a pod of an LRP has come. Pure.
import type { ContainerStatus, PodCondition } from "kubernetes-types/core/v1.js";
import type { PodObject } from "./slim-pod.ts";

/** Neither deleted nor ended: it runs, or will. */
export function isLive({ metadata, status }: PodObject): boolean {
  return metadata.deletionTimestamp === undefined && status?.phase !== "Failed" && status?.phase !== "Succeeded";
}

/** The status of the instance's own container, as opposed to sidecars. */
export function findAppContainer({ status }: PodObject): ContainerStatus | undefined {
  return status?.containerStatuses?.find(({ name }) => name === "application");
}

export function findPodCondition({ status }: PodObject, type: string): PodCondition | undefined {
  return status?.conditions?.find((condition) => condition.type === type);
}

export function isPodReady(pod: PodObject): boolean {
  return findPodCondition(pod, "Ready")?.status === "True";
}

/** Milliseconds since the last thing that the pod needed was there: a node, its volumes, its sandbox. */
export function sinceLastStep({ status }: PodObject, now: Date): number {
  const steps = status?.conditions?.filter(({ status: is }) => is === "True") ?? [];
  return (
    now.getTime() - Math.max(...steps.map(({ lastTransitionTime = "" }) => Date.parse(lastTransitionTime) || 0), 0)
  );
}

/** The scheduler's text while no node takes the pod. */
export function findSchedulingFailure(pod: PodObject): string | undefined {
  const scheduled = findPodCondition(pod, "PodScheduled");
  const failed = scheduled?.status === "False" && scheduled.reason === "Unschedulable";
  return failed ? (scheduled.message ?? "no node takes it") : undefined;
}

/** Reasons of a container that waits while nothing has gone wrong. */
const STARTING_REASONS: readonly (string | undefined)[] = [undefined, "ContainerCreating", "PodInitializing"];

/** Ready, or known to have failed: it has been restarted, cannot be started, or finds no node. */
export function hasStartedOrFailed(pod: PodObject): boolean {
  if (isPodReady(pod) || findSchedulingFailure(pod) !== undefined) return true;
  const container = findAppContainer(pod);
  if (!container) return false;
  return container.restartCount > 0 || !STARTING_REASONS.includes(container.state?.waiting?.reason);
}
