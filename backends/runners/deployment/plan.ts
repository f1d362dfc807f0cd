// Renders an LRP as a Deployment and a PodDisruptionBudget. Pure. This is rendering version 1: a change of its output needs a new version
// beside it, since an update of the platform changes no running pod.
import { STABLE_LABELS } from "../../../crds/labels.ts";
import { INDEX_GATE } from "../../../crds/lrp/index-gate.ts";
import type { LRP } from "../../../crds/lrp/lrp.ts";
import type { Draft } from "../../../kube/client/client.ts";
import { planDisruptionBudget, planPodTemplate, selectorOf } from "../../pods/pod-template.ts";

export function planLRP(lrp: LRP): Draft[] {
  return [planDeployment(lrp), ...planDisruptionBudget(lrp)];
}

function planDeployment(lrp: LRP): Draft {
  const template = planPodTemplate(lrp, {
    indexLabel: STABLE_LABELS.instanceIndex,
    schedulingGates: [{ name: INDEX_GATE }],
  });
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name: lrp.metadata.name, namespace: lrp.metadata.namespace, ...template.metadata },
    spec: {
      replicas: lrp.spec.instances,
      revisionHistoryLimit: 0,
      selector: selectorOf(lrp),
      strategy: { type: "RollingUpdate", rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } },
      template,
    },
  };
}
