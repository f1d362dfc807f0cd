// Which rights hold in a namespace of a spoke. Pure.
import { LABELS } from "../../crds/labels.ts";
import type { Namespace } from "../../kube/api/builtin.ts";
import type { ObjectOf } from "../../kube/api/resource-ref.ts";
import type { Draft } from "../../kube/client/client.ts";
import { planOperationBindings, type RoleBindingObject } from "../shared/role-bindings.ts";

/** Did a hub make the namespace, for a space of its own? */
export function isOfHub({ metadata: { labels } }: Pick<ObjectOf<typeof Namespace>, "metadata">): boolean {
  return labels?.[LABELS.hub] !== undefined && labels[LABELS.namespaceKind] === "space";
}

/** None in a namespace that is no hub's, or is not any more. `system`: the RoleBindings of the system namespace. */
export function planBindings(
  namespace: Pick<ObjectOf<typeof Namespace>, "metadata">,
  system: readonly RoleBindingObject[],
): Draft[] {
  return isOfHub(namespace) ? planOperationBindings(namespace.metadata.name, system) : [];
}
