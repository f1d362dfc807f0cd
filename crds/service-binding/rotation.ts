// Which binding another one replaces. Pure.
import { lifetimeAt } from "./lifetime.ts";
import type { ServiceBinding } from "./service-binding.ts";

/** Has the broker made it, for the same instance and the same user, and has it not expired? */
export function isPredecessor(
  { metadata, spec, status }: ServiceBinding,
  successor: Pick<ServiceBinding["spec"], "instanceRef" | "appRef" | "type">,
  now: Date,
): boolean {
  const { type, state } = status?.lastOperation ?? {};
  return (
    !metadata.deletionTimestamp &&
    type === "create" &&
    state === "succeeded" &&
    lifetimeAt(status ?? {}, now).state !== "expired" &&
    spec.type === successor.type &&
    spec.appRef?.name === successor.appRef?.name &&
    spec.instanceRef.name === successor.instanceRef.name &&
    spec.instanceRef.namespace === successor.instanceRef.namespace
  );
}
