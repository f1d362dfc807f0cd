// Which LRP a process has, and its status. Pure.
import type { LRP, LrpInstance } from "../../crds/lrp/lrp.ts";
import type { RunningLRP } from "../../crds/placement-decision/merged-lrps.ts";
import { defaultInstances } from "../../crds/process/defaults.ts";
import type { Process } from "../../crds/process/process.ts";
import { ownState } from "../../crds/rollout/rules.ts";
import type { Rollout } from "../../crds/rollout/rollout.ts";
import type { Draft } from "../../kube/client/client.ts";
import { grantedInstances, surgeOf } from "../shared/process-demand.ts";
import type { ReconcileResult } from "../../kube/controller/controller.ts";
import { planLRPUpdate } from "./lrp.ts";

/** Desired number of instances while the app runs. */
export function desiredInstances(process: Process): number {
  return process.spec.instances ?? defaultInstances(process.spec.type);
}

const NOTHING_RUNS = { runningInstances: 0, lrp: undefined, revision: undefined };

/** A process of a stopped app. No status before the first start: a new app costs one write less (docs/adr/0019). */
export function planStopped({ status }: Process): ReconcileResult {
  return status?.conditions ? planNoInstances("Stopped") : { children: [], keepStatus: true };
}

/** A process that should not run: its app is stopped, or it has no instances. */
export function planNoInstances(reason: "Stopped" | "NoInstances"): ReconcileResult {
  const message = reason === "Stopped" ? "the app is stopped" : "no instances are wanted";
  return { children: [], status: NOTHING_RUNS, ready: { status: "True", reason, message } };
}

/** A process under a quota that limits processes. */
export interface ProcessQuota {
  /** Grant of the quotas, by the single replica that decides (controllers/org-quota); undefined until it has. */
  grant: NonNullable<Process["status"]>["quota"];
  /** The size of an instance at the current Revision. */
  size: { memoryMB: number; logRateLimitBytesPerSecond: number } | undefined;
}

export interface LRPVersions {
  /** Undefined where no quota limits processes. */
  quota?: ProcessQuota | undefined;
  /** Name of the LRP at the current Revision. */
  name: string;
  /** Name of the current Revision. */
  revision: string;
  /** Existing LRPs of this process, including those under deletion. */
  existing: readonly LRP[];
  /** Builds the draft of the LRP at the current Revision. */
  makeLRP: (instances: number) => Draft;
}

/**
 * Plans the LRP at the current Revision, once no LRP of an earlier start exists. A runner removes the finalizer of a
 * deleted LRP only after its instances have ended, so two versions never run at the same time.
 */
export function planLRPs(process: Process, versions: LRPVersions): ReconcileResult {
  const { name, revision, existing, makeLRP, quota } = versions;
  const current = existing.find((lrp) => lrp.metadata.name === name && !lrp.metadata.deletionTimestamp);
  if (current) return planCurrentLRP(process, current, versions);
  if (existing.length > 0) return planStopping(existing, revision);
  const desired = startableInstances(process, quota);
  if (desired === 0) return planHeld(quota, revision);
  // The new LRP enqueues its process as soon as the cache has it, so the status is written once.
  return { children: [makeLRP(desired)], keepStatus: true };
}

/** Instances of a new LRP: those that are desired and allowed; none of a size that is not. */
export function startableInstances(process: Process, quota: ProcessQuota | undefined): number {
  const desired = desiredInstances(process);
  if (!quota) return desired;
  return quota.size ? Math.min(desired, grantedInstances(quota.grant, quota.size)) : 0;
}

/** Instances of an LRP that runs. One that is older than the limit goes on, but gets no larger. */
export function allowedInstances(
  process: Process,
  current: Pick<RunningLRP, "spec">,
  quota: ProcessQuota | undefined,
): number {
  const desired = desiredInstances(process);
  return quota ? Math.min(desired, quota.grant?.instances ?? current.spec.instances) : desired;
}

/** A process that a quota does not let start. The grant enqueues it again. */
export function planHeld(quota: ProcessQuota | undefined, revision: string): ReconcileResult {
  const { problem } = quota?.grant ?? {};
  return {
    children: [],
    status: { runningInstances: 0, lrp: undefined, revision },
    ready:
      problem === undefined
        ? { status: "False", reason: "QuotaPending", message: "its quota has not been checked yet" }
        : toQuotaExceeded(problem),
  };
}

