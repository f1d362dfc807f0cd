// The next step of a binding of a managed instance: the next request to the broker, or its status. Pure.
import { instanceNamespaceOf, type ServiceBinding } from "../../crds/service-binding/service-binding.ts";
import { isAtBroker } from "../../crds/service-instance/managed-fields.ts";
import { findSharingProblem, SHARING_PROBLEMS } from "../../crds/service-instance/sharing.ts";
import type { ServiceInstance } from "../../crds/service-instance/service-instance.ts";
import { lifetimeAt } from "../../crds/service-binding/lifetime.ts";
import type { ConditionDraft, ReadyDraft, ReconcileResult } from "../../kube/controller/controller.ts";
import type { EventDraft } from "../../kube/controller/event-recorder.ts";
import type { ProvidedPlan } from "../shared/osb/provided-plan.ts";
import { failedReady } from "../shared/osb/ready.ts";
import { VOLUMES_DISABLED } from "./binding-answer.ts";

export type BindingStep = { kind: "rest"; ready?: ReadyDraft } | { kind: "begin" | "bind" | "poll" | "mitigate" };

export function planBinding(
  binding: ServiceBinding,
  instance: ServiceInstance | undefined,
  provided: ProvidedPlan & { mountsVolumes: boolean },
): BindingStep {
  const { lastOperation: last, operation } = binding.status ?? {};
  if (!last) return instance ? (refusalOf(binding, provided) ?? planFirst(instance)) : INSTANCE_GONE;
  if (last.state === "in progress") return { kind: "poll" };
  if (last.state === "initial") return { kind: "bind" };
  if (last.state === "succeeded") return { kind: "rest" };
  return operation?.isOrphan ? { kind: "mitigate" } : { kind: "rest", ready: failedReady(last) };
}

const INSTANCE_GONE = waiting("InstanceMissing", "the service instance is gone", true);

function planFirst({ status, metadata }: ServiceInstance): BindingStep {
  const { lastOperation: last } = status ?? {};
  if (metadata.deletionTimestamp) return waiting("InstanceMissing", "the service instance is being deleted", true);
  if (last?.type === "create" && last.state === "failed")
    return waiting("InstanceFailed", "the service broker has failed to make the service instance", true);
  // A broker does one thing at a time with an instance.
  return !status || !last || isUnderWay(status)
    ? waiting("InstanceNotReady", "the service instance has an operation under way", false)
    : { kind: "begin" };
}

/** A binding in another space than the instance's, which may not be shared with it. */
export function planSharing(
  { binding, plan, offering }: ProvidedPlan & { binding: ServiceBinding },
  space: { namespace: string; org: string },
): ReadyDraft | undefined {
  if (binding.metadata.namespace === instanceNamespaceOf(binding)) return undefined;
  const problem = findSharingProblem({ plan, offering }, space);
  if (!problem) return undefined;
  const message = `service instance ${binding.spec.instanceRef.name} cannot be bound here: ${SHARING_PROBLEMS[problem]}`;
  return { status: "False", reason: "NotShareable", message, isFailure: true };
}

/** By the catalog. An app would have no volume where no runner mounts any; a key has credentials only. */
function refusalOf(
  { spec }: ServiceBinding,
  { plan, offering, mountsVolumes }: Parameters<typeof planBinding>[2],
): BindingStep | undefined {
  if (!(plan?.spec.bindable ?? offering?.spec.bindable ?? true))
    return waiting("NotBindable", "the plan of the service instance does not allow bindings", true);
  return !mountsVolumes && spec.type === "app" && offering?.spec.requires.includes("volume_mount")
    ? waiting("VolumesDisabled", `${VOLUMES_DISABLED}.`, true)
    : undefined;
}

/** An update that the broker has not taken so far is not. */
function isUnderWay(status: NonNullable<ServiceInstance["status"]>): boolean {
  const { type, state } = status.lastOperation ?? {};
  return isAtBroker(status) || (type === "create" && state === "initial");
}

function waiting(reason: string, message: string, isFailure: boolean): BindingStep {
  return { kind: "rest", ready: { status: "False", reason, message, ...(isFailure && { isFailure: true }) } };
}

const RENEWAL = "RenewalDue";
/** A timer is set for so long at most. */
const MAX_WAIT_MS = 24 * 3_600_000;
const REPLACE: Record<ServiceBinding["spec"]["type"], string> = {
  app: "replace the binding: cf bind-service with --strategy multiple, a restart, cf cleanup-outdated-service-bindings",
  key: "make a new key with cf create-service-key, then delete this one with cf delete-service-key",
  route: "unbind the route service, and bind it again",
};

/** A condition of credentials that do not last, and the time of its next change. */
export function planRenewal({ spec, status = {} }: ServiceBinding, now: Date): ReconcileResult {
  const { expiresAt, renewBefore } = status;
  if (expiresAt === undefined && renewBefore === undefined) return {};
  const { state, nextAt } = lifetimeAt(status, now);
  const messages = {
    good: ["NotDue", "the credentials are good"],
    due: ["Due", `the credentials should have been replaced before ${renewBefore ?? ""}; ${REPLACE[spec.type]}`],
    expired: ["Expired", `the credentials ended at ${expiresAt ?? ""}; ${REPLACE[spec.type]}`],
  } as const;
  const [reason, message] = messages[state];
  const renewal: ConditionDraft = { type: RENEWAL, status: state === "good" ? "False" : "True", reason, message };
  const wait = nextAt && Math.min(nextAt.getTime() - now.getTime(), MAX_WAIT_MS);
  return { conditions: [renewal], ...(wait !== undefined && { requeueAfterMs: wait }) };
}

/** The warning for the people of a binding whose credentials have come to be replaced, or have ended, since its status was written. */
export function planRenewalEvent(
  { status = {} }: ServiceBinding,
  { conditions = [] }: ReconcileResult,
): EventDraft | undefined {
  const renewal = conditions.find(({ type }) => type === RENEWAL);
  if (renewal?.status !== "True") return undefined;
  const before = status.conditions?.find(({ type }) => type === RENEWAL);
  const { reason, message } = renewal;
  return reason === before?.reason ? undefined : { type: "Warning", reason: `Renewal${reason}`, message };
}
