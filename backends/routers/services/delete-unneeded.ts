// Deletes an object that RouteBindings share once none needs it.
import { RouteBinding } from "../../../crds/route-binding/route-binding.ts";
import type { KubeObject } from "../../../kube/api/object.ts";
import type { ResourceRef } from "../../../kube/api/resource-ref.ts";
import { ignoreGone } from "../../../kube/client/ignore-gone.ts";
import type { ReconcileContext } from "../../../kube/controller/controller.ts";

/** For an object that no binding in the cache needs. @throws NotSynced, NotPermitted while there may be bindings that cannot be read */
export async function deleteUnneeded(
  ref: ResourceRef,
  { metadata }: KubeObject,
  { read, client }: Pick<ReconcileContext, "read" | "client">,
): Promise<void> {
  // An index passes over namespaces that cannot be read; a list does not.
  read.list(RouteBinding);
  await ignoreGone(client.delete(ref, metadata, { preconditions: { uid: metadata.uid } }));
}
