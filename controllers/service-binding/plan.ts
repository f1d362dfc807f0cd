// What comes next for a binding of a managed instance: the next request to the broker, or its status. Pure.
import type { ServiceBinding } from "../../crds/service-binding/service-binding.ts";
import type { ServiceInstance } from "../../crds/service-instance/service-instance.ts";
import type { ReadyDraft } from "../../kube/controller/controller.ts";
import type { ProvidedPlan } from "../shared/osb/provided-plan.ts";
import { failedReady } from "../shared/osb/ready.ts";
import { VOLUMES_DISABLED } from "./binding-answer.ts";

export type BindingStep = { kind: "rest"; ready?: ReadyDraft } | { kind: "begin" | "bind" | "poll" | "mitigate" };

export function planBinding(binding: ServiceBinding, instance: ServiceInstance, provided: ProvidedPlan): BindingStep {
  const { lastOperation: last, operation } = binding.status ?? {};
  if (!last) return planFirst(instance, provided);
  if (last.state === "in progress") return { kind: "poll" };
  if (last.state === "initial") return { kind: "bind" };
  if (last.state === "succeeded") return { kind: "rest" };
  return operation?.isOrphan ? { kind: "mitigate" } : { kind: "rest", ready: failedReady(last) };
}

function planFirst({ status, metadata }: ServiceInstance, provided: ProvidedPlan): BindingStep {
  const refusal = refusalOf(provided);
  if (refusal) return refusal;
  const { lastOperation: last, operation } = status ?? {};
  if (metadata.deletionTimestamp) return waiting("InstanceMissing", "the service instance is being deleted", true);
  if (last?.type === "create" && last.state === "failed")
    return waiting("InstanceFailed", "the service broker has failed to make the service instance", true);
  // A broker does one thing at a time with an instance.
  return !last || isUnderWay(last, operation?.attempts)
    ? waiting("InstanceNotReady", "the service instance has an operation under way", false)
    : { kind: "begin" };
}

/** By the catalog. */
function refusalOf({ plan, offering }: ProvidedPlan): BindingStep | undefined {
  if (!(plan?.spec.bindable ?? offering?.spec.bindable ?? true))
    return waiting("NotBindable", "the plan of the service instance does not allow bindings", true);
  return offering?.spec.requires.includes("volume_mount")
    ? waiting("VolumesDisabled", `${VOLUMES_DISABLED}.`, true)
    : undefined;
}

type Operation = Pick<NonNullable<NonNullable<ServiceInstance["status"]>["lastOperation"]>, "type" | "state">;

/** Not an update that the broker has not taken so far. */
function isUnderWay({ type, state }: Operation, attempts = 0): boolean {
  return state === "in progress" || (state === "initial" && (type !== "update" || attempts === 0));
}

function waiting(reason: string, message: string, isFailure: boolean): BindingStep {
  return { kind: "rest", ready: { status: "False", reason, message, ...(isFailure && { isFailure: true }) } };
}
