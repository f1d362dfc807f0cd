// The next step of a managed service instance: the next request to its broker, or its status. Pure.
import { isDeepStrictEqual } from "node:util";
import type { LastOperation, ProvidedBy } from "../../crds/service-instance/managed-fields.ts";
import { MAX_REFUSED_UPDATE, type ServiceInstance } from "../../crds/service-instance/service-instance.ts";
import { isChanged, type PlanEntry } from "../../crds/service-instance/pending-update.ts";
import type { ReadyDraft } from "../../kube/controller/controller.ts";
import { displayNameOf } from "../../crds/object-names.ts";
import { failedReady } from "../shared/osb/ready.ts";
import { toTarget } from "../shared/osb/wanted-plan.ts";

export type InstanceStep =
  | { kind: "rest"; ready?: ReadyDraft }
  | { kind: "begin"; type: "create" | "update"; target: ProvidedBy }
  | { kind: "provision" | "update" | "poll" | "mitigate" };

/** `entry` is undefined when the plan is missing, or may not be used here: `problem` says why. */
export function planInstance(
  instance: ServiceInstance,
  entry: PlanEntry | undefined,
  problem: ReadyDraft | undefined,
): InstanceStep {
  const { lastOperation: last, operation } = instance.status ?? {};
  if (!last) return entry ? { kind: "begin", type: "create", target: toTarget(instance, entry) } : rest(problem);
  if (last.state === "in progress") return { kind: "poll" };
  if (last.state === "initial") return planAsk(instance, last, entry);
  if (!isCreateFailed(last)) return planUpdate(instance, { entry, problem, last });
  return operation?.isOrphan ? { kind: "mitigate" } : rest(failedReady(last));
}

/** The desired state replaces a request that the broker has not taken yet. */
function planAsk(instance: ServiceInstance, { type }: LastOperation, entry: PlanEntry | undefined): InstanceStep {
  const isUpdate = type === "update";
  const { attempts = 0, target } = instance.status?.operation ?? {};
  const wanted = entry && attempts > 0 ? toTarget(instance, entry) : undefined;
  if (wanted && !isDeepStrictEqual(wanted, target))
    return { kind: "begin", type: isUpdate ? "update" : "create", target: wanted };
  return { kind: isUpdate ? "update" : "provision" };
}

function isCreateFailed({ type, state }: LastOperation): boolean {
  return type === "create" && state === "failed";
}

function planUpdate(
  instance: ServiceInstance,
  { entry, problem, last }: { entry: PlanEntry | undefined; problem: ReadyDraft | undefined; last: LastOperation },
): InstanceStep {
  const unfinished = last.state === "failed" ? failedReady(last) : undefined;
  if (!isChanged(instance, entry)) return rest(unfinished);
  if (wantedKey(instance) === instance.status?.refusedUpdate) return rest(unfinished);
  return entry ? { kind: "begin", type: "update", target: toTarget(instance, entry) } : rest(problem);
}

/** Names an update, so that one that failed is not tried again. */
export function wantedKey({ metadata, spec }: ServiceInstance): string {
  const { planRef, parametersSecretRef, maintenanceVersion } = spec;
  return JSON.stringify([
    planRef?.namespace ?? "",
    planRef?.name,
    parametersSecretRef?.name,
    maintenanceVersion,
    displayNameOf({ metadata, spec }),
  ]).slice(0, MAX_REFUSED_UPDATE);
}

/** The update that has failed, unless the spec has changed since it began: what is wanted now was not tried. */
export function refusedUpdateOf(instance: ServiceInstance, { generation }: LastOperation): string | undefined {
  const isLatest = generation === undefined || generation === instance.metadata.generation;
  return isLatest ? wantedKey(instance) : undefined;
}

function rest(ready: ReadyDraft | undefined): InstanceStep {
  return ready ? { kind: "rest", ready } : { kind: "rest" };
}
