// The GUID of an object: its label, its uid without one, and its uid where an older object has the label.
import { guidOf, pickGUIDHolder } from "../../crds/guid.ts";
import { LABELS } from "../../crds/labels.ts";
import type { KubeObject } from "../../kube/api/object.ts";
import type { ReconcileContext } from "../../kube/controller/controller.ts";
import { ifSynced } from "../../kube/cache/errors.ts";
import type { ResourceRef } from "../../kube/api/resource-ref.ts";

/** Index of every kind: objects by the GUID they present. */
export const GUID_INDEX = "controllers/guid";

/** The index function behind `GUID_INDEX`. */
export function indexByGUID(object: KubeObject): readonly string[] {
  return [guidOf(object)];
}

/** An object keeps its GUID unless an older object has the same; then it gets its uid. */
export function planGUID(object: KubeObject, sameGUID: readonly KubeObject[]): string {
  const older = sameGUID.some(
    (peer) => peer.metadata.uid !== object.metadata.uid && pickGUIDHolder(object, peer) === peer,
  );
  return older ? (object.metadata.uid ?? "") : guidOf(object);
}

/** The GUID of an object, decided among its kind and `sharedKinds` that present the same GUIDs, and its label. The kinds need `GUID_INDEX`. */
export function resolveGUID<T extends KubeObject>(
  ref: ResourceRef<T>,
  object: T,
  { read }: Pick<ReconcileContext, "read">,
  sharedKinds: readonly ResourceRef[] = [],
): { guid: string; labels: Record<string, string> } {
  const own = guidOf(object);
  // Objects of other kinds rarely have it, so a namespace that is not listed yet does not delay this object.
  const sharingObjects = sharedKinds.flatMap((kind) => ifSynced(() => read.byIndex(kind, GUID_INDEX, own)) ?? []);
  const guid = planGUID(object, [...read.byIndex(ref, GUID_INDEX, own), ...sharingObjects]);
  return { guid, labels: { [LABELS.guid]: guid } };
}

/** Whether the object carries a GUID label; without one its uid is its GUID. */
export function hasGUIDLabel(object: KubeObject): boolean {
  return object.metadata.labels?.[LABELS.guid] !== undefined;
}

/** The label for an object that has one, since a wrong one is corrected at once. A missing one comes later: defineGUIDLabelController. */
export function correctedGUIDLabel(object: KubeObject, labels: Record<string, string>): Record<string, string> {
  return hasGUIDLabel(object) ? labels : {};
}
