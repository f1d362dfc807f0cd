// Ends what a runner made for an object: pods first.
import { NotReady, type ReconcileContext } from "../../kube/controller/controller.ts";
import type { KubeObject } from "../../kube/api/object.ts";
import type { ResourceRef } from "../../kube/api/resource-ref.ts";

/**
 * Deletes the owner's object of the same name in the foreground: the garbage collector removes it after its pods.
 * @throws NotReady until it is gone
 */
export async function endWorkload(ref: ResourceRef, owner: KubeObject, { client }: ReconcileContext): Promise<void> {
  const found = await client.find(ref, owner.metadata);
  // It may belong to a later owner of the same name.
  if (!found?.metadata.ownerReferences?.some(({ uid }) => uid === owner.metadata.uid)) return;
  const { uid, deletionTimestamp } = found.metadata;
  if (!deletionTimestamp)
    await client.delete(ref, found.metadata, {
      propagationPolicy: "Foreground",
      preconditions: { ...(uid && { uid }) },
    });
  throw new NotReady("Stopping", "its pods are ending");
}
