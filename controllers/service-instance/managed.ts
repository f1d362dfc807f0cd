// Managed service instances: asks their broker to make, change and delete them, one step at a time. One replica does.
import { Claim } from "../../crds/claim/claim.ts";
import { claimObjectName, serviceInstanceName } from "../../crds/claim/rules.ts";
import { LABELS } from "../../crds/labels.ts";
import { displayNameOf } from "../../crds/object-names.ts";
import { instanceNamespaceOf, ServiceBinding } from "../../crds/service-binding/service-binding.ts";
import { ServiceBroker } from "../../crds/service-broker/service-broker.ts";
import { ServiceInstance } from "../../crds/service-instance/service-instance.ts";
import { ServiceOffering } from "../../crds/service-offering/service-offering.ts";
import { ServicePlan } from "../../crds/service-plan/service-plan.ts";
import {
  defineController,
  NotReady,
  watch,
  type Controller,
  type ReconcileContext,
  type ReconcileResult,
} from "../../kube/controller/controller.ts";
import { CLAIMED_NAME_INDEX, ensureClaim } from "../shared/claims.ts";
import { GUID_INDEX, indexByGUID, resolveGUID } from "../shared/guid.ts";
import { readParameters } from "../shared/osb/ask-broker.ts";
import type { BrokerRequest } from "../shared/osb/call-broker.ts";
import type { BrokerPace } from "../shared/osb/broker-pace.ts";
import { beginOperation } from "../shared/osb/operation-status.ts";
import { askOnce, mitigate, poll, removeAtBroker, settle, underWay, type Provided } from "../shared/osb/operation.ts";
import { textOf, toOutcome } from "../shared/osb/outcomes.ts";
import { createBrokerMemory, type BrokerMemory } from "../shared/osb/broker-memory.ts";
import { getTenancy, TENANCY_KINDS } from "../shared/tenancy.ts";
import { toDeprovision, toPoll, toProvision, toUpdate } from "./broker-requests.ts";
import { findEntry, type PlanEntry } from "./plan-entry.ts";
import { planInstance, wantedKey, type InstanceStep } from "./plan.ts";

const PLAN_INDEX = "controllers/service-plan";
/** A silent broker holds some of them for a minute each. */
const WORKERS = 48;

interface Brokers {
  pace: BrokerPace;
  memory: BrokerMemory;
}

function planKey({ metadata, spec: { planRef } }: ServiceInstance): string {
  return `${planRef?.namespace ?? metadata.namespace ?? ""}/${planRef?.name ?? ""}`;
}

const INDEXES = {
  [GUID_INDEX]: indexByGUID,
  [PLAN_INDEX]: (instance: ServiceInstance) => [planKey(instance)],
  [CLAIMED_NAME_INDEX]: (instance: ServiceInstance) => [claimObjectName(serviceInstanceName(instance))],
};

export function managedInstanceController(pace: BrokerPace): Controller {
  const brokers = { pace, memory: createBrokerMemory() };
  return defineController({
    name: "managed-service-instance",
    kind: "singleton",
    for: ServiceInstance,
    workers: WORKERS,
    selects: ({ spec }: ServiceInstance) => spec.type === "managed",
    reads: [...TENANCY_KINDS, ServiceOffering, ServiceBroker],
    indexes: INDEXES,
    watches: [
      watch(Claim, (claim) => ({ [CLAIMED_NAME_INDEX]: claim.metadata.name })),
      watch(ServicePlan, ({ metadata }) => ({ [PLAN_INDEX]: `${metadata.namespace ?? ""}/${metadata.name}` })),
      watch(ServiceBinding, (binding) => [
        { namespace: instanceNamespaceOf(binding), name: binding.spec.instanceRef.name },
      ]),
    ],
    permissions: [{ resource: ServiceBinding, verbs: ["delete"] }],
    finalizer: "cupola.dev/broker",

    async reconcile(instance, context) {
      const { guid, labels } = resolveGUID(ServiceInstance, instance, context);
      await ensureClaim(ServiceInstance.kind, instance, serviceInstanceName(instance), context);
      const { entry, problem } = findEntry(instance, context.read);
      const step = planInstance(instance, entry, problem);
      return {
        labels,
        ...(await run(step, { instance, context, work: toWork(instance, { guid, entry, context, brokers }) })),
      };
    },

    async finalize(instance, context) {
      await removeBindings(instance, context);
      const { guid } = resolveGUID(ServiceInstance, instance, context);
      const work = toWork(instance, { guid, entry: undefined, context, brokers });
      if (work && !instance.spec.purge) await removeAtBroker(work);
    },
  });
}

