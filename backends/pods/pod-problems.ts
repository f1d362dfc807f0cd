// Why the pod of an instance does not run, from what Kubernetes says of it. Pure.
import { startSeconds } from "../../crds/health-check.ts";
import type { ContainerStateTerminated, ContainerStateWaiting } from "kubernetes-types/core/v1.js";
import type { InstanceProblem } from "../../crds/lrp/instance-problem.ts";
import type { LRP } from "../../crds/lrp/lrp.ts";
import { sidecarContainerName, sidecarOutputType } from "../../crds/sidecar.ts";
import { explainEnd, isDiskFull } from "./evictions.ts";
import { findAppContainer, findSchedulingFailure, sinceLastStep } from "./pod-progress.ts";
import type { ProbeFailure } from "./probe-failures.ts";
import { isFirstRefusal, isPermanentPullError } from "./refused-pull.ts";
import type { PodObject } from "./slim-pod.ts";

/** `Crashed` when waiting does not help, so that `cf push` stops; `Down` while it may. */
export interface PodProblem {
  state: "Crashed" | "Down";
  problem: InstanceProblem;
  /** When it began, if Kubernetes says so. */
  since?: string | undefined;
}

/** Names in the texts. A task has no health check, so that it is of type `process`. */
type Spec = Pick<LRP["spec"], "droplet" | "env" | "processType" | "memoryMB" | "diskMB" | "healthCheck">;

/** Why a pod that was not started has no running container; undefined while it is on its way. @param facts `now` decides how long an image may be refused */
export function findStartProblem(
  pod: PodObject,
  spec: Spec,
  { failures, now }: { failures: readonly ProbeFailure[]; now: Date },
): PodProblem | undefined {
  const unschedulable = findSchedulingFailure(pod);
  if (unschedulable !== undefined)
    return { state: "Down", problem: { kind: "unschedulable", why: sentence(unschedulable) } };
  const end = findEnd(pod);
  if (end) return { state: "Crashed", problem: toExitProblem(end, spec, failures), since: end.finishedAt };
  const waiting = findAppContainer(pod)?.state?.waiting;
  const problem = waiting && toWaitingProblem(waiting, spec);
  return problem && mayBePulled(pod, problem, now) ? { ...problem, state: "Down" } : problem;
}

function mayBePulled(pod: PodObject, { problem }: PodProblem, now: Date): boolean {
  return problem.kind === "imageUnavailable" && isFirstRefusal(problem.why, sinceLastStep(pod, now));
}

/** The end of the last run, while the next one has not begun. */
function findEnd(pod: PodObject): ContainerStateTerminated | undefined {
  const { state, lastState } = findAppContainer(pod) ?? {};
  return state?.terminated ?? (state?.waiting?.reason === "CrashLoopBackOff" ? lastState?.terminated : undefined);
}

/** How the last run ended, for an instance that starts again. */
export function findLastExit(
  pod: PodObject,
  spec: Spec,
  failures: readonly ProbeFailure[],
): InstanceProblem | undefined {
  const end = findAppContainer(pod)?.lastState?.terminated;
  return end && toExitProblem(end, spec, failures);
}

/** How a sidecar ended that does not run: its pod is not ready until kubelet has started it again. */
export function findSidecarExit(
  pod: PodObject,
  spec: Spec & Pick<LRP["spec"], "sidecars">,
): InstanceProblem | undefined {
  for (const { name, memoryMB = spec.memoryMB } of spec.sidecars ?? []) {
    const end = findSidecarEnd(pod, name);
    if (end)
      return toExitProblem(end, { ...spec, memoryMB, processType: sidecarOutputType(spec.processType, name) }, []);
  }
  return undefined;
}

function findSidecarEnd({ status }: PodObject, name: string): ContainerStateTerminated | undefined {
  const container = status?.containerStatuses?.find((one) => one.name === sidecarContainerName(name));
  return container?.ready === false ? (container.state?.terminated ?? container.lastState?.terminated) : undefined;
}

/** Why a pod that the cluster ended is gone: too much on its disk, or a shortage or shutdown of its node. */
export function toEvictionProblem(pod: PodObject, spec: Spec): InstanceProblem {
  return isDiskFull(pod)
    ? { kind: "diskFull", processType: spec.processType, diskMB: spec.diskMB }
    : { kind: "evicted", why: sentence(explainEnd(pod) ?? "no reason is given") };
}

