// The permissions that the runtime needs for a controller.
import type { Controller } from "./controller.ts";
import { Event } from "../api/builtin.ts";
import type { ResourceRef } from "../api/resource-ref.ts";
import type { Permission, Verb } from "../rbac/resource-rules.ts";

export const LIST_WATCH_VERBS: readonly Verb[] = ["get", "list", "watch"];

/** The permissions in all namespaces that the definition implies, plus those that it declares. */
export function permissionsOf(controller: Controller): Permission[] {
  const { for: own, owns = [], reads = [], watches = [], permissions = [] } = controller;
  const { writesStatus = true, writesObject = true } = controller;
  return [
    // The runtime patches labels, finalizers and published fields.
    { resource: own, verbs: writesObject ? [...LIST_WATCH_VERBS, "patch"] : LIST_WATCH_VERBS },
    ...(writesStatus ? statusPermissions(own) : []),
    // An apply that creates needs both create and patch.
    ...owns.map((on): Permission => ({ resource: on, verbs: [...LIST_WATCH_VERBS, "create", "patch", "delete"] })),
    ...[...reads, ...watches.filter(({ namespace }) => !namespace).map(({ ref }) => ref)].map((on): Permission => ({
      resource: on,
      verbs: LIST_WATCH_VERBS,
    })),
    ...permissions,
  ];
}

/** The permissions that it needs in one namespace only: for the kinds that it watches there, or one object of them. */
export function permissionsIn(namespace: string, { watches = [] }: Controller): Permission[] {
  return watches
    .filter((rule) => rule.namespace === namespace)
    .map(({ ref, fieldSelector }): Permission => {
      const name = /^metadata\.name=(.+)$/.exec(fieldSelector ?? "")?.[1];
      return { resource: ref, verbs: LIST_WATCH_VERBS, ...(name !== undefined && { names: [name] }) };
    });
}

/** Failures that a status states are recorded as Events. */
function statusPermissions(own: ResourceRef): Permission[] {
  return [
    { resource: own, subresource: "status", verbs: ["patch"] },
    { resource: Event, verbs: ["get", "create", "patch"] },
  ];
}
