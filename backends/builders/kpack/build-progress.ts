// Progress of a build by the status of its kpack Build. Pure.
import type { StagingCode } from "../staging-failure.ts";
import { explainExit } from "../lifecycle-exits.ts";
import type { KpackBuildObject, KpackBuildStatus } from "./kpack-build.ts";

export type KpackProgress =
  | { kind: "running"; reason: string; message: string }
  /** The image by digest. */
  | { kind: "exported"; image: string }
  | { kind: "failed"; code: StagingCode; message: string; at: string | undefined };

/** The names that kpack gives the lifecycle's phases, in the order of `stepStates`. */
const STEPS = ["prepare", "analyze", "detect", "restore", "build", "export", "completion"] as const;

export function toKpackProgress({ status = {} }: KpackBuildObject): KpackProgress {
  const condition = status.conditions?.find(({ type }) => type === "Succeeded");
  if (condition?.status === "False") return toFailure(status, condition);
  if (condition?.status === "True" && status.latestImage) return { kind: "exported", image: status.latestImage };
  return { kind: "running", reason: condition?.reason ?? "Building", message: describe(condition) };
}

function describe(condition: { message?: string } | undefined): string {
  return condition?.message ?? "kpack builds";
}

function toFailure(
  status: KpackBuildStatus,
  { message = "", lastTransitionTime }: { message?: string; lastTransitionTime?: string },
): KpackProgress {
  const failed = findFailedStep(status);
  const at = failed?.finishedAt ?? lastTransitionTime;
  if (/deadline|DeadlineExceeded/i.test(message) && !failed)
    return { kind: "failed", code: "StagingTimeExpired", message: "the build took too long", at };
  if (failed?.reason === "OOMKilled")
    return {
      kind: "failed",
      code: "InsufficientResources",
      message: "the build needed more memory than it may have",
      at,
    };
  const { code, text } = failed
    ? explainExit(failed.step, failed.exitCode)
    : { code: "StagingError" as const, text: "kpack could not build" };
  return { kind: "failed", code, message: message ? `${text}: ${message}` : pointToLog(text, failed), at };
}

/** kpack says nothing of a step whose program wrote no termination message, so the reason is in its log alone. */
function pointToLog(text: string, failed: unknown): string {
  return failed === undefined || text.includes("the log says") ? text : `${text}; the log says why`;
}

function findFailedStep({
  stepStates = [],
}: KpackBuildStatus): { step: string; exitCode: number; reason?: string; finishedAt?: string } | undefined {
  const at = stepStates.findIndex(({ terminated }) => terminated !== undefined && terminated.exitCode !== 0);
  const terminated = stepStates[at]?.terminated;
  return terminated && { step: STEPS[at] ?? "build", ...terminated };
}
