// Field managers, labels and annotations of objects that our controllers make.
import type { OwnershipMarkers } from "../../kube/controller/controller.ts";
import { ANNOTATIONS, OBSERVE_LABELS } from "../../crds/labels.ts";
import { CONTROLLER_FIELD_MANAGER_PREFIX } from "../../crds/groups.ts";

export const CONTROLLER_SETTINGS: OwnershipMarkers = {
  fieldManagerPrefix: CONTROLLER_FIELD_MANAGER_PREFIX.replace(/-$/, ""),
  ownerLabel: OBSERVE_LABELS.ownerUid,
  controllerLabel: OBSERVE_LABELS.managedBy,
  ownerAnnotation: ANNOTATIONS.owner,
};
