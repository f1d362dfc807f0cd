// Renders an LRP as a Deployment and a PodDisruptionBudget. Pure. A change of its output needs a new version beside the old ones
// (backends/pods/pod-rules.ts), since an update of the platform changes no running pod.
import { STABLE_LABELS } from "../../../crds/labels.ts";
import { INDEX_GATE } from "../../../crds/lrp/index-gate.ts";
import { wantedIndexes } from "../../../crds/lrp/index-pool.ts";
import type { LRP } from "../../../crds/lrp/lrp.ts";
import type { Draft } from "../../../kube/client/client.ts";
import { rulesOf, type PodRules } from "../../pods/pod-rules.ts";
import { lrpMetadata, planDisruptionBudget, planPodTemplate, selectorOf } from "../../pods/pod-template.ts";

/** Undefined when this release has no such version. */
export function planLRP(lrp: LRP): Draft[] | undefined {
  const rules = rulesOf(lrp.spec.rendering);
  return rules && [planDeployment(lrp, rules), ...planDisruptionBudget(lrp)];
}

function planDeployment(lrp: LRP, rules: PodRules): Draft {
  const template = planPodTemplate(lrp, {
    indexLabel: STABLE_LABELS.instanceIndex,
    rules,
    schedulingGates: [{ name: INDEX_GATE }],
  });
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name: lrp.metadata.name, namespace: lrp.metadata.namespace, ...lrpMetadata(lrp) },
    spec: {
      replicas: wantedIndexes(lrp.spec).length,
      revisionHistoryLimit: 0,
      selector: selectorOf(lrp),
      strategy: { type: "RollingUpdate", rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } },
      template,
    },
  };
}
