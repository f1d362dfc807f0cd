// Which LRPs a process has at this moment, and what it says about them. Pure.
import type { LRP, LrpInstance } from "../../crds/lrp/lrp.ts";
import { defaultInstances } from "../../crds/process/defaults.ts";
import type { Process } from "../../crds/process/process.ts";
import type { Draft } from "../../kube/client/client.ts";
import type { ReconcileResult } from "../../kube/controller/controller.ts";
import { planLRPUpdate } from "./lrp.ts";

/** How many instances are wanted while the app runs. */
export function desiredInstances(process: Process): number {
  return process.spec.instances ?? defaultInstances(process.spec.type);
}

/** The process of an app that is stopped, or wants no instance: nothing runs. */
export function planNoInstances(reason: "Stopped" | "NoInstances"): ReconcileResult {
  const message = reason === "Stopped" ? "the app is stopped" : "no instances are wanted";
  return { children: [], status: { runningInstances: 0, lrp: undefined }, ready: { status: "True", reason, message } };
}

export interface LRPVersions {
  /** Name of the LRP at the revision in force. */
  name: string;
  /** LRPs of this process that exist. */
  existing: readonly LRP[];
  /** Makes the LRP at the revision in force, when it does not exist. */
  makeLRP: (instances: number) => Draft;
}

/**
 * The LRP at the revision in force, and those before it for as long as it is not ready and they still serve somebody. One that
 * serves nobody goes at once: what never started has no one to protect.
 */
export function planLRPs(process: Process, { name, existing, makeLRP }: LRPVersions): ReconcileResult {
  const desired = desiredInstances(process);
  const current = existing.find((lrp) => lrp.metadata.name === name);
  const restartInstances = process.spec.restartInstances;
  const child = current ? planLRPUpdate(current, { instances: desired, restartInstances }) : makeLRP(desired);
  const running = current?.status?.runningInstances ?? 0;
  const previous =
    running >= desired
      ? []
      : existing.filter((lrp) => lrp.metadata.name !== name && (lrp.status?.runningInstances ?? 0) > 0);
  const children = [
    child,
    ...previous.map((lrp) =>
      planLRPUpdate(lrp, { instances: lrp.spec.instances, restartInstances: lrp.spec.restartInstances }),
    ),
  ];
  // What is made now wakes its process as soon as it is seen: until then other processes get theirs.
  if (!current) return { children, keepStatus: true };
  return {
    children,
    status: { runningInstances: running, lrp: name },
    ready: toProcessReady(current, running, desired),
  };
}

function toProcessReady(current: LRP | undefined, running: number, desired: number): ReconcileResult["ready"] {
  if (running >= desired)
    return { status: "True", reason: "Running", message: `${running} of ${desired} instances run` };
  return (
    findInstanceProblem(current?.status, running, desired) ?? {
      status: "False",
      reason: "Starting",
      message: `${running} of ${desired} instances run`,
    }
  );
}

/** What an instance, or else the runner, says is wrong. */
function findInstanceProblem(status: LRP["status"], running: number, desired: number): ReconcileResult["ready"] {
  const instances = status?.instances ?? [];
  const failed = instances.find((instance) => instance.state === "Crashed" || instance.state === "Down");
  if (failed) return { status: "False", reason: failed.state, message: describeFailure(failed, running, desired) };
  const rejection = status?.conditions?.find((condition) => condition.type === "Ready" && condition.status === "False");
  return rejection && instances.length === 0
    ? { status: "False", reason: rejection.reason, message: rejection.message }
    : undefined;
}

function describeFailure(instance: LrpInstance, running: number, desired: number): string {
  return `${running} of ${desired} instances run; instance ${instance.index}: ${instance.details ?? instance.state.toLowerCase()}`;
}
