// Which tasks count against a quota. Pure.
import type { Task } from "./task.ts";

/** As in CF: those that wait or run, not those that are being cancelled. */
export function isTaskUnderWay({ spec, status, metadata }: Task): boolean {
  const state = status?.state ?? "Pending";
  return (state === "Pending" || state === "Running") && !spec.cancelled && !metadata.deletionTimestamp;
}
