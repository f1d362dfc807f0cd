// The status of a TaskRun from its Job and pod. Pure.
import type { JobCondition } from "kubernetes-types/batch/v1.js";
import type { ContainerState, ContainerStateTerminated } from "kubernetes-types/core/v1.js";
import { describeProblem } from "../../../crds/lrp/instance-problem.ts";
import type { TaskRun } from "../../../crds/task-run/task-run.ts";
import type { Job } from "../../../kube/api/builtin.ts";
import { omitUndefined } from "../../../kube/api/omit-undefined.ts";
import { findStartProblem } from "../../pods/pod-problems.ts";
import { findAppContainer } from "../../pods/pod-progress.ts";
import type { PodObject } from "../../pods/slim-pod.ts";
import { describeMemoryExcess, describeTimeout, type TaskStatus } from "../../task-status.ts";

/** The status while the Job exists. `pod` is its only one, once there is one. */
export function observeTask(task: TaskRun, job: Job, pod: PodObject | undefined): TaskStatus {
  const { running, terminated: end }: ContainerState = (pod && findAppContainer(pod)?.state) ?? {};
  const startedAt = (end ?? running ?? task.status)?.startedAt;
  const outcome = findOutcome(job);
  if (outcome) return toEnd({ task, outcome, end, pod, startedAt });
  if (startedAt !== undefined) return { state: "Running", startedAt };
  return { state: "Pending", ...omitUndefined({ details: pod && findObstacle(pod, task) }) };
}

interface Ending {
  task: TaskRun;
  outcome: JobCondition;
  end: ContainerStateTerminated | undefined;
  pod: PodObject | undefined;
  startedAt: string | undefined;
}

function toEnd({ task, outcome, end, pod, startedAt }: Ending): TaskStatus {
  const isSuccess = outcome.type === "Complete";
  return {
    state: isSuccess ? "Succeeded" : "Failed",
    ...(!isSuccess && { details: describeFailure(task, { reason: outcome.reason, end, pod }) }),
    ...omitUndefined({ exitCode: end?.exitCode, startedAt, finishedAt: end?.finishedAt ?? outcome.lastTransitionTime }),
  };
}

function findOutcome({ status }: Job): JobCondition | undefined {
  return status?.conditions?.find(
    (condition) => (condition.type === "Complete" || condition.type === "Failed") && condition.status === "True",
  );
}

function describeFailure(
  task: TaskRun,
  found: { reason: string | undefined; end: ContainerStateTerminated | undefined; pod: PodObject | undefined },
): string {
  if (found.reason === "DeadlineExceeded") return describeTimeout(task);
  if (found.end?.reason === "OOMKilled") return describeMemoryExcess(task);
  if (found.pod?.status?.reason === "Evicted") return `its pod was evicted: ${found.pod.status.message ?? ""}`;
  if (found.end) return `Exited with status ${found.end.exitCode}`;
  return "its pod has gone; whether the command ran is not known";
}

/** A task has no probes, and its details are the same however long an image is refused. */
const NO_PROBES = { failures: [], now: new Date(0) };

/** Why the pod does not start yet. */
function findObstacle(pod: PodObject, { spec }: TaskRun): string | undefined {
  const found = findStartProblem(pod, { ...spec, processType: "", healthCheck: { type: "process" } }, NO_PROBES);
  return found && describeProblem(found.problem);
}
