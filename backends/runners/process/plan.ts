// Plans which instances of an LRP to start, stop and restart, and presents its status. Pure.
import type { LRP, LrpInstance } from "../../../crds/lrp/lrp.ts";
import type { ReadyDraft } from "../../../kube/controller/controller.ts";

/** The open slots: each index with the restart value that its instance has answered. */
export type OpenSlots = readonly { index: number; restart: string | undefined }[];

export interface SlotPlan {
  /** Ascending. */
  open: number[];
  /** Highest index first. */
  close: number[];
  restart: { index: number; value: string }[];
}

/** Compares the open slots with the LRP's spec. */
export function planSlots(open: OpenSlots, spec: Pick<LRP["spec"], "instances" | "restartInstances">): SlotPlan {
  const current = new Set(open.map((slot) => slot.index));
  const wanted = Array.from({ length: spec.instances }, (_, index) => index);
  return {
    open: wanted.filter((index) => !current.has(index)),
    close: open
      .map((slot) => slot.index)
      .filter((index) => index >= spec.instances)
      .sort((a, b) => b - a),
    restart: open.flatMap((slot) => {
      const value = slot.index < spec.instances ? restartValue(spec, slot.index) : undefined;
      return value !== undefined && value !== slot.restart ? [{ index: slot.index, value }] : [];
    }),
  };
}

/** The restart value in the spec for this index. */
export function restartValue(spec: Pick<LRP["spec"], "restartInstances">, index: number): string | undefined {
  return spec.restartInstances?.[String(index)];
}

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

/** Why an instance is not up yet, where that is known. */
function describeWait(instances: readonly LrpInstance[]): string {
  const waiting = instances.find(({ state, details }) => state === "Starting" && details !== undefined);
  return waiting ? `; instance ${waiting.index}: ${waiting.details}` : "";
}

/** Removes fields whose value is undefined. */
export function withoutUndefined(instance: LrpInstance): LrpInstance {
  return Object.fromEntries(Object.entries(instance).filter(([, value]) => value !== undefined)) as LrpInstance;
}
