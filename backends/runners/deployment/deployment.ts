// The runner class `deployment`: runs an LRP as a Deployment.
import { ADJUSTMENTS_CAPABILITY, ADJUSTS_POD_TEMPLATE } from "../../../crds/adjustment/adjustable.ts";
import { wantedIndexes } from "../../../crds/lrp/index-pool.ts";
import { CONTROLLER_FIELD_MANAGER_PREFIX } from "../../../crds/groups.ts";
import { LRP } from "../../../crds/lrp/lrp.ts";
import { Deployment, Pod, PodDisruptionBudget } from "../../../kube/api/builtin.ts";
import {
  defineController,
  Stalled,
  type Controller,
  type ReconcileContext,
  type ReconcileResult,
} from "../../../kube/controller/controller.ts";
import { classController } from "../../class-controller.ts";
import { findRefusal } from "../../pods/refused-droplet.ts";
import { presentStatus, refuseInstances } from "../../lrp-status.ts";
import { endInstances } from "../../pods/end-workload.ts";
import { longestWait } from "../../pods/evictions.ts";
import { presentInstances } from "../../pods/instance-status.ts";
import { isLive } from "../../pods/pod-progress.ts";
import { listObsoletePods, listPodsToRestart } from "../../pods/pod-removal.ts";
import { describeUnknownRendering, RENDERING } from "../../pods/pod-rules.ts";
import { reportDetached } from "../../pods/report-detached.ts";
import { listProbeFailures, watchProbeFailures } from "../../pods/probe-failures.ts";
import { deletePod } from "../../pods/pod-writes.ts";
import { watchPods, type PodObject } from "../../pods/slim-pod.ts";
import { DEPLOYMENT_CLASS } from "./class-name.ts";
import { indexLabelOf, isGated } from "./instance-index/open-gate.ts";
import { planLRP } from "./plan.ts";
import { readSettledPods } from "./settled-pods.ts";
import { describeMissingPods, nextLook, startHasNews, createWaitingPodEvents } from "./waiting-pods.ts";

/** An LRP exists until its pods have ended: the next version's LRP is made after that. */
const FINALIZER = "cupola.dev/runner-deployment";

const deploymentCapabilities: Readonly<Record<string, string>> = {
  dropletKinds: "docker,cnb",
  indexes: "any",
  finalizer: FINALIZER,
  [ADJUSTMENTS_CAPABILITY]: ADJUSTS_POD_TEMPLATE,
  crashBackoff: "kubernetes",
  memoryLimit: "enforced",
  serviceFiles: "true",
  volumes: "persistentvolumeclaim",
  ssh: "exec",
  diskLimit: "evicts",
  // The operation instance-index opens the pods' scheduling gate.
  startsWithoutPlatform: "false",
};

/** The controllers of the class: one renders LRPs, one publishes the capabilities. */
export function deploymentRunner(): Controller[] {
  return [
    lrpController(),
    classController({
      name: DEPLOYMENT_CLASS,
      role: "runner",
      capabilities: { ...deploymentCapabilities, rendering: RENDERING },
    }),
  ];
}

function lrpController(): Controller {
  const recordWaiting = createWaitingPodEvents();
  return defineController({
    name: "deployment-runner",
    for: LRP,
    owns: [Deployment, PodDisruptionBudget],
    watches: [watchPods(), watchProbeFailures()],
    selects: (lrp) => lrp.spec.class === DEPLOYMENT_CLASS,
    permissions: [{ resource: Pod, verbs: ["delete"] }],

    async reconcile(lrp, context) {
      if (lrp.spec.detached)
        return reportDetached(lrp, context, {
          holder: HOLDER,
          readPods: () => readSettledPods(lrp, context.read),
          indexOf: indexLabelOf,
        });
      const { rendering } = lrp.spec;
      const refusal = findRefusal(lrp.spec);
      if (refusal !== undefined) return refuseInstances(wantedIndexes(lrp.spec), refusal);
      const children = planLRP(lrp);
      if (!children) throw new Stalled("RenderingUnknown", describeUnknownRendering(rendering));
      const pods = await readSettledPods(lrp, context.read);
      for (const pod of [...listPodsToRestart(lrp, pods, indexLabelOf), ...listObsoletePods(pods, indexLabelOf)])
        await deletePod(pod, context);
      const moment = { now: context.now(), waitMs: waitOf(pods, lrp) };
      recordWaiting(pods, context, moment);
      return { children, ...reportInstances({ lrp, pods, ...moment }, context) };
    },
    finalizer: FINALIZER,
    // It goes last when an LRP is detached, and does not come back.
    needsFinalizer: ({ spec }) => !spec.detached,
    finalize: (lrp, context) => endInstances(Deployment, lrp, context),
  });
}

const HOLDER = {
  workload: Deployment,
  fieldManager: `${CONTROLLER_FIELD_MANAGER_PREFIX}deployment-runner`,
  finalizer: FINALIZER,
};

/** How long gates stay closed on purpose, after pods that filled their disk. */
function waitOf(pods: readonly PodObject[], { spec }: LRP): number {
  const waiting = pods.filter((pod) => isGated(pod) && isLive(pod));
  return waiting.length > 0 ? longestWait(pods, waiting, { pool: spec, indexOf: indexLabelOf }) : 0;
}

interface Instances {
  lrp: LRP;
  pods: readonly PodObject[];
  now: Date;
  /** How long gates stay closed on purpose, in milliseconds. */
  waitMs: number;
}

function reportInstances(facts: Instances, { read }: ReconcileContext): ReconcileResult {
  const { lrp, pods } = facts;
  const missing = describeMissingPods(read.find(Deployment, lrp.metadata), pods, facts);
  const instances = presentInstances({
    ...facts,
    indexOf: indexLabelOf,
    probeFailures: (pod) => listProbeFailures(read, pod),
    missing,
  });
  const requeueAfterMs = nextLook(lrp, pods, facts);
  const again = requeueAfterMs === undefined ? {} : { requeueAfterMs };
  // A start that goes well needs one write of the status.
  if (!startHasNews(instances, facts)) return { keepStatus: true, ...again };
  return { ...presentStatus(instances, wantedIndexes(lrp.spec).length), ...again };
}
