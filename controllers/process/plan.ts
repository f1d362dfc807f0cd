// Which LRPs a process has at this moment, and what it says about them. Pure.
import type { LRP, LrpInstance } from "../../crds/lrp/lrp.ts";
import { defaultInstances } from "../../crds/process/defaults.ts";
import type { Process } from "../../crds/process/process.ts";
import type { Draft } from "../../kube/client/client.ts";
import type { ReconcileResult } from "../../kube/controller/controller.ts";
import { keepLRP } from "./lrp.ts";

/** How many instances are wanted while the app runs. */
export function wantedInstances(process: Process): number {
  return process.spec.instances ?? defaultInstances(process.spec.type);
}

/** The process of an app that is stopped, or wants no instance: nothing runs. */
export function planNothing(reason: "Stopped" | "NoInstances"): ReconcileResult {
  const message = reason === "Stopped" ? "the app is stopped" : "no instances are wanted";
  return { children: [], status: { runningInstances: 0, lrp: undefined }, ready: { status: "True", reason, message } };
}

export interface Versions {
  /** Name of the LRP at the revision in force. */
  name: string;
  /** LRPs of this process that exist. */
  existing: readonly LRP[];
  /** Makes the LRP at the revision in force, when it does not exist. */
  make: (instances: number) => Draft;
}

/**
 * The LRP at the revision in force, and those before it for as long as it is not ready and they still serve somebody. One that
 * serves nobody goes at once: what never started has no one to protect.
 */
export function planVersions(process: Process, { name, existing, make }: Versions): ReconcileResult {
  const wanted = wantedInstances(process);
  const current = existing.find((lrp) => lrp.metadata.name === name);
  const restartInstances = process.spec.restartInstances;
  const child = current ? keepLRP(current, { instances: wanted, restartInstances }) : make(wanted);
  const running = current?.status?.runningInstances ?? 0;
  const before = running >= wanted ? [] : existing.filter((lrp) => lrp.metadata.name !== name && (lrp.status?.runningInstances ?? 0) > 0);
  const children = [child, ...before.map((lrp) => keepLRP(lrp, { instances: lrp.spec.instances, restartInstances: lrp.spec.restartInstances }))];
  // What is made now wakes its process as soon as it is seen: until then other processes get theirs.
  if (!current) return { children, silent: true };
  return { children, status: { runningInstances: running, lrp: name }, ready: readyOf(current, running, wanted) };
}

function readyOf(current: LRP | undefined, running: number, wanted: number): ReconcileResult["ready"] {
  if (running >= wanted) return { status: "True", reason: "Running", message: `${running} of ${wanted} instances run` };
  return troubleOf(current?.status, running, wanted) ?? { status: "False", reason: "Starting", message: `${running} of ${wanted} instances run` };
}

/** What an instance, or else the runner, says is wrong. */
function troubleOf(status: LRP["status"], running: number, wanted: number): ReconcileResult["ready"] {
  const instances = status?.instances ?? [];
  const failed = instances.find((instance) => instance.state === "Crashed" || instance.state === "Down");
  if (failed) return { status: "False", reason: failed.state, message: failure(failed, running, wanted) };
  const refusal = status?.conditions?.find((condition) => condition.type === "Ready" && condition.status === "False");
  return refusal && instances.length === 0 ? { status: "False", reason: refusal.reason, message: refusal.message } : undefined;
}

function failure(instance: LrpInstance, running: number, wanted: number): string {
  return `${running} of ${wanted} instances run; instance ${instance.index}: ${instance.details ?? instance.state.toLowerCase()}`;
}
