// The status of a detached LRP: people decide what runs, and the status shows it.
import type { LRP } from "../../crds/lrp/lrp.ts";
import type { ReconcileContext, ReconcileResult } from "../../kube/controller/controller.ts";
import { presentStatus } from "../lrp-status.ts";
import { handOver, withLiveInstances, type Holder } from "./hand-over.ts";
import { presentInstances } from "./instance-status.ts";
import { listProbeFailures } from "./probe-failures.ts";
import type { PodObject } from "./slim-pod.ts";

export interface DetachedWorkload {
  holder: Holder;
  /** Called after the hand-over. */
  readPods: () => readonly PodObject[] | Promise<readonly PodObject[]>;
  indexOf: (pod: PodObject) => number | undefined;
}

/** Hands the workload over where that has not been done yet. */
export async function reportDetached(
  lrp: LRP,
  context: ReconcileContext,
  { holder, readPods, indexOf }: DetachedWorkload,
): Promise<ReconcileResult> {
  await handOver(lrp, holder, context);
  const pods = await readPods();
  const shown = withLiveInstances(lrp, pods, indexOf);
  const instances = presentInstances({
    lrp: shown,
    pods,
    indexOf,
    probeFailures: (pod) => listProbeFailures(context.read, pod),
    now: context.now(),
  });
  return presentStatus(instances, shown.spec.instances);
}
