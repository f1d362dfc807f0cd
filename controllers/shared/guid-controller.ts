// A controller for kinds without further effects: it sets the GUID label and Ready.
import { defineController, type Controller } from "../../kube/controller/controller.ts";
import type { KubeObject } from "../../kube/api/object.ts";
import type { ResourceRef } from "../../kube/api/resource-ref.ts";
import { indexByGUID, GUID_INDEX, resolveGUID } from "./guid.ts";

export function defineGUIDController<T extends KubeObject>(name: string, ref: ResourceRef<T>): Controller {
  return defineController({
    name,
    for: ref,
    indexes: { [GUID_INDEX]: indexByGUID },
    reconcile: (object, context) => ({ labels: resolveGUID(ref, object, context).labels }),
  });
}
