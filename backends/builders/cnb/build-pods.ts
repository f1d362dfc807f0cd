// Finds a Staging's Pod, and a Pod's Staging. Pure.
import { LABELS } from "../../../crds/labels.ts";
import { Staging } from "../../../crds/staging/staging.ts";
import type { KubeObject, ObjectKey } from "../../../kube/api/object.ts";
import { apiVersionOf } from "../../../kube/api/resource-ref.ts";
import type { PodObject } from "./pod-progress.ts";

/** Selects the Pods of builds, of all classes that label them as the contract says. */
export const BUILD_POD_SELECTOR = `${LABELS.sourceType}=STG`;

/** The Staging that owns the Pod, if one does. */
export function toStagingKeys({ metadata }: KubeObject): ObjectKey[] {
  const { namespace, ownerReferences = [] } = metadata;
  return ownerReferences
    .filter(({ apiVersion, kind }) => apiVersion === apiVersionOf(Staging) && kind === Staging.kind)
    .map(({ name }) => ({ ...(namespace && { namespace }), name }));
}

export function isOwnedBy({ metadata }: KubeObject, staging: Staging): boolean {
  return metadata.ownerReferences?.some(({ uid }) => uid === staging.metadata.uid) ?? false;
}

/** Whether all containers have ended for good. */
export function isOver({ status }: PodObject): boolean {
  return status?.phase === "Succeeded" || status?.phase === "Failed";
}
