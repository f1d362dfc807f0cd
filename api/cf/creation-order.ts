// The order of objects by creation.
import { creationSortKey } from "../../crds/guid.ts";
import { createdTimeOf } from "../../crds/origin.ts";
import type { KubeObject } from "../../kube/api/object.ts";

/** By creation, then GUID. */
export function sortNewestFirst<T extends KubeObject>(objects: readonly T[]): T[] {
  return [...objects].sort((one, other) => (creationSortKey(one) > creationSortKey(other) ? -1 : 1));
}

/** As CF lists related objects, also after an import. Those of one second stay as they come. */
export function sortOldestFirst<T extends KubeObject>(objects: readonly T[]): T[] {
  return [...objects].sort((one, other) => (createdTimeOf(one) ?? "").localeCompare(createdTimeOf(other) ?? ""));
}