/** A Rollout whose new instances have no room in a quota beside the old ones: these go on. Undefined when it has, and for the way back. */
export function planHeldRollout(
  process: Process,
  quota: ProcessQuota | undefined,
  rollout: Rollout,
): ReconcileResult | undefined {
  if (!quota || ownState(rollout) === "Canceling") return undefined;
  const wanted = desiredInstances(process);
  const granted = quota.size ? grantedInstances(quota.grant, quota.size) : 0;
  if (granted >= wanted + surgeOf(rollout, wanted)) return undefined;
  const { problem } = quota.grant ?? {};
  // Until the grant says more, the cache only lags behind.
  return problem === undefined ? { keepStatus: true } : { ready: toQuotaExceeded(problem) };
}

function toQuotaExceeded(problem: string): NonNullable<ReconcileResult["ready"]> {
  return {
    status: "False",
    reason: "QuotaExceeded",
    message: `${problem}; stop or shrink others, or raise the quota, and it starts by itself`,
    isFailure: true,
  };
}

function planCurrentLRP(process: Process, current: LRP, { revision, quota }: LRPVersions): ReconcileResult {
  const allowed = allowedInstances(process, current, quota);
  const { problem } = quota?.grant ?? {};
  const running = current.status?.runningInstances ?? 0;
  return {
    children: [planLRPUpdate(current, { instances: allowed, restartInstances: process.spec.restartInstances })],
    status: { runningInstances: running, lrp: current.metadata.name, revision },
    ready:
      problem !== undefined && running >= allowed
        ? toQuotaExceeded(`${running} of ${desiredInstances(process)} instances run: ${problem}`)
        : toProcessReady(current, running, allowed),
  };
}

/** Deletes the LRPs of earlier starts. Their deletion enqueues the process again. */
function planStopping(previous: readonly LRP[], revision: string): ReconcileResult {
  const versions = previous.map((lrp) => lrp.spec.revision).join(", ");
  return {
    children: [],
    status: { runningInstances: 0, lrp: undefined, revision },
    ready: {
      status: "False",
      reason: "Stopping",
      message: `the instances of revision ${versions} are stopping; the new ones start when they have ended`,
    },
  };
}

export function toProcessReady(
  current: Pick<RunningLRP, "status">,
  running: number,
  desired: number,
): ReconcileResult["ready"] {
  if (running >= desired)
    return { status: "True", reason: "Running", message: `${running} of ${desired} instances run` };
  return (
    findInstanceProblem(current.status, running, desired) ?? {
      status: "False",
      reason: "Starting",
      message: describeStart(current.status, running, desired),
    }
  );
}

/** The problem that an instance, or else the runner, reports. */
function findInstanceProblem(status: RunningLRP["status"], running: number, desired: number): ReconcileResult["ready"] {
  const instances = status?.instances ?? [];
  const failed = instances.find((instance) => instance.state === "Crashed" || instance.state === "Down");
  if (failed)
    return {
      status: "False",
      reason: failed.state,
      message: describeFailure(failed, running, desired),
      isFailure: true,
    };
  const rejection = status?.conditions?.find((condition) => condition.type === "Ready" && condition.status === "False");
  return rejection && instances.length === 0
    ? {
        status: "False",
        reason: rejection.reason,
        message: rejection.message,
        ...(!isProgress(rejection) && { isFailure: true }),
      }
    : undefined;
}

function describeStart(status: RunningLRP["status"], running: number, desired: number): string {
  const waiting = status?.instances?.find(({ state, details }) => state === "Starting" && details !== undefined);
  return waiting ? describeFailure(waiting, running, desired) : `${running} of ${desired} instances run`;
}

function isProgress({ reason }: { reason: string }): boolean {
  return reason === "Starting" || reason === "Stopping";
}

function describeFailure(instance: LrpInstance, running: number, desired: number): string {
  return `${running} of ${desired} instances run; instance ${instance.index}: ${instance.details ?? instance.state.toLowerCase()}`;
}
