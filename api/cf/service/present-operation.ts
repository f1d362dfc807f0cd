// `last_operation` of what a service broker makes. Pure.
import type { LastOperation } from "../../../crds/service-instance/managed-fields.ts";
import type { KubeObject } from "../../../kube/api/object.ts";
import { toTime } from "../../../kube/api/times.ts";

/** Before its controller has seen it, its creation has not begun. */
export function presentOperation({
  metadata,
  status,
}: Pick<KubeObject, "metadata"> & { status?: { lastOperation?: LastOperation | undefined } }): object {
  const created = metadata.creationTimestamp ?? new Date(0).toISOString();
  const { type, state, description, createdAt, updatedAt } = status?.lastOperation ?? {
    type: "create",
    state: "initial",
    description: "",
    createdAt: created,
    updatedAt: created,
  };
  return {
    type: metadata.deletionTimestamp && type !== "delete" ? "delete" : type,
    // Clients see a single state, from the moment at which CF takes the order.
    state: state === "initial" ? "in progress" : state,
    description,
    created_at: toTime(Date.parse(createdAt)),
    updated_at: toTime(Date.parse(updatedAt)),
  };
}
