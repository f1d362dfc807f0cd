// Names the operations whose Role or RoleBinding in the system namespace is gone: a process with that operation alone cannot write its own Replica any more.
import { SYSTEM_NAMESPACE } from "../../crds/groups.ts";
import { Role, RoleBinding } from "../../kube/api/builtin.ts";
import type { ResourceRef } from "../../kube/api/resource-ref.ts";
import type { Informers } from "../../kube/cache/informers.ts";
import type { CheckResult } from "../../kube/server/readiness.ts";
import type { Permission } from "../../kube/rbac/resource-rules.ts";
import { LIST_WATCH_VERBS } from "../../kube/controller/permissions.ts";
import { OPERATIONS } from "./operations.ts";

const WATCHED: readonly ResourceRef[] = [Role, RoleBinding];

export const OPERATION_BINDING_PERMISSIONS: readonly Permission[] = WATCHED.map((resource) => ({
  resource,
  verbs: LIST_WATCH_VERBS,
}));

interface Binding {
  roleRef: { kind: string; name: string };
  subjects?: readonly unknown[];
}

/** Watches the system namespace. The check reads caches only. */
export function watchOperationBindings(informers: Informers): { check: () => CheckResult; release: () => void } {
  const roles = informers.ensure(Role, { namespace: SYSTEM_NAMESPACE });
  const bindings = informers.ensure(RoleBinding, { namespace: SYSTEM_NAMESPACE });
  return {
    check: () => {
      if (!roles.store.synced || !bindings.store.synced) return true;
      const gaps = planBindingGaps(
        roles.store.list().map(({ metadata }) => metadata.name),
        bindings.store.list(),
      );
      return (
        gaps.length === 0 || { degraded: `${gaps.join(", ")}: run helm upgrade, which restores roles and bindings` }
      );
    },
    release: () => {
      roles.release();
      bindings.release();
    },
  };
}

/** An operation of this installation has a Role and somebody who has it; those that are not installed have neither. Pure. */
export function planBindingGaps(roles: readonly string[], bindings: readonly Binding[]): string[] {
  const granted = bindings
    .filter(({ roleRef, subjects }) => roleRef.kind === Role.kind && subjects?.length)
    .map(({ roleRef }) => roleRef.name);
  return Object.keys(OPERATIONS).flatMap((operation) => {
    const name = `cupola-${operation}`;
    const [hasRole, isGranted] = [roles.includes(name), granted.includes(name)];
    if (hasRole === isGranted) return [];
    return hasRole ? [`no RoleBinding gives anybody the Role ${name}`] : [`the Role ${name} is missing`];
  });
}
