// Which tasks count against a quota. Pure.
import { waitsForQuota } from "../org-quota/counts.ts";
import type { Task } from "./task.ts";

/** As in CF: those that wait for their start or run, not those that are being cancelled. */
export function isTaskUnderWay({ spec, status, metadata }: Task): boolean {
  const state = status?.state ?? "Pending";
  return (state === "Pending" || state === "Running") && !spec.cancelled && !metadata.deletionTimestamp;
}

/** Does it use what quotas limit? One that a quota keeps from its start does not. */
export function usesQuota(task: Task): boolean {
  return isTaskUnderWay(task) && !waitsForQuota(task);
}
