// The audit events of operations that service brokers have done: their starts are events of the API's writes. Only reads.
import type { AuditEvent } from "../../crds/audit-log/audit-log.ts";
import { MAX_PARTY_NAME } from "../../crds/audit-log/audit-log.ts";
import { eventGUID, guidOf } from "../../crds/guid.ts";
import { ANNOTATIONS } from "../../crds/labels.ts";
import { displayNameOf } from "../../crds/object-names.ts";
import { ServiceBinding } from "../../crds/service-binding/service-binding.ts";
import { ServiceInstance } from "../../crds/service-instance/service-instance.ts";
import type { Reader } from "../../kube/cache/reader.ts";
import { findTenancy } from "../shared/tenancy.ts";

export type Serviced = ServiceInstance | ServiceBinding;

/** Actor where nobody is known, as in CF. */
const SYSTEM = { guid: "system", type: "system", name: "system" };

const TYPES = {
  service_instance: {
    create: "audit.service_instance.create",
    update: "audit.service_instance.update",
    delete: "audit.service_instance.delete",
  },
  service_binding: {
    create: "audit.service_binding.create",
    update: "audit.service_binding.update",
    delete: "audit.service_binding.delete",
  },
  service_key: {
    create: "audit.service_key.create",
    update: "audit.service_key.update",
    delete: "audit.service_key.delete",
  },
} as const;

/** Has the broker done an operation with this change? `object` is undefined once it is gone. */
export function isOperationDone(old: Serviced, object: Serviced | undefined): boolean {
  const before = old.status?.lastOperation;
  // A purged one has no operation at its end.
  if (!object) return before?.type === "delete";
  const after = object.status?.lastOperation;
  return after?.state === "succeeded" && (before?.state !== "succeeded" || before.createdAt !== after.createdAt);
}

/** None while the space or org is missing. */
export function listServiceEvents(read: Reader, old: Serviced, object: Serviced | undefined, now: Date): AuditEvent[] {
  const shown = object ?? old;
  const { namespace, uid = "" } = shown.metadata;
  const tenancy = findTenancy(read, namespace ?? "");
  const last = shown.status?.lastOperation;
  if (!tenancy || !last || !isOperationDone(old, object)) return [];
  const noun = nounOf(shown);
  const type = TYPES[noun][last.type];
  return [
    {
      guid: eventGUID(now.getTime(), uid, type, last.createdAt),
      at: now.toISOString(),
      type,
      actor: actorOf(shown),
      target: { guid: guidOf(shown), type: noun, name: displayNameOf(shown).slice(0, MAX_PARTY_NAME) },
      spaceGUID: tenancy.space.guid,
      orgGUID: tenancy.org.guid,
      data: "{}",
    },
  ];
}

function actorOf({ metadata: { annotations } }: Serviced): AuditEvent["actor"] {
  const user = annotations?.[ANNOTATIONS.askedBy]?.slice(0, MAX_PARTY_NAME);
  return user === undefined ? SYSTEM : { guid: user, type: "user", name: user };
}

function nounOf(object: Serviced): keyof typeof TYPES {
  if (!("instanceRef" in object.spec)) return "service_instance";
  return object.spec.type === "key" ? "service_key" : "service_binding";
}

/** Kinds whose changes may be such events. */
export function isServiced(kind: string): boolean {
  return kind === ServiceInstance.kind || kind === ServiceBinding.kind;
}
