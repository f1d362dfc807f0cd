// Objects that a Staging owns, and the owner of a found object. Pure.
import { Staging } from "../../crds/staging/staging.ts";
import type { KubeObject, ObjectKey, OwnerReference } from "../../kube/api/object.ts";
import { apiVersionOf } from "../../kube/api/resource-ref.ts";

/** Deleting the Staging deletes what it owns. */
export function toOwnerReference({ metadata }: Staging): OwnerReference {
  const { name, uid = "" } = metadata;
  return { apiVersion: apiVersionOf(Staging), kind: Staging.kind, name, uid, controller: true };
}

/** The Staging that owns the object, if one does. */
export function toStagingKeys({ metadata }: KubeObject): ObjectKey[] {
  const { namespace, ownerReferences = [] } = metadata;
  return ownerReferences
    .filter(({ apiVersion, kind }) => apiVersion === apiVersionOf(Staging) && kind === Staging.kind)
    .map(({ name }) => ({ ...(namespace && { namespace }), name }));
}

export function isOwnedBy({ metadata }: KubeObject, staging: Staging): boolean {
  return metadata.ownerReferences?.some(({ uid }) => uid === staging.metadata.uid) ?? false;
}
