// `last_operation` of what a service broker makes. Pure.
import { createdTimeOf } from "../../../crds/origin.ts";
import type { LastOperation } from "../../../crds/service-instance/managed-fields.ts";
import type { KubeObject } from "../../../kube/api/object.ts";
import { toTime } from "../../../kube/api/times.ts";

/** An operation that its controller has not seen. */
function begun(type: LastOperation["type"], at: string): LastOperation {
  return { type, state: "initial", description: "", createdAt: at, updatedAt: at };
}

/** Before its controller has seen it, its creation or deletion has not begun: how an earlier operation ended says nothing of it. */
export function presentOperation({
  metadata,
  status,
}: Pick<KubeObject, "metadata"> & { status?: { lastOperation?: LastOperation | undefined } }): object {
  const created = createdTimeOf({ metadata }) ?? new Date(0).toISOString();
  const known = status?.lastOperation;
  const isNew = metadata.deletionTimestamp !== undefined && known?.type !== "delete";
  const { type, state, description, createdAt, updatedAt } = isNew
    ? begun("delete", metadata.deletionTimestamp ?? created)
    : (known ?? begun("create", created));
  return {
    type,
    // Clients see a single state, from the moment at which CF takes the order.
    state: state === "initial" ? "in progress" : state,
    description,
    created_at: toTime(Date.parse(createdAt)),
    updated_at: toTime(Date.parse(updatedAt)),
  };
}
