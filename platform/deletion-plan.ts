// In which order an uninstallation deletes our objects, and how it names those that do not end. Pure.
import { Org } from "../crds/org/org.ts";
import { displayNameOf } from "../crds/object-names.ts";
import { ServiceBinding } from "../crds/service-binding/service-binding.ts";
import { ServiceBroker } from "../crds/service-broker/service-broker.ts";
import { ServiceInstance } from "../crds/service-instance/service-instance.ts";
import { Space } from "../crds/space/space.ts";
import type { Condition, KubeObject, ObjectMeta } from "../kube/api/object.ts";
import type { ResourceRef } from "../kube/api/resource-ref.ts";

/** An object with finalizers, which only controllers can end. */
export interface Remaining {
  ref: ResourceRef;
  metadata: ObjectMeta;
}

/** Each waits for the end of those before it: the controllers of an org delete its contents in their order, and a broker deletes its instances. */
const STAGES: readonly ((ref: ResourceRef) => boolean)[] = [
  ({ kind }) => kind === Org.kind,
  ({ kind }) => kind !== Org.kind && kind !== ServiceBroker.kind,
  ({ kind }) => kind === ServiceBroker.kind,
];

/** Those to delete now. */
export function planDeletions(remaining: readonly Remaining[]): Remaining[] {
  const stage = STAGES.find((isOf) => remaining.some(({ ref }) => isOf(ref)));
  return remaining.filter(({ ref, metadata }) => stage?.(ref) && !metadata.deletionTimestamp);
}

/** Changes whenever any of them does. */
export function toProgress(remaining: readonly Remaining[]): string {
  return remaining
    .map(({ metadata: { uid, resourceVersion } }) => `${uid}@${resourceVersion}`)
    .toSorted()
    .join();
}

/** An org waits for its spaces, and a space for its contents: whatever blocks them comes first. */
export function byCause(remaining: readonly Remaining[]): Remaining[] {
  return remaining.toSorted((a, b) => rank(a) - rank(b));
}

const rank = ({ ref }: Remaining): number => (ref.kind === Org.kind ? 2 : ref.kind === Space.kind ? 1 : 0);

/** Those being deleted that wait for no other of them. */
export function listBlockers(remaining: readonly Remaining[]): Remaining[] {
  const going = byCause(remaining.filter(({ metadata }) => metadata.deletionTimestamp));
  return going.filter((one, _at, [first = one]) => rank(one) === rank(first));
}

/** `3 orgs, 1 servicebrokers`. */
export function countKinds(remaining: readonly Remaining[]): string {
  const byKind = Map.groupBy(remaining, ({ ref }) => ref.plural);
  return [...byKind].map(([plural, some]) => `${some.length} ${plural}`).join(", ");
}

/** The object with what it waits for, and what a person can do: one line. */
export function describeBlocker(ref: ResourceRef, object: KubeObject): string {
  const { namespace, name, finalizers = [] } = object.metadata;
  const condition = findProblem(object);
  const why = condition
    ? `${condition.reason}: ${condition.message}`
    : `no controller has said why; its finalizers are ${finalizers.join(", ")}`;
  return `${ref.kind} ${namespace ? `${namespace}/` : ""}${name}: ${why}. Next: ${nextStep(ref, object, condition)}`;
}

export function findProblem(object: KubeObject): Condition | undefined {
  const { conditions = [] } = (object["status"] ?? {}) as { conditions?: Condition[] };
  const failing = conditions.filter(({ status }) => status !== "True");
  return failing.find(({ type }) => type === "Ready") ?? failing[0];
}

function nextStep(ref: ResourceRef, object: KubeObject, condition: Condition | undefined): string {
  return ofService(ref, object, condition) ?? ofTenancy(object, condition) ?? LOOK_AT_LOGS;
}

const LOOK_AT_LOGS = "kubectl logs -n cupola-system deployment/cupola-controllers";

function ofService(ref: ResourceRef, object: KubeObject, condition: Condition | undefined): string | undefined {
  const { namespace = "", name } = object.metadata;
  switch (ref.kind) {
    case ServiceInstance.kind: {
      const purge = `kubectl patch ${ref.plural}.${ref.group} ${name} -n ${namespace} --type=merge -p '{"spec":{"purge":true}}'`;
      return `bring its service broker back, or forget it: cf purge-service-instance ${displayNameOf(object as never)}, or ${purge}`;
    }
    case ServiceBinding.kind:
      return "bring its service broker back, or purge its service instance";
    case ServiceBroker.kind:
      return condition?.reason === "InstancesExist"
        ? "delete or purge the service instances of its plans: kubectl get serviceinstances.cupola.dev -A"
        : undefined;
    default:
      return undefined;
  }
}

function ofTenancy(object: KubeObject, condition: Condition | undefined): string | undefined {
  const { namespace } = (object["status"] ?? {}) as { namespace?: string };
  switch (condition?.reason) {
    case "NamespaceTerminating":
      return `see what is left in it: kubectl get namespace ${namespace ?? ""} -o jsonpath='{.status.conditions}'`;
    case "SpacesRemain":
    case "ContentsRemain":
      return "see the objects that it waits for";
    default:
      return undefined;
  }
}
