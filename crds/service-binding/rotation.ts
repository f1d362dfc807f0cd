// Which binding another one replaces. Pure.
import { lifetimeAt } from "./lifetime.ts";
import type { ServiceBinding } from "./service-binding.ts";

/** The instance and the app of a binding. */
type Subject = Pick<ServiceBinding["spec"], "instanceRef" | "appRef" | "type">;

/** Has the broker made it, for the same instance and the same user, and has it not expired? */
export function isPredecessor({ metadata, spec, status = {} }: ServiceBinding, successor: Subject, now: Date): boolean {
  const { lastOperation: last } = status;
  const isMade = !metadata.deletionTimestamp && last?.type === "create" && last.state === "succeeded";
  return isMade && subjectOf(spec) === subjectOf(successor) && lifetimeAt(status, now).state !== "expired";
}

function subjectOf({ instanceRef, appRef, type }: Subject): string {
  return JSON.stringify([type, instanceRef.namespace ?? "", instanceRef.name, appRef?.name ?? ""]);
}
