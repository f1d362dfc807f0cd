// Pods that do not come, or wait for their index: what the LRP's status says of them, and when to look again. All but the recorder is pure.
import type { Deployment as DeploymentType } from "kubernetes-types/apps/v1.js";
import { LRUCache } from "lru-cache";
import { describeProblem, type InstanceProblem } from "../../../crds/lrp/instance-problem.ts";
import type { LRP, LrpInstance } from "../../../crds/lrp/lrp.ts";
import type { ReconcileContext } from "../../../kube/controller/controller.ts";
import { findAppContainer, isLive } from "../../pods/pod-progress.ts";
import { untilSecondPull } from "../../pods/refused-pull.ts";
import type { PodObject } from "../../pods/slim-pod.ts";
import { isGated } from "./instance-index/open-gate.ts";

/** A gate opens in milliseconds; a pod that waits longer waits for an operation that does not run. */
const WAIT_MS = 5_000;
/** Within this time a start that goes well has something to say. */
const QUIET_START_MS = 3_000;
/** Pods of which an Event has been recorded. */
const MAX_RECORDED = 10_000;

interface Moment {
  now: Date;
  /** How long gates stay closed on purpose, in milliseconds: after pods that filled their disk. */
  waitMs?: number;
}

interface MissingPods {
  state: "Crashed" | "Down";
  problem: InstanceProblem;
}

/** Why instances have no pod; undefined while pods are on their way. */
export function describeMissingPods(
  deployment: Pick<DeploymentType, "status"> | undefined,
  pods: readonly PodObject[],
  { now, waitMs = 0 }: Moment,
): MissingPods | undefined {
  const failure = deployment?.status?.conditions?.find(
    ({ type, status }) => type === "ReplicaFailure" && status === "True",
  );
  if (failure) return toCreationProblem(failure.message ?? failure.reason ?? "");
  return pods.some((pod) => isWaiting(pod, { now, waitMs }))
    ? { state: "Down", problem: { kind: "waitsForIndex" } }
    : undefined;
}

/** The names of refused pods are random, so that they would change the text with each attempt. */
function toCreationProblem(message: string): MissingPods {
  const why = message.replace(/^(Error creating: )?pods "[^"]*" is forbidden: /, "").trim();
  if (why.startsWith("exceeded quota"))
    return { state: "Down", problem: { kind: "quotaExceeded", why: why.replace(/^exceeded quota: /, "") } };
  return { state: "Crashed", problem: { kind: "cannotStart", why } };
}

function isWaiting(pod: PodObject, { now, waitMs = 0 }: Moment): boolean {
  return isGated(pod) && isLive(pod) && ageOf(pod, now) >= WAIT_MS + waitMs;
}

function ageOf({ metadata }: PodObject | LRP, now: Date): number {
  return now.getTime() - Date.parse(metadata.creationTimestamp ?? "");
}

/** Whether the status is worth a write: not while the first instances of an LRP start as they should. */
export function startHasNews(instances: readonly LrpInstance[], { lrp, now }: { lrp: LRP; now: Date }): boolean {
  if (lrp.status?.instances !== undefined || instances.length === 0) return true;
  const isQuiet = instances.every(({ state, details }) => state === "Starting" && details === undefined);
  return !isQuiet || ageOf(lrp, now) >= QUIET_START_MS;
}

/** When time alone changes what the status says: milliseconds from now, or undefined. */
export function nextLook(lrp: LRP, pods: readonly PodObject[], { now, waitMs = 0 }: Moment): number | undefined {
  const times = [
    ...(lrp.status?.instances === undefined ? [QUIET_START_MS - ageOf(lrp, now)] : []),
    ...pods.filter((pod) => isGated(pod) && isLive(pod)).map((pod) => WAIT_MS + waitMs - ageOf(pod, now)),
    ...pods.flatMap((pod) => slowStart(pod, now)),
    ...pods.flatMap((pod) => untilSecondPull(pod, now) ?? []),
  ].filter((inMs) => inMs > 0);
  // Times of objects are whole seconds.
  return times.length > 0 ? Math.min(...times) + 1_000 : undefined;
}

/** A failing health check is worth a word after some seconds. */
function slowStart(pod: PodObject, now: Date): number[] {
  const container = findAppContainer(pod);
  const startedAt = container?.state?.running?.startedAt;
  return startedAt !== undefined && container?.started === false
    ? [QUIET_START_MS - (now.getTime() - Date.parse(startedAt))]
    : [];
}

/** Records an Event on each pod that waits for its index, once, so that `kubectl describe pod` says why. */
export function createWaitingPodEvents(): (
  pods: readonly PodObject[],
  context: Pick<ReconcileContext, "recordEvent">,
  moment: Moment,
) => void {
  const recorded = new LRUCache<string, true>({ maxSize: MAX_RECORDED, sizeCalculation: () => 1 });
  return (pods, { recordEvent }, moment) => {
    for (const pod of pods.filter((one) => isWaiting(one, moment))) {
      const uid = pod.metadata.uid ?? "";
      if (recorded.has(uid)) continue;
      recorded.set(uid, true);
      recordEvent(pod, {
        type: "Warning",
        reason: "WaitingForIndex",
        message: describeProblem({ kind: "waitsForIndex" }),
      });
    }
  };
}
