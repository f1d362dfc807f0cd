// The order of objects by creation, newest first.
import { creationSortKey } from "../../crds/guid.ts";
import type { KubeObject } from "../../kube/api/object.ts";

/** Sort key for newest first. */
export function sortNewestFirst<T extends KubeObject>(objects: readonly T[]): T[] {
  return [...objects].sort((one, other) => (creationSortKey(one) > creationSortKey(other) ? -1 : 1));
}
