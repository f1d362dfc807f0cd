// The index of the instance that a pod is. Pure.
import { LABELS } from "../../crds/labels.ts";

/** Where a StatefulSet puts the index of a pod. */
const STATEFUL_INDEX = "apps.kubernetes.io/pod-index";

/** The index as text, by the labels of a pod of any runner; undefined before it has one. */
export function indexOfPod(labels: Record<string, string> = {}): string | undefined {
  return labels[LABELS.instanceIndex] ?? labels[STATEFUL_INDEX];
}
