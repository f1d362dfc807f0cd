// An instance whose deletion waits for a binding that its broker does not delete. Pure.
import type { ServiceBinding } from "../../crds/service-binding/service-binding.ts";
import { displayNameOf } from "../../crds/object-names.ts";
import { isHeard, wishOf } from "../../crds/service-instance/deletion-wish.ts";
import type { LastOperation, PendingOperation } from "../../crds/service-instance/managed-fields.ts";
import type { ServiceInstance } from "../../crds/service-instance/service-instance.ts";

interface FailedDeletion {
  lastOperation: LastOperation;
  operation: PendingOperation;
}

/** The instance's status, whose deletion has failed with its latest binding, in CF's words; undefined while none has since the latest wish. */
export function planFailedUnbind(
  instance: ServiceInstance,
  bindings: readonly ServiceBinding[],
  now: Date,
): FailedDeletion | undefined {
  const [failed] = bindings
    .filter(({ status }) => isHeard(instance, status?.operation))
    .flatMap(({ status }) => failureOf(status?.lastOperation))
    .toSorted(byTime);
  if (!failed) return undefined;
  const { lastOperation: last, operation = {} } = instance.status ?? {};
  const description = `Service broker failed to delete service binding for instance ${displayNameOf(instance)}: ${failed.description}`;
  // It is known already.
  if (isSame(last, { description, updatedAt: failed.updatedAt }) && isHeard(instance, operation))
    return { lastOperation: last, operation };
  const [time, wish] = [now.toISOString(), wishOf(instance)];
  const createdAt = last?.type === "delete" ? last.createdAt : time;
  return {
    lastOperation: { type: "delete", state: "failed", description, createdAt, updatedAt: time },
    operation: { ...(wish !== undefined && { wish }) },
  };
}

function isSame(
  last: LastOperation | undefined,
  { description, updatedAt }: Pick<LastOperation, "description" | "updatedAt">,
): last is LastOperation {
  const [known] = failureOf(last);
  return known?.description === description && known.updatedAt >= updatedAt;
}

function failureOf(last: LastOperation | undefined): LastOperation[] {
  return last?.type === "delete" && last.state === "failed" ? [last] : [];
}

/** The latest first. */
const byTime = (a: LastOperation, b: LastOperation): number => (a.updatedAt < b.updatedAt ? 1 : -1);
