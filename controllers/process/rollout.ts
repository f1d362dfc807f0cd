// The LRPs of a web process while a Rollout replaces one version by another. Pure.
import type { LRP } from "../../crds/lrp/lrp.ts";
import type { Process } from "../../crds/process/process.ts";
import type { Revision } from "../../crds/revision/revision.ts";
import type { Rollout } from "../../crds/rollout/rollout.ts";
import type { Draft } from "../../kube/client/client.ts";
import type { ReconcileResult } from "../../kube/controller/controller.ts";
import { countInstances } from "../shared/rollout-counts.ts";
import { findLRPOf, type RolloutStep, type RolloutVersions } from "../shared/rollouts.ts";
import { planLRPUpdate } from "./lrp.ts";
import { desiredInstances } from "./plan.ts";

export interface RolloutLRPs {
  versions: RolloutVersions;
  step: RolloutStep<LRP>;
  /** Existing LRPs of this process, including those under deletion. */
  existing: readonly LRP[];
  /** Builds the draft of the target's LRP. */
  makeLRP: (target: Revision, instances: number) => Draft;
}

/**
 * Keeps the LRP of the version that the app runs, even at no instances, so that a cancellation can return to it; any other version is deleted when it has
 * none. An LRP that is being deleted is left alone.
 */
export function planRolloutLRPs(process: Process, { versions, step, existing, makeLRP }: RolloutLRPs): ReconcileResult {
  const { target, running, rollout } = versions;
  const { restartInstances } = process.spec;
  const growing = findLRPOf(target, existing);
  const rest = step.rest
    .filter(({ lrp, instances }) => instances > 0 || lrp.spec.revision === String(running.spec.version))
    .map(({ lrp, instances }) => planLRPUpdate(lrp, { instances, restartInstances }));
  const isGoing = existing.some(
    ({ spec, metadata }) => spec.revision === String(target?.spec.version) && metadata.deletionTimestamp,
  );
  const made = planTarget({ target, growing, isGoing, step, makeLRP, restartInstances });
  const routable = existing.reduce((sum, lrp) => sum + countInstances(lrp).routable.size, 0);
  return {
    children: [...rest, ...made],
    status: {
      runningInstances: routable,
      lrp: findLRPOf(running, existing)?.metadata.name,
      revision: running.metadata.name,
    },
    ready: toReady(rollout, routable, desiredInstances(process)),
  };
}

function planTarget({
  target,
  growing,
  isGoing,
  step,
  makeLRP,
  restartInstances,
}: Pick<RolloutLRPs, "step" | "makeLRP"> & {
  target: Revision | undefined;
  growing: LRP | undefined;
  isGoing: boolean;
  restartInstances: Process["spec"]["restartInstances"];
}): Draft[] {
  if (!target || isGoing) return [];
  return growing ? [planLRPUpdate(growing, { instances: step.next, restartInstances })] : [makeLRP(target, step.next)];
}

export function toReady(rollout: Rollout, routable: number, wanted: number): ReconcileResult["ready"] {
  const message = `${routable} of ${wanted} instances run; rollout ${rollout.metadata.name} is under way`;
  return routable >= wanted
    ? { status: "True", reason: "Running", message }
    : { status: "False", reason: "Starting", message };
}
