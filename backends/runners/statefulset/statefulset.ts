// The runner class `statefulset`: runs an LRP as a StatefulSet. Its pods start without the platform; in return a pod of a lost node is not replaced before the node is back or deleted.
import { ADJUSTMENTS_CAPABILITY, ADJUSTS_POD_TEMPLATE } from "../../../crds/adjustment/adjustable.ts";
import { LABELS, STABLE_LABELS } from "../../../crds/labels.ts";
import { wantedIndexes } from "../../../crds/lrp/index-pool.ts";
import { CONTROLLER_FIELD_MANAGER_PREFIX } from "../../../crds/groups.ts";
import { LRP } from "../../../crds/lrp/lrp.ts";
import { Pod, PodDisruptionBudget, StatefulSet } from "../../../kube/api/builtin.ts";
import {
  defineController,
  Stalled,
  type Controller,
  type ReconcileContext,
  type ReconcileResult,
} from "../../../kube/controller/controller.ts";
import type { Reader } from "../../../kube/cache/reader.ts";
import { classController } from "../../class-controller.ts";
import { findRefusal } from "../../pods/refused-droplet.ts";
import { presentStatus, refuseInstances } from "../../lrp-status.ts";
import { endInstances } from "../../pods/end-workload.ts";
import { presentInstances } from "../../pods/instance-status.ts";
import { isLive } from "../../pods/pod-progress.ts";
import { listObsoletePods, listPodsToRestart } from "../../pods/pod-removal.ts";
import { reportDetached } from "../../pods/report-detached.ts";
import { listProbeFailures } from "../../pods/probe-failures.ts";
import { untilSecondPull } from "../../pods/refused-pull.ts";
import { describeUnknownRendering, RENDERING } from "../../pods/pod-rules.ts";
import { deletePod, labelPod } from "../../pods/pod-writes.ts";
import { watchPods, type PodObject } from "../../pods/slim-pod.ts";
import { listGonePods, watchKubeletWarnings } from "./gone-pods.ts";
import { planLRP, podIndexOf } from "./plan.ts";

const STATEFULSET_CLASS = "statefulset";

/** An LRP exists until its pods have ended: the next version's LRP is made after that. */
const FINALIZER = "cupola.dev/runner-statefulset";

const statefulSetCapabilities: Readonly<Record<string, string>> = {
  dropletKinds: "docker,cnb",
  // `ordinals.start` of a StatefulSet.
  indexes: "range",
  finalizer: FINALIZER,
  rendering: RENDERING,
  [ADJUSTMENTS_CAPABILITY]: ADJUSTS_POD_TEMPLATE,
  crashBackoff: "kubernetes",
  memoryLimit: "enforced",
  serviceFiles: "true",
  volumes: "persistentvolumeclaim",
  ssh: "exec",
  diskLimit: "evicts",
  startsWithoutPlatform: "true",
};

/** The controllers of the class: one renders LRPs, one publishes the capabilities. */
export function statefulSetRunner(): Controller[] {
  return [
    lrpController,
    classController({ name: STATEFULSET_CLASS, role: "runner", capabilities: statefulSetCapabilities }),
  ];
}

const lrpController = defineController({
  name: "statefulset-runner",
  for: LRP,
  owns: [StatefulSet, PodDisruptionBudget],
  watches: [watchPods(), watchKubeletWarnings()],
  selects: (lrp) => lrp.spec.class === STATEFULSET_CLASS,
  permissions: [{ resource: Pod, verbs: ["delete", "patch"] }],
  reconcile: runInstances,
  finalizer: FINALIZER,
  // It goes last when an LRP is detached, and does not come back.
  needsFinalizer: ({ spec }) => !spec.detached,
  finalize: (lrp, context) => endInstances(StatefulSet, lrp, context),
});

async function runInstances(lrp: LRP, context: ReconcileContext): Promise<ReconcileResult> {
  if (lrp.spec.detached)
    return reportDetached(lrp, context, {
      holder: HOLDER,
      readPods: () => readPods(lrp, context.read),
      indexOf: podIndexOf,
    });
  const { rendering } = lrp.spec;
  const wanted = wantedIndexes(lrp.spec);
  const refusal = findRefusal(lrp.spec) ?? findGap(wanted);
  if (refusal !== undefined) return refuseInstances(wanted, refusal);
  const children = planLRP(lrp);
  if (!children) throw new Stalled("RenderingUnknown", describeUnknownRendering(rendering));
  const pods = readPods(lrp, context.read);
  for (const pod of [...listPodsToRestart(lrp, pods, podIndexOf), ...listObsoletePods(pods, podIndexOf)])
    await deletePod(pod, context);
  for (const pod of pods.filter(lacksIndexLabel))
    await labelPod(pod, { [STABLE_LABELS.instanceIndex]: String(podIndexOf(pod)) }, context);
  const now = context.now();
  const presented = presentInstances({
    lrp,
    pods: [...pods, ...listGonePods(context.read, lrp, pods)],
    indexOf: podIndexOf,
    probeFailures: (pod) => listProbeFailures(context.read, pod),
    now,
  });
  return { children, ...presentStatus(presented, wanted.length), ...lookAfterSecondPull(pods, now) };
}

function readPods({ metadata: { namespace = "", name } }: LRP, read: Reader): PodObject[] {
  return read.list(Pod, { namespace, labels: { [LABELS.lrp]: name } });
}

const HOLDER = {
  workload: StatefulSet,
  fieldManager: `${CONTROLLER_FIELD_MANAGER_PREFIX}statefulset-runner`,
  finalizer: FINALIZER,
};

/** A StatefulSet numbers its pods without gaps. */
function findGap(wanted: readonly number[]): string | undefined {
  const gap = wanted.find((index, at) => index !== (wanted[0] ?? 0) + at);
  return gap === undefined
    ? undefined
    : `The instances of class ${STATEFULSET_CLASS} have consecutive indexes, and this LRP's have a gap before ${gap}; set spec.indexes to one range`;
}

/** Time alone makes a pull that stays refused a failure. Times of objects are whole seconds. */
function lookAfterSecondPull(pods: readonly PodObject[], now: Date): { requeueAfterMs?: number } {
  const times = pods.flatMap((pod) => untilSecondPull(pod, now) ?? []);
  return times.length > 0 ? { requeueAfterMs: Math.min(...times) + 1_000 } : {};
}

/** Other people's tools select by the label of the contract; the StatefulSet controller writes only its own. */
function lacksIndexLabel(pod: PodObject): boolean {
  return (
    isLive(pod) && podIndexOf(pod) !== undefined && pod.metadata.labels?.[STABLE_LABELS.instanceIndex] === undefined
  );
}
