// What comes next for a binding of a managed instance: the next request to the broker, or its status. Pure.
import type { ServiceBinding } from "../../crds/service-binding/service-binding.ts";
import type { ServiceInstance } from "../../crds/service-instance/service-instance.ts";
import type { ReadyDraft } from "../../kube/controller/controller.ts";
import { failedReady } from "../shared/osb/operation.ts";

export type BindingStep = { kind: "rest"; ready?: ReadyDraft } | { kind: "begin" | "bind" | "poll" | "mitigate" };

/** `isBindable` is the plan's word. */
export function planBinding(binding: ServiceBinding, instance: ServiceInstance, isBindable: boolean): BindingStep {
  const { lastOperation: last, operation } = binding.status ?? {};
  if (!last) return planFirst(instance, isBindable);
  if (last.state === "in progress") return { kind: "poll" };
  if (last.state === "initial") return { kind: "bind" };
  if (last.state === "succeeded") return { kind: "rest" };
  return operation?.isOrphan ? { kind: "mitigate" } : { kind: "rest", ready: failedReady(last) };
}

function planFirst({ status, metadata }: ServiceInstance, isBindable: boolean): BindingStep {
  const last = status?.lastOperation;
  if (!isBindable) return waiting("NotBindable", "the plan of the service instance does not allow bindings", true);
  if (metadata.deletionTimestamp) return waiting("InstanceMissing", "the service instance is being deleted", true);
  if (last?.type === "create" && last.state === "failed")
    return waiting("InstanceFailed", "the service broker has failed to make the service instance", true);
  // A broker does one thing at a time with an instance.
  return !last || isUnderWay(last.state)
    ? waiting("InstanceNotReady", "the service instance has an operation under way", false)
    : { kind: "begin" };
}

function isUnderWay(state: string): boolean {
  return state === "initial" || state === "in progress";
}

function waiting(reason: string, message: string, isFailure: boolean): BindingStep {
  return { kind: "rest", ready: { status: "False", reason, message, ...(isFailure && { isFailure: true }) } };
}
