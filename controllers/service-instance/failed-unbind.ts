// An instance whose deletion waits for a binding that its broker does not delete. Pure.
import type { ServiceBinding } from "../../crds/service-binding/service-binding.ts";
import { displayNameOf } from "../../crds/object-names.ts";
import type { LastOperation } from "../../crds/service-instance/managed-fields.ts";
import type { ServiceInstance } from "../../crds/service-instance/service-instance.ts";

/** The instance's operation, which has failed with its latest binding, in CF's words; undefined while none has. */
export function planFailedUnbind(
  instance: ServiceInstance,
  bindings: readonly ServiceBinding[],
  now: Date,
): LastOperation | undefined {
  const [failed] = bindings.flatMap(({ status }) => failureOf(status?.lastOperation)).toSorted(byTime);
  if (!failed) return undefined;
  const last = instance.status?.lastOperation;
  const description = `Service broker failed to delete service binding for instance ${displayNameOf(instance)}: ${failed.description}`;
  // It is known already.
  if (last && failureOf(last).length > 0 && last.description === description && last.updatedAt >= failed.updatedAt)
    return last;
  const time = now.toISOString();
  const createdAt = last?.type === "delete" ? last.createdAt : time;
  return { type: "delete", state: "failed", description, createdAt, updatedAt: time };
}

function failureOf(last: LastOperation | undefined): LastOperation[] {
  return last?.type === "delete" && last.state === "failed" ? [last] : [];
}

/** The latest first. */
const byTime = (a: LastOperation, b: LastOperation): number => (a.updatedAt < b.updatedAt ? 1 : -1);
