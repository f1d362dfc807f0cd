// The Pods of builds. Pure.
import { LABELS } from "../../../crds/labels.ts";
import type { PodObject } from "./pod-progress.ts";

/** Selects the Pods of builds, of all classes that label them as the contract says. */
export const BUILD_POD_SELECTOR = `${LABELS.sourceType}=STG`;

/** Whether all containers have ended for good: none is started again. */
export function isOver({ status }: PodObject): boolean {
  const { phase, containerStatuses = [] } = status ?? {};
  if (phase === "Succeeded" || phase === "Failed") return true;
  return containerStatuses.length > 0 && containerStatuses.every(({ state }) => state?.terminated !== undefined);
}
