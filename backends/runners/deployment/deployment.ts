// The runner class `deployment`: an LRP is a Deployment of the cluster.
import { LRP } from "../../../crds/lrp/lrp.ts";
import { Deployment, PodDisruptionBudget } from "../../../kube/api/builtin.ts";
import {
  defineController,
  NotReady,
  Stalled,
  type Controller,
  type ReconcileContext,
} from "../../../kube/controller/controller.ts";
import { classController } from "../../class-controller.ts";
import { planLRP, RENDERING } from "./plan.ts";

export const DEPLOYMENT_CLASS = "deployment";

export const deploymentCapabilities: Readonly<Record<string, string>> = {
  dropletKinds: "docker,cnb",
  rendering: RENDERING,
  crashBackoff: "kubernetes",
  memoryLimit: "enforced",
  diskLimit: "evicts",
  // The index gate is opened by the runner.
  startsWithoutPlatform: "false",
};

/** The controllers of the class: the one that renders, and the one that publishes what the class can do. */
export function deploymentRunner(): Controller[] {
  return [
    lrpController,
    classController({ name: DEPLOYMENT_CLASS, role: "runner", capabilities: deploymentCapabilities }),
  ];
}

const lrpController = defineController({
  name: "deployment-runner",
  for: LRP,
  owns: [Deployment, PodDisruptionBudget],
  selects: (lrp) => lrp.spec.class === DEPLOYMENT_CLASS,

  reconcile(lrp, { read }) {
    const { droplet, rendering } = lrp.spec;
    if (droplet.kind === "host")
      throw new Stalled("NotSupported", "class deployment runs images; this droplet was built for the host");
    if (rendering !== RENDERING)
      throw new Stalled(
        "RenderingUnknown",
        `this release renders version ${RENDERING}, not ${rendering}; restart the app`,
      );
    const deployment = read.find(Deployment, lrp.metadata);
    return { children: planLRP(lrp), status: { runningInstances: deployment?.status?.readyReplicas ?? 0 } };
  },
  // An LRP is gone when its pods are: whoever starts the next version waits for that.
  finalizer: "cupola.dev/runner-deployment",
  finalize: endDeployment,
});

/** Deletes the Deployment in the foreground: the garbage collector removes it after its pods. @throws NotReady until then */
export async function endDeployment(lrp: LRP, { client }: ReconcileContext): Promise<void> {
  const deployment = await client.find(Deployment, lrp.metadata);
  // The Deployment of a later LRP of this name is not ours to end.
  if (!deployment?.metadata.ownerReferences?.some(({ uid }) => uid === lrp.metadata.uid)) return;
  if (!deployment.metadata.deletionTimestamp)
    await client.delete(Deployment, deployment.metadata, {
      propagationPolicy: "Foreground",
      preconditions: { uid: deployment.metadata.uid },
    });
  throw new NotReady("Stopping", "its pods are ending");
}
