// Which rights hold in a namespace of a spoke, and which facts its hub is told. Pure.
import type { SpokeFacts } from "../../crds/cluster/spoke-facts.ts";
import { LABELS } from "../../crds/labels.ts";
import type { Namespace } from "../../kube/api/builtin.ts";
import type { ObjectOf } from "../../kube/api/resource-ref.ts";
import type { Draft } from "../../kube/client/client.ts";
import { planBySettings, planWorkloadPolicies, type SettledNetworkInput } from "../shared/network-policies.ts";
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

/** The network of a namespace as the operator of this cluster sets it; none in a namespace that is no hub's. */
export function planNetwork(
  namespace: Pick<ObjectOf<typeof Namespace>, "metadata">,
  { settings, existing }: Pick<SettledNetworkInput, "settings" | "existing">,
): ReturnType<typeof planBySettings> {
  if (!isOfHub(namespace)) return { children: [] };
  const { name } = namespace.metadata;
  return planBySettings({ namespace: name, settings, existing, plan: (parsed) => planWorkloadPolicies(name, parsed) });
}

/** Requests come and go all the time: a change of less than two hundredths of the memory is not told. */
const TOLD_SHARE = 0.02;

/** Facts to tell, which replace those that are known. */
export function planFacts(known: SpokeFacts, seen: SpokeFacts): SpokeFacts {
  const { capacity: before } = known;
  const { capacity: now } = seen;
  if (!before || !now || before.memoryMB !== now.memoryMB) return seen;
  const change = Math.abs(before.requestedMemoryMB - now.requestedMemoryMB);
  return change < now.memoryMB * TOLD_SHARE ? { ...seen, capacity: before } : seen;
}
