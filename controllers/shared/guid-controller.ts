// Controllers of GUID labels: for kinds without further effects, which also get Ready and the claim on their name, and for kinds whose own controller is busy.
import { Claim } from "../../crds/claim/claim.ts";
import { claimObjectName, type ClaimedName } from "../../crds/claim/rules.ts";
import { defineController, watch, type Controller } from "../../kube/controller/controller.ts";
import type { KubeObject } from "../../kube/api/object.ts";
import type { ResourceRef } from "../../kube/api/resource-ref.ts";
import { CLAIMED_NAME_INDEX, ensureClaim } from "./claims.ts";
import { hasGUIDLabel, indexByGUID, GUID_INDEX, resolveGUID } from "./guid.ts";
import { isObserved } from "./is-observed.ts";

export function defineGUIDController<T extends KubeObject>(name: string, ref: ResourceRef<T>): Controller {
  return defineController({
    name,
    for: ref,
    indexes: { [GUID_INDEX]: indexByGUID },
    reconcile: (object, context) => ({ labels: resolveGUID(ref, object, context).labels }),
  });
}

/**
 * Labels objects that were made without a GUID, once their own controller has written a status. Nobody waits for the label, since the uid is the GUID until
 * then: so there is one worker, and under load the API server's time goes to what makes apps run.
 */
export function defineGUIDLabelController<T extends KubeObject>(name: string, ref: ResourceRef<T>): Controller {
  return defineController({
    name,
    for: ref,
    workers: 1,
    writesStatus: false,
    indexes: { [GUID_INDEX]: indexByGUID },
    reconcile: (object, context) =>
      hasGUIDLabel(object) || !isObserved(object) ? {} : { labels: resolveGUID(ref, object, context).labels },
  });
}

/** Also holds the claim on the object's name. */
export function defineNamedController<T extends KubeObject>(
  name: string,
  ref: ResourceRef<T>,
  nameOf: (object: T) => ClaimedName,
  selects: (object: T) => boolean = () => true,
): Controller {
  return defineController({
    name,
    for: ref,
    selects,
    indexes: {
      [GUID_INDEX]: indexByGUID,
      [CLAIMED_NAME_INDEX]: (object: T) => [claimObjectName(nameOf(object))],
    },
    watches: [watch(Claim, (claim) => ({ [CLAIMED_NAME_INDEX]: claim.metadata.name }))],
    async reconcile(object, context) {
      const { labels } = resolveGUID(ref, object, context);
      await ensureClaim(ref.kind, object, nameOf(object), context);
      return { labels };
    },
  });
}
