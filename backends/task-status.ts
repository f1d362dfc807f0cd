// The status and the Ready condition of a TaskRun, the same for all classes that run tasks. Pure.
import type { TaskRun } from "../crds/task-run/task-run.ts";
import { omitUndefined } from "../kube/api/omit-undefined.ts";
import type { ReadyDraft, ReconcileResult } from "../kube/controller/controller.ts";

type Status = NonNullable<TaskRun["status"]>;
/** Without conditions. A missing field is removed from the object. */
export type TaskStatus = Pick<Status, "state" | "exitCode" | "details" | "startedAt" | "finishedAt">;

/** `details` of a run that was cancelled. */
export const CANCELLED = "task was cancelled";

/** A run whose result is known. It never changes again. */
export function isEnded({ status }: TaskRun): boolean {
  return status?.state === "Succeeded" || status?.state === "Failed";
}

/** A run that failed for this reason, now. */
export function failed({ status }: TaskRun, details: string, now: Date): TaskStatus {
  return { state: "Failed", details, finishedAt: toTime(now), ...omitUndefined({ startedAt: status?.startedAt }) };
}

/** `details` of a run above its memory limit. */
export function describeMemoryExcess({ spec }: TaskRun): string {
  return `Exited with status 137 (out of memory: it may use ${spec.memoryMB} MB)`;
}

/** `details` of a run that did not end within its time. */
export function describeTimeout({ spec }: TaskRun): string {
  return `the task did not end within its ${spec.timeoutSeconds} s`;
}

/** The Ready condition of a TaskRun with this status. */
export function toReady({ state, details = "" }: TaskStatus): ReadyDraft {
  if (state === "Succeeded") return { status: "True", reason: "Succeeded", message: "" };
  const failure = state === "Failed" || details !== "" ? { isFailure: true as const } : {};
  return { status: "False", reason: state ?? "Pending", message: details, ...failure };
}

/** The result of a reconcile with this status. */
export function reportTask(status: TaskStatus): ReconcileResult {
  const absent = { exitCode: undefined, details: undefined, startedAt: undefined, finishedAt: undefined };
  return { status: { ...absent, ...status }, ready: toReady(status) };
}

/** Whole seconds, as Kubernetes writes times. */
export function toTime(now: Date): string {
  return now.toISOString().replace(/\.\d+Z$/, "Z");
}
