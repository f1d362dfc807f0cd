// Managed service instances: asks their broker to make, change and delete them, one step at a time. One replica does.
import { Claim } from "../../crds/claim/claim.ts";
import { claimObjectName, serviceInstanceName } from "../../crds/claim/rules.ts";
import { LABELS } from "../../crds/labels.ts";
import { displayNameOf } from "../../crds/object-names.ts";
import { instanceNamespaceOf, ServiceBinding } from "../../crds/service-binding/service-binding.ts";
import { ServiceBroker } from "../../crds/service-broker/service-broker.ts";
import { wishOf } from "../../crds/service-instance/deletion-wish.ts";
import { ServiceInstance } from "../../crds/service-instance/service-instance.ts";
import { ServiceOffering } from "../../crds/service-offering/service-offering.ts";
import { ServicePlan } from "../../crds/service-plan/service-plan.ts";
import {
  defineController,
  type FinalizeResult,
  NotReady,
  watch,
  type Controller,
  type ReconcileContext,
  type ReconcileResult,
} from "../../kube/controller/controller.ts";
import { Secret } from "../../kube/api/builtin.ts";
import type { Permission } from "../../kube/rbac/resource-rules.ts";
import type { Reader } from "../../kube/cache/reader.ts";
import { indexByInstance, INSTANCE_INDEX } from "../shared/binding-index.ts";
import { NETWORK_SETTINGS_WATCH } from "../shared/network-settings.ts";
import { CLAIMED_NAME_INDEX, ensureClaim } from "../shared/claims.ts";
import { quotaWatches, WAITING_INDEXES } from "../shared/counted-quotas.ts";
import { GUID_INDEX, indexByGUID, resolveGUID } from "../shared/guid.ts";
import { readParameters } from "../shared/osb/ask-broker.ts";
import type { BrokerRequest } from "../shared/osb/call-broker.ts";
import { createBrokerMemory } from "../shared/osb/broker-memory.ts";
import { mitigate } from "../shared/osb/mitigation.ts";
import { beginOperation } from "../shared/osb/operation-status.ts";
import { ask, poll } from "../shared/osb/operation.ts";
import { textOf, toOutcome } from "../shared/osb/outcomes.ts";
import type { Brokers, Provided } from "../shared/osb/provided.ts";
import { getContextPlace, toBrokerAnnotations } from "../shared/osb/platform-context.ts";
import { findProvidedPlan } from "../shared/osb/provided-plan.ts";
import { underWay } from "../shared/osb/ready.ts";
import { removeAtBroker } from "../shared/osb/removal.ts";
import { findRestoredProvided } from "../shared/osb/wanted-plan.ts";
import { TENANCY_KINDS } from "../shared/tenancy.ts";
import { isBindingUnderWay, listBindings, removeBindings, removeUnshared } from "./bindings.ts";
import { toDeprovision, toPoll, toProvision, toUpdate } from "./broker-requests.ts";
import { findEntry } from "./plan-entry.ts";
import { removeOldParameters } from "./old-parameters.ts";
import { keepToldParameters } from "./told-parameters.ts";
import { planInstance, refusedUpdateOf, type InstanceStep } from "./plan.ts";

const PLAN_INDEX = "controllers/service-plan";
/** A silent broker holds some of them for a minute each. */
const WORKERS = 48;

/** Until a binding's operation is looked at again. */
const BINDING_MS = 1_000;

function planKey({ metadata, spec: { planRef } }: ServiceInstance): string {
  return `${planRef?.namespace ?? metadata.namespace ?? ""}/${planRef?.name ?? ""}`;
}

const INDEXES = {
  ...WAITING_INDEXES,
  [GUID_INDEX]: indexByGUID,
  [PLAN_INDEX]: (instance: ServiceInstance) => [planKey(instance)],
  [CLAIMED_NAME_INDEX]: (instance: ServiceInstance) => [claimObjectName(serviceInstanceName(instance))],
};

const PERMISSIONS: readonly Permission[] = [
  { resource: ServiceBinding, verbs: ["delete"] },
  { resource: Secret, verbs: ["get", "create", "patch", "delete"] },
];

export function managedInstanceController(shared: Omit<Brokers, "memory">): Controller {
  const brokers = { ...shared, memory: createBrokerMemory() };
  return defineController({
    name: "managed-service-instance",
    kind: "singleton",
    for: ServiceInstance,
    workers: WORKERS,
    selects: ({ spec }: ServiceInstance) => spec.type === "managed",
    reads: [...TENANCY_KINDS, ServiceOffering, ServiceBroker],
    indexes: INDEXES,
    watches: [
      NETWORK_SETTINGS_WATCH,
      ...quotaWatches(ServiceInstance),
      watch(Claim, (claim) => ({ [CLAIMED_NAME_INDEX]: claim.metadata.name })),
      watch(ServicePlan, ({ metadata }) => ({ [PLAN_INDEX]: `${metadata.namespace ?? ""}/${metadata.name}` })),
      watch(
        ServiceBinding,
        (binding) => [{ namespace: instanceNamespaceOf(binding), name: binding.spec.instanceRef.name }],
        { indexes: { [INSTANCE_INDEX]: indexByInstance } },
      ),
    ],
    permissions: PERMISSIONS,
    finalizer: "cupola.dev/broker",
    // An instance that no broker was asked for needs no finalizer. An instance with the finalizer and no status was restored from a backup.
    needsFinalizer: ({ status }: ServiceInstance) => status?.lastOperation !== undefined,

    async reconcile(instance, context) {
      const { guid, labels } = resolveGUID(ServiceInstance, instance, context);
      await ensureClaim(ServiceInstance.kind, instance, serviceInstanceName(instance), context);
      const { entry, problem } = findEntry(instance, context.read);
      const step = planInstance(instance, entry, problem);
      await removeUnshared(instance, context);
      return {
        labels,
        ...(await run(step, { instance, context, work: toWork(instance, { guid, context, brokers }) })),
      };
    },

    finalize: (instance, context) => remove(instance, context, brokers),
  });
}

