// Renders an LRP as a StatefulSet and a PodDisruptionBudget. Pure. A change of its output needs a new version
// beside the old ones, since an update of the platform changes no running pod.
import { wantedIndexes } from "../../../crds/lrp/index-pool.ts";
import type { LRP } from "../../../crds/lrp/lrp.ts";
import type { Draft } from "../../../kube/client/client.ts";
import { rulesOf, type PodRules } from "../../pods/pod-rules.ts";
import { lrpMetadata, planDisruptionBudget, planPodTemplate, selectorOf } from "../../pods/pod-template.ts";
import type { PodObject } from "../../pods/slim-pod.ts";

/** Where the StatefulSet controller writes the index of a pod. */
const POD_INDEX_LABEL = "apps.kubernetes.io/pod-index";

/** Undefined when this release has no such version. */
export function planLRP(lrp: LRP): Draft[] | undefined {
  const rules = rulesOf(lrp.spec.rendering);
  return rules && [planStatefulSet(lrp, rules), ...planDisruptionBudget(lrp)];
}

/** The index that the StatefulSet controller gave the pod. */
export function podIndexOf({ metadata }: PodObject): number | undefined {
  const label = metadata.labels?.[POD_INDEX_LABEL];
  return label !== undefined && /^\d{1,5}$/.test(label) ? Number(label) : undefined;
}

/** The name that the StatefulSet controller gives the pod of an index. */
export function podNameOf({ metadata }: LRP, index: number): string {
  return `${metadata.name}-${index}`;
}

export function indexLabels(index: number): Record<string, string> {
  return { [POD_INDEX_LABEL]: String(index) };
}

function planStatefulSet(lrp: LRP, rules: PodRules): Draft {
  const template = planPodTemplate(lrp, { indexLabel: POD_INDEX_LABEL, rules });
  const [start = 0] = wantedIndexes(lrp.spec);
  return {
    apiVersion: "apps/v1",
    kind: "StatefulSet",
    metadata: { name: lrp.metadata.name, namespace: lrp.metadata.namespace, ...lrpMetadata(lrp) },
    spec: {
      replicas: wantedIndexes(lrp.spec).length,
      ...(start > 0 && { ordinals: { start } }),
      // All pods at once, as instances of Cloud Foundry start.
      podManagementPolicy: "Parallel",
      revisionHistoryLimit: 0,
      selector: selectorOf(lrp),
      template,
    },
  };
}
