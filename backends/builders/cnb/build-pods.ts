// The Pods of builds. Pure.
import { LABELS } from "../../../crds/labels.ts";
import { lastContainerOf, type PodObject } from "./pod-progress.ts";

/** Selects the Pods of builds, of all classes that label them as the contract says. */
export const BUILD_POD_SELECTOR = `${LABELS.sourceType}=STG`;

/** Whether the build's containers have ended for good: none is started again. Injected ones may run on. */
export function isOver(pod: PodObject): boolean {
  const phase = pod.status?.phase;
  return phase === "Succeeded" || phase === "Failed" || lastContainerOf(pod)?.state?.terminated !== undefined;
}
