// Field managers, labels and annotations of objects that our controllers make.
import type { OwnershipMarkers, RemoteMarkers } from "../../kube/controller/controller.ts";
import { ANNOTATIONS, INTERNAL_LABELS, OBSERVE_LABELS } from "../../crds/labels.ts";
import { CONTROLLER_FIELD_MANAGER_PREFIX } from "../../crds/groups.ts";

export const CONTROLLER_SETTINGS: OwnershipMarkers = {
  fieldManagerPrefix: CONTROLLER_FIELD_MANAGER_PREFIX.replace(/-$/, ""),
  ownerLabel: OBSERVE_LABELS.ownerUid,
  controllerLabel: OBSERVE_LABELS.managedBy,
  ownerAnnotation: ANNOTATIONS.owner,
  pausedAnnotation: ANNOTATIONS.importing,
  traceAnnotation: ANNOTATIONS.traceparent,
};

/** Marks of what the platform with this id makes on other clusters. */
export function toRemoteMarkers(hub: string): RemoteMarkers {
  return {
    fieldManager: `cupola-hub-${hub}`,
    hub,
    hubLabel: OBSERVE_LABELS.hub,
    ownerLabel: OBSERVE_LABELS.hubOwner,
    ownerAnnotation: ANNOTATIONS.hubObject,
    adoptableLabel: INTERNAL_LABELS.adoptableBy,
  };
}
