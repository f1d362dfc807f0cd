// The runner class `deployment`: runs an LRP as a Deployment.
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
  // The runner opens the pods' scheduling gate.
  startsWithoutPlatform: "false",
};

/** The controllers of the class: one renders LRPs, one publishes the capabilities. */
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
  // An LRP exists until its pods have ended: the next version's LRP is made after that.
  finalizer: "cupola.dev/runner-deployment",
  finalize: endDeployment,
});

/** Deletes the Deployment in the foreground: the garbage collector removes it after its pods. @throws NotReady until then */
export async function endDeployment(lrp: LRP, { client }: ReconcileContext): Promise<void> {
  const deployment = await client.find(Deployment, lrp.metadata);
  // The Deployment may belong to a later LRP of the same name.
  if (!deployment?.metadata.ownerReferences?.some(({ uid }) => uid === lrp.metadata.uid)) return;
  if (!deployment.metadata.deletionTimestamp)
    await client.delete(Deployment, deployment.metadata, {
      propagationPolicy: "Foreground",
      preconditions: { uid: deployment.metadata.uid },
    });
  throw new NotReady("Stopping", "its pods are ending");
}