/** Undefined until the broker is to be asked for the first time. */
function toWork(
  instance: ServiceInstance,
  {
    guid,
    entry,
    context,
    brokers,
  }: { guid: string; entry: PlanEntry | undefined; context: ReconcileContext; brokers: Brokers },
): Provided | undefined {
  const { provided, lastOperation, operation } = instance.status ?? {};
  return (
    provided && {
      ref: ServiceInstance,
      object: instance,
      guid,
      provided,
      last: lastOperation,
      operation,
      maximumSeconds: entry?.plan.spec.maximumPollingDuration,
      removal: "deprovision",
      requests: {
        poll: (id) => toPoll(guid, provided, id),
        remove: () => toDeprovision(guid, provided),
      },
      failedStatus: ({ type }) => (type === "update" ? { refusedUpdate: wantedKey(instance) } : {}),
      context,
      ...brokers,
    }
  );
}

async function run(
  step: InstanceStep,
  { instance, context, work }: { instance: ServiceInstance; context: ReconcileContext; work: Provided | undefined },
): Promise<ReconcileResult> {
  if (step.kind === "rest") return step.ready ? { ready: step.ready } : {};
  if (step.kind === "begin") return begin(step, instance, context.now());
  if (!work) return {};
  if (step.kind === "poll") return poll(work, () => Promise.resolve(toDone(work, {})));
  return step.kind === "mitigate" ? mitigate(work) : ask(step.kind, instance, work);
}

function begin(
  { type, target }: InstanceStep & { kind: "begin" },
  { metadata }: ServiceInstance,
  now: Date,
): ReconcileResult {
  const begun = beginOperation(type, { now, generation: metadata.generation, operation: { target } });
  return {
    // Of a new one the broker's ids are kept at once: it may have to be deleted before there is an answer.
    status: { ...begun, ...(type === "create" && { provided: target }), refusedUpdate: undefined },
    ready: underWay(begun.lastOperation),
  };
}

function ask(kind: "provision" | "update", instance: ServiceInstance, work: Provided): Promise<ReconcileResult> {
  return askOnce(
    work,
    () => toRequest(kind, instance, work),
    async (answer) => {
      const outcome = toOutcome(kind, answer);
      const result = await settle(work, outcome, (body) => Promise.resolve(toDone(work, body)));
      const url = outcome.kind === "accepted" ? toDashboard(outcome.body) : {};
      return { ...result, status: { ...result.status, ...url } };
    },
  );
}

async function toRequest(
  kind: "provision" | "update",
  instance: ServiceInstance,
  { provided, guid, context, operation }: Provided,
): Promise<BrokerRequest> {
  const target = operation?.target ?? provided;
  const { namespace = "" } = instance.metadata;
  const facts = { guid, name: displayNameOf(instance), tenancy: getTenancy(context.read, namespace) };
  const isNew = kind === "provision" || target.parametersSecret !== provided.parametersSecret;
  const parameters = await readParameters(
    { namespace, name: isNew ? target.parametersSecret : undefined },
    { label: LABELS.serviceInstance, guid },
    context,
  );
  return kind === "provision"
    ? toProvision(facts, target, parameters)
    : toUpdate(facts, { before: provided, target }, parameters);
}

/** What a broker that is done has given. */
function toDone({ operation }: Provided, body: Record<string, unknown>): Record<string, unknown> {
  return { ...(operation?.target && { provided: operation.target }), ...toDashboard(body) };
}

function toDashboard(body: Record<string, unknown>): Record<string, unknown> {
  const url = textOf(body["dashboard_url"]);
  return url === undefined || url.length > 2048 ? {} : { dashboardURL: url };
}

/** @throws NotReady("BindingsLeft"): the end of a binding is an event of the instance */
async function removeBindings(instance: ServiceInstance, { read, client }: ReconcileContext): Promise<void> {
  const { namespace = "", name } = instance.metadata;
  const namespaces = [namespace, ...(instance.spec.sharedSpaces ?? [])];
  const left = namespaces
    .flatMap((each) => read.list(ServiceBinding, { namespace: each }))
    .filter((one) => one.spec.instanceRef.name === name && instanceNamespaceOf(one) === namespace);
  for (const { metadata } of left.filter((one) => !one.metadata.deletionTimestamp))
    await client.delete(ServiceBinding, { namespace: metadata.namespace ?? "", name: metadata.name });
  if (left.length > 0) throw new NotReady("BindingsLeft", `${left.length} bindings are being deleted first`);
}
