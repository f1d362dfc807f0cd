// The status of a Staging of this class, for each stage of its build. Pure.
import type { Staging } from "../../crds/staging/staging.ts";
import type { ReconcileResult } from "../../kube/controller/controller.ts";
import { presentFailure, type StagingFailure } from "./staging-failure.ts";

type Status = NonNullable<Staging["status"]>;

export function planPending(reason: string, message: string): ReconcileResult {
  return { status: { state: "Pending" }, ready: { status: "False", reason, message } };
}

/** `note` says why it does not go on, if it does not. */
export function planRunning(startedAt: string, note?: { reason: string; message: string }): ReconcileResult {
  const { reason, message } = note ?? { reason: "Building", message: "the build is running" };
  return { status: { state: "Running", startedAt }, ready: { status: "False", reason, message } };
}

export function planFailed(
  startedAt: string | undefined,
  failure: Pick<StagingFailure, "code" | "message">,
): ReconcileResult {
  return planEnded({ startedAt, error: presentFailure(failure) });
}

export function planSucceeded(startedAt: string | undefined, droplet: NonNullable<Status["droplet"]>): ReconcileResult {
  return planEnded({ startedAt, droplet });
}

/** The same status again for a Staging that has ended. */
export function planEnded({
  startedAt,
  droplet,
  error,
}: Pick<Status, "startedAt" | "droplet" | "error">): ReconcileResult {
  if (error)
    return {
      status: { state: "Failed", startedAt, error },
      ready: { status: "False", reason: error.code, message: error.message },
    };
  return { status: { state: "Succeeded", startedAt, droplet } };
}

export function hasEnded({ status }: Staging): boolean {
  return status?.state === "Succeeded" || status?.state === "Failed";
}
