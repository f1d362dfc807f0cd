// The permissions that the runtime needs for a controller.
import type { Controller } from "./controller.ts";
import type { Permission, Verb } from "../rbac/resource-rules.ts";

export const LIST_WATCH_VERBS: readonly Verb[] = ["get", "list", "watch"];

/** What the runtime does for a controller of this definition, and what the controller says that it does besides. */
export function permissionsOf(controller: Controller): Permission[] {
  const { for: own, owns = [], reads = [], watches = [], writesStatus = true, permissions = [] } = controller;
  return [
    // Labels, finalizers and published fields are patched.
    { resource: own, verbs: [...LIST_WATCH_VERBS, "patch"] },
    ...(writesStatus ? [{ resource: own, subresource: "status", verbs: ["patch"] } satisfies Permission] : []),
    // An apply that makes the object needs both.
    ...owns.map((on): Permission => ({ resource: on, verbs: [...LIST_WATCH_VERBS, "create", "patch", "delete"] })),
    ...[...reads, ...watches.map(({ ref }) => ref)].map((on): Permission => ({
      resource: on,
      verbs: LIST_WATCH_VERBS,
    })),
    ...permissions,
  ];
}
