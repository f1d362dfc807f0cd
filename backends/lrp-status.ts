// The status and the Ready condition of an LRP from its instances, the same for all runners. Pure.
import type { LrpInstance } from "../crds/lrp/lrp.ts";
import type { ReadyDraft } from "../kube/controller/controller.ts";

/** Status and Ready condition of an LRP. */
export interface LrpStatus {
  status: { runningInstances: number; instances: LrpInstance[] };
  ready: ReadyDraft;
}

/** The LRP's status from its instances. */
export function presentStatus(instances: readonly LrpInstance[], wanted: number): LrpStatus {
  const sorted = instances.toSorted((a, b) => a.index - b.index).map(withoutUndefined);
  const runningInstances = sorted.filter((instance) => instance.state === "Running" && instance.ready).length;
  const status = { runningInstances, instances: sorted };
  if (runningInstances >= wanted)
    return {
      status,
      ready: { status: "True", reason: "Running", message: `${runningInstances} of ${wanted} instances are running` },
    };
  const broken = sorted.find((instance) => instance.state === "Crashed" || instance.state === "Down");
  const message = `${runningInstances} of ${wanted} instances are running`;
  if (!broken)
    return { status, ready: { status: "False", reason: "Starting", message: message + describeWait(sorted) } };
  return {
    status,
    ready: {
      status: "False",
      reason: broken.state,
      message: `${message}; instance ${broken.index}: ${broken.details ?? broken.state}`,
      isFailure: true,
    },
  };
}

/** The status of an LRP with these indexes that its class cannot run, for ever: nothing starts, and `cf push` stops at Crashed. */
export function refuseInstances(wanted: readonly number[], details: string): LrpStatus {
  const instances = wanted.map((index) => ({
    index,
    state: "Crashed" as const,
    ready: false,
    details,
  }));
  return presentStatus(instances, wanted.length);
}

/** Why an instance is not up yet, where that is known. */
function describeWait(instances: readonly LrpInstance[]): string {
  const waiting = instances.find(({ state, details }) => state === "Starting" && details !== undefined);
  return waiting ? `; instance ${waiting.index}: ${waiting.details}` : "";
}

/** Removes fields whose value is undefined. */
export function withoutUndefined(instance: LrpInstance): LrpInstance {
  return Object.fromEntries(Object.entries(instance).filter(([, value]) => value !== undefined)) as LrpInstance;
}