async function remove(instance: ServiceInstance, context: ReconcileContext, brokers: Brokers): Promise<FinalizeResult> {
  const waiting = isGoing(instance) ? undefined : await removeBindings(instance, context);
  if (waiting || instance.spec.purge) return waiting;
  const { guid } = resolveGUID(ServiceInstance, instance, context);
  const known = instance.status?.provided ? instance : withRestored(instance, context.read);
  const work = toWork(known, { guid, context, brokers });
  return work && (await removeAtBroker(work));
}

/** Has the broker said that it deletes it? */
function isGoing({ status }: ServiceInstance): boolean {
  return status?.lastOperation?.type === "delete" && status.lastOperation.state === "in progress";
}

/** An instance that was restored without its status counts as one of the plan that it asks for. One that no broker has stays as it is. @throws NotReady("PlanMissing") */
function withRestored(instance: ServiceInstance, read: Reader): ServiceInstance {
  const provided = findRestoredProvided(instance, read);
  return provided ? { ...instance, status: { ...instance.status, provided } } : instance;
}

/** Undefined until the broker is to be asked for the first time. */
function toWork(
  instance: ServiceInstance,
  { guid, context, brokers }: { guid: string; context: ReconcileContext; brokers: Brokers },
): Provided | undefined {
  const { provided, lastOperation, operation } = instance.status ?? {};
  if (!provided) return undefined;
  return {
    object: instance,
    guid,
    instanceGUID: guid,
    provided,
    last: lastOperation,
    operation,
    maximumSeconds: findProvidedPlan(provided, context.read).plan?.spec.maximumPollingDuration,
    wish: wishOf(instance),
    removal: "deprovision",
    requests: {
      poll: (id) => toPoll(guid, provided, id),
      remove: () => toDeprovision(guid, provided),
    },
    failedStatus: (last) => (last.type === "update" ? { refusedUpdate: refusedUpdateOf(instance, last) } : {}),
    context,
    ...brokers,
  };
}

async function run(
  step: InstanceStep,
  { instance, context, work }: { instance: ServiceInstance; context: ReconcileContext; work: Provided | undefined },
): Promise<ReconcileResult> {
  if (step.kind === "rest") return step.ready ? { ready: step.ready } : {};
  if (step.kind === "begin") return begin(step, instance, context.now());
  if (!work) return {};
  if (step.kind === "poll") return poll(work, { fetch: nothingMore, keep: () => toDone(instance, work, {}) });
  return step.kind === "mitigate" ? mitigate(work) : askFor(step.kind, instance, work);
}

/** A broker that is done with an instance has no more to tell. */
const nothingMore = () => Promise.resolve({ kind: "done", body: {}, description: "" } as const);

function begin(
  { type, target }: InstanceStep & { kind: "begin" },
  { metadata }: ServiceInstance,
  now: Date,
): ReconcileResult {
  const begun = beginOperation(type, { now, generation: metadata.generation, operation: { target } });
  return {
    // A new instance keeps the broker's ids at once: it may have to be deleted before there is an answer.
    status: { ...begun, ...(type === "create" && { provided: target }), refusedUpdate: undefined },
    ready: underWay(begun.lastOperation),
  };
}

async function askFor(
  kind: "provision" | "update",
  instance: ServiceInstance,
  work: Provided,
): Promise<ReconcileResult> {
  if (kind === "update" && isBindingUnderWay(listBindings(instance, work.context)))
    throw new NotReady("BindingUnderWay", "an operation of a binding goes first", { requeueAfterMs: BINDING_MS });
  let accepted: Record<string, unknown> = {};
  const result = await ask(work, kind, {
    toRequest: () => toRequest(kind, instance, work),
    toOutcome: (answer) => {
      const outcome = toOutcome(kind, answer);
      if (outcome.kind === "accepted") accepted = toDashboard(outcome.body);
      return outcome;
    },
    keep: (body) => toDone(instance, work, body),
    adopt: nothingMore,
  });
  return { ...result, status: { ...result.status, ...accepted } };
}

async function toRequest(
  kind: "provision" | "update",
  instance: ServiceInstance,
  { provided, guid, context, operation }: Provided,
): Promise<BrokerRequest> {
  const target = operation?.target ?? provided;
  const { namespace = "" } = instance.metadata;
  const facts = {
    guid,
    name: displayNameOf(instance),
    annotations: toBrokerAnnotations(instance.metadata),
    place: getContextPlace(context.read, namespace),
  };
  const isNew = kind === "provision" || target.parametersSecret !== provided.parametersSecret;
  const parameters = await readParameters(
    isNew ? target.parametersSecret : undefined,
    { ref: ServiceInstance, object: instance, label: LABELS.serviceInstance, guid },
    context,
  );
  return kind === "provision"
    ? toProvision(facts, target, parameters)
    : toUpdate(facts, { before: provided, target }, parameters);
}

/** Result of a broker that is done. */
async function toDone(
  instance: ServiceInstance,
  work: Provided,
  body: Record<string, unknown>,
): Promise<Record<string, unknown>> {
  const provided = work.operation?.target ?? work.provided;
  await removeOldParameters(instance, { before: work.provided, after: provided }, work);
  return { provided, ...toDashboard(body), ...(await keepToldParameters(instance, provided, work)) };
}

function toDashboard(body: Record<string, unknown>): Record<string, unknown> {
  const url = textOf(body["dashboard_url"]);
  return url === undefined || url.length > 2048 ? {} : { dashboardURL: url };
}
