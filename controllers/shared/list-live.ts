// Reads a kind past the cache, which may not have what was written a moment ago.
import type { KubeObject } from "../../kube/api/object.ts";
import type { ResourceRef } from "../../kube/api/resource-ref.ts";
import { isForbidden } from "../../kube/client/errors.ts";
import type { ReconcileContext } from "../../kube/controller/controller.ts";

/** All objects of a kind, or those of a namespace. Where the platform may not list them all, the cache is all there is. */
export async function listLive<T extends KubeObject>(
  ref: ResourceRef<T>,
  { read, client }: Pick<ReconcileContext, "read" | "client">,
  within: { namespace?: string } = {},
): Promise<readonly T[]> {
  try {
    return (await client.list(ref, within)).items;
  } catch (error) {
    if (isForbidden(error)) return read.list(ref, within);
    throw error;
  }
}