const IMAGE_REASONS: ReadonlySet<string> = new Set([
  "ErrImagePull",
  "ImagePullBackOff",
  "InvalidImageName",
  "ErrImageNeverPull",
  "ImageInspectError",
  "RegistryUnavailable",
  "SignatureValidationFailed",
]);
const STARTING_REASONS: ReadonlySet<string> = new Set(["", "ContainerCreating", "PodInitializing"]);

function toWaitingProblem({ reason = "", message = "" }: ContainerStateWaiting, spec: Spec): PodProblem | undefined {
  if (STARTING_REASONS.has(reason)) return undefined;
  if (IMAGE_REASONS.has(reason)) return toImageProblem(reason, message, spec);
  if (reason === "CreateContainerConfigError") return toConfigProblem(message, spec);
  return { state: "Crashed", problem: { kind: "cannotStart", why: sentence(message || reason) } };
}

function toImageProblem(reason: string, message: string, spec: Spec): PodProblem {
  const image = spec.droplet.image ?? "";
  // Between two attempts kubelet puts its own text before the error of the last one.
  const error = message.replace(/^Back-off pulling image "[^"]*"(: ErrImagePull: )?/, "");
  const cause = error
    .replace(/^rpc error: code = \w+ desc = /, "")
    .replace(/^failed to pull and unpack image "[^"]*": /, "")
    .replace(/^failed to resolve reference "[^"]*": /, "")
    .replace(/^\S+: (not found)$/, "$1");
  const isPermanent = isPermanentPullError(cause) || reason === "InvalidImageName";
  return {
    state: isPermanent ? "Crashed" : "Down",
    problem: { kind: "imageUnavailable", image, why: sentence(cause || "it could not be pulled; it is tried again") },
  };
}

function toConfigProblem(message: string, spec: Spec): PodProblem {
  const secret = /secret "([^"]+)" not found/.exec(message)?.[1];
  if (secret !== undefined) return { state: "Down", problem: missingSecret(spec, secret) };
  const [, key, of] = /couldn't find key (\S+) in Secret (\S+)/.exec(message) ?? [];
  if (key !== undefined && of !== undefined)
    return { state: "Down", problem: missingSecret(spec, of.slice(of.indexOf("/") + 1), key) };
  if (message.includes("runAsNonRoot"))
    return {
      state: "Crashed",
      problem: {
        kind: "runsAsRoot",
        image: spec.droplet.image ?? "",
        why: sentence(message.replace(/ \(pod: .*/, "")),
      },
    };
  return { state: "Down", problem: { kind: "cannotStart", why: sentence(message) } };
}

function missingSecret({ env }: Spec, secret: string, key?: string): InstanceProblem {
  const variable = env.find(({ valueFrom }) => {
    const ref = valueFrom?.secretKeyRef;
    return ref?.name === secret && (key === undefined || ref.key === key);
  });
  return { kind: "secretMissing", secret, ...(key && { key }), ...(variable && { variable: variable.name }) };
}

function toExitProblem(end: ContainerStateTerminated, spec: Spec, failures: readonly ProbeFailure[]): InstanceProblem {
  const { processType, memoryMB } = spec;
  if (end.reason === "OOMKilled") return { kind: "outOfMemory", processType, memoryMB };
  if (end.reason === "StartError" || end.reason === "ContainerCannotRun")
    return { kind: "cannotStart", why: sentence(end.message ?? end.reason) };
  return toProbeProblem(end, spec, failures) ?? { kind: "exited", processType, status: end.exitCode };
}

/** Kubelet ends a container whose startup or liveness probe has failed; only an Event says so. */
function toProbeProblem(
  { startedAt = "", finishedAt = "" }: ContainerStateTerminated,
  { healthCheck }: Spec,
  failures: readonly ProbeFailure[],
): InstanceProblem | undefined {
  // Times are whole seconds.
  const during = failures.filter(({ at }) => at >= startedAt && Date.parse(at) <= Date.parse(finishedAt) + 1000);
  const last = during.filter(({ probe }) => probe !== "Readiness").at(-1);
  if (last?.probe === "Liveness") return { kind: "unhealthy", why: last.why };
  const seconds = startSeconds(healthCheck);
  // Probes fail while an app starts, too: kubelet ends it after the last one.
  const hasTimedOut = Date.parse(finishedAt) - Date.parse(startedAt) >= (seconds - 5) * 1000;
  return last && hasTimedOut ? { kind: "neverHealthy", seconds, why: last.why } : undefined;
}

/** Without a full stop, on one line. */
function sentence(text: string): string {
  return text.trim().replace(/\s+/g, " ").replace(/\.$/, "");
}
