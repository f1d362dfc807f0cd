// The order of objects by creation.
import { creationSortKey } from "../../crds/guid.ts";
import type { KubeObject } from "../../kube/api/object.ts";

/** Sort key for newest first. */
export function sortNewestFirst<T extends KubeObject>(objects: readonly T[]): T[] {
  return [...objects].sort((one, other) => (creationSortKey(one) > creationSortKey(other) ? -1 : 1));
}

/** As CF lists related objects: two looks at the same objects give the same order, on every replica and after an import. */
export function sortOldestFirst<T extends KubeObject>(objects: readonly T[]): T[] {
  return [...objects].sort((one, other) => (creationSortKey(one) < creationSortKey(other) ? -1 : 1));
}
