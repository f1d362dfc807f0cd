// Bindings of managed instances: asks the broker for credentials and keeps them in a Secret. One replica does.
import { App } from "../../crds/app/app.ts";
import { BackendClass } from "../../crds/backend-class/backend-class.ts";
import { hasVolumeRunner } from "../../crds/backend-class/mounts-volumes.ts";
import { guidOf } from "../../crds/guid.ts";
import { LABELS } from "../../crds/labels.ts";
import { QUOTA_EXCEEDED } from "../../crds/org-quota/counts.ts";
import { toLifetime } from "../../crds/service-binding/lifetime.ts";
import { isPredecessor } from "../../crds/service-binding/rotation.ts";
import { bindingSecretName, toBindingData } from "../../crds/service-binding/binding-secret.ts";
import { instanceNamespaceOf, MAX_DRAIN_ADDRESS, ServiceBinding } from "../../crds/service-binding/service-binding.ts";
import { Route } from "../../crds/route/route.ts";
import { ServiceBroker } from "../../crds/service-broker/service-broker.ts";
import { wishOf } from "../../crds/service-instance/deletion-wish.ts";
import { ServiceInstance } from "../../crds/service-instance/service-instance.ts";
import { ServiceOffering } from "../../crds/service-offering/service-offering.ts";
import { ServicePlan } from "../../crds/service-plan/service-plan.ts";
import { Secret } from "../../kube/api/builtin.ts";
import { parseDrainAddress, toHostAndPort } from "../../telemetry/drains/drain-address.ts";
import {
  defineController,
  type FinalizeResult,
  NotReady,
  type ReadyDraft,
  watch,
  type Controller,
  type ReconcileContext,
  type ReconcileResult,
} from "../../kube/controller/controller.ts";
import { NETWORK_SETTINGS_WATCH } from "../shared/network-settings.ts";
import { findFullQuota, quotaWatches, WAITING_INDEXES, type CountedKind } from "../shared/counted-quotas.ts";
import { GUID_INDEX, indexByGUID, resolveGUID } from "../shared/guid.ts";
import { askBroker, readParameters } from "../shared/osb/ask-broker.ts";
import { createBrokerMemory } from "../shared/osb/broker-memory.ts";
import type { BrokerRequest } from "../shared/osb/call-broker.ts";
import { mitigate } from "../shared/osb/mitigation.ts";
import { beginOperation } from "../shared/osb/operation-status.ts";
import { ask, poll } from "../shared/osb/operation.ts";
import type { Outcome } from "../shared/osb/outcomes.ts";
import { getContextPlace, toBrokerAnnotations } from "../shared/osb/platform-context.ts";
import { toAskedOutcome, type Brokers, type Provided } from "../shared/osb/provided.ts";
import { underWay } from "../shared/osb/ready.ts";
import { removeAtBroker } from "../shared/osb/removal.ts";
import { putOwnSecret } from "../shared/own-secret.ts";
import { getTenancy, TENANCY_KINDS } from "../shared/tenancy.ts";
import { toBind, toBindingPoll, toRead, toUnbind, type BoundApp } from "./broker-requests.ts";
import { INSTANCE_INDEX, instanceKey, indexByInstance } from "../shared/binding-index.ts";
import { toBindOutcome, toContent, toFetchOutcome } from "./binding-answer.ts";
import { findBound, type Bound } from "./bound.ts";
import { planBinding, planRenewal, planRenewalEvent, planSharing } from "./plan.ts";

/** A silent broker holds some of them for a minute each. */
const WORKERS = 48;
/** Until an app or a route is looked for again: they are read, not watched. */
const REFERENCE_MISSING_MS = 1_000;

/** Until another operation on the instance is looked at again. */
const SIBLING_MS = 1_000;

export function managedBindingController(shared: Omit<Brokers, "memory">): Controller {
  const brokers = { ...shared, memory: createBrokerMemory() };
  return defineController({
    name: "managed-service-binding",
    kind: "singleton",
    for: ServiceBinding,
    // Ready is the other controller's, which every binding has.
    condition: "Provided",
    workers: WORKERS,
    reads: [...TENANCY_KINDS, ServicePlan, ServiceOffering, ServiceBroker, App, BackendClass, Route],
    indexes: { ...WAITING_INDEXES, [GUID_INDEX]: indexByGUID, [INSTANCE_INDEX]: indexByInstance },
    watches: [
      NETWORK_SETTINGS_WATCH,
      ...quotaWatches(ServiceBinding),
      watch(ServiceInstance, ({ metadata }) => ({ [INSTANCE_INDEX]: instanceKey(metadata.namespace, metadata.name) })),
    ],
    finalizer: "cupola.dev/broker",
    // A binding that no broker was asked for needs no finalizer. A binding with the finalizer and no status was restored from a backup.
    needsFinalizer: ({ status }: ServiceBinding) => status?.lastOperation !== undefined,
    permissions: [{ resource: Secret, verbs: ["get", "create", "patch"] }],

    async reconcile(binding, context) {
      const bound = findBound(binding, context);
      return bound ? run(bound, context, brokers) : { keepStatus: true };
    },

    async finalize(binding, context) {
      const bound = findBound(binding, context);
      if (bound?.instance?.spec.purge) return undefined;
      if (bound) return unbind(bound, context, brokers);
      context.recordEvent(binding, { type: "Warning", reason: "NotUnbound", message: NOT_UNBOUND });
      return undefined;
    },
  });
}

const NOT_UNBOUND =
  "the service broker was not asked to delete it: its instance is gone, and nothing else says which broker that is";

/** Deletes it at the broker, which may be gone together with the instance. */
async function unbind(bound: Bound, context: ReconcileContext, brokers: Brokers): Promise<FinalizeResult> {
  const { namespace = "", name } = bound.provided.brokerRef;
  if (bound.instance || context.read.find(ServiceBroker, { namespace, name }))
    return removeAtBroker(toWork(bound, context, brokers));
  const message = `the service broker was not asked to delete it: ServiceBroker ${name} is gone, and so is the instance`;
  context.recordEvent(bound.binding, { type: "Warning", reason: "NotUnbound", message });
  return undefined;
}

function toWork(bound: Bound, context: ReconcileContext, brokers: Brokers): Provided {
  const { binding, provided, plan } = bound;
  return {
    object: binding,
    guid: bound.guid,
    instanceGUID: bound.instanceGUID,
    provided,
    last: binding.status?.lastOperation,
    operation: binding.status?.operation,
    maximumSeconds: plan?.spec.maximumPollingDuration,
    wish: wishOf(binding, bound.instance),
    removal: "unbind",
    requests: {
      poll: (id) => toBindingPoll(bound, provided, id),
      remove: () => toUnbind(bound, provided),
    },
    context,
    ...brokers,
  };
}

/** Until the catalog is asked again whether an instance may be shared. */
const SHARING_MS = 30_000;

const KEYS: CountedKind<ServiceBinding> = {
  ref: ServiceBinding,
  limit: "totalServiceKeys",
  noun: "service keys",
  reason: QUOTA_EXCEEDED,
  counts: ({ spec }) => spec.type === "key",
  isInForce: ({ status }) => status?.lastOperation !== undefined,
};

async function run(bound: Bound, context: ReconcileContext, brokers: Brokers): Promise<ReconcileResult> {
  const { binding, instance, plan, offering } = bound;
  const step = planBinding(binding, instance, {
    plan,
    offering,
    mountsVolumes: hasVolumeRunner(context.read.list(BackendClass)),
  });
  const work = toWork(bound, context, brokers);
  switch (step.kind) {
    case "rest":
      return step.ready ? { ready: step.ready } : renew(binding, context);
    case "begin":
      return isInstanceBusy(bound, context)
        ? { ready: INSTANCE_BUSY, requeueAfterMs: SIBLING_MS }
        : begin(bound, context);
    case "bind":
      return bind(bound, work);
    case "poll":
      return poll(work, { fetch: () => fetchBinding(bound, work), keep: (body) => keep(bound, body, context) });
    case "mitigate":
      return mitigate(work);
  }
}

/** Nobody replaces credentials but their people, who decide when their app restarts: they are told. */
function renew(binding: ServiceBinding, context: ReconcileContext): ReconcileResult {
  const renewal = planRenewal(binding, context.now());
  const event = planRenewalEvent(binding, renewal);
  if (event) context.recordEvent(binding, event);
  return renewal;
}

/** Keeps at which broker it is to be deleted, whatever becomes of its instance. */
function begin(bound: Bound, context: ReconcileContext): ReconcileResult {
  const { binding, provided, instanceGUID } = bound;
  const { namespace = "" } = binding.metadata;
  const full = findFullQuota(binding, KEYS, context.read);
  if (full) return { ready: full };
  const unshared = planSharing(bound, { namespace, org: getTenancy(context.read, namespace).orgObjectName });
  if (unshared) return { ready: unshared, requeueAfterMs: SHARING_MS };
  const begun = beginOperation("create", { now: context.now(), generation: binding.metadata.generation });
  return { status: { ...begun, provided, instanceGUID }, ready: underWay(begun.lastOperation) };
}

const INSTANCE_BUSY: ReadyDraft = {
  status: "False",
  reason: "InstanceBusy",
  message: "another operation on the service instance goes first",
};

async function bind(bound: Bound, work: Provided): Promise<ReconcileResult> {
  // It has begun at the same moment.
  if (isInstanceBusy(bound, work.context)) return { ready: INSTANCE_BUSY, requeueAfterMs: SIBLING_MS };
  return ask(work, "bind", {
    toRequest: () => toRequest(bound, work.context),
    toOutcome: (answer) => toBindOutcome(answer, { offering: bound.offering, type: bound.binding.spec.type }),
    keep: (body) => keep(bound, body, work.context),
    adopt: () => fetchBinding(bound, work),
  });
}

/** A broker may do one thing at a time with an instance and its bindings. */
function isInstanceBusy({ binding, instance }: Bound, { read }: ReconcileContext): boolean {
  if (!instance) return false;
  const { namespace, name } = instance.metadata;
  const siblings = read
    .byIndex(ServiceBinding, INSTANCE_INDEX, instanceKey(namespace, name))
    .filter(({ metadata }) => metadata.uid !== binding.metadata.uid);
  return [instance, ...siblings].some(({ status }) => status?.lastOperation?.state === "in progress");
}

async function toRequest(bound: Bound, context: ReconcileContext): Promise<BrokerRequest> {
  const { binding, guid, provided, offering } = bound;
  const { namespace = "" } = binding.metadata;
  const app = findBoundApp(binding, context);
  const routeAddress = findRouteAddress(binding, context);
  const parameters = await readParameters(
    binding.spec.parametersSecretRef?.name,
    { ref: ServiceBinding, object: binding, label: LABELS.serviceBinding, guid },
    context,
  );
  return toBind(bound, provided, {
    place: getContextPlace(context.read, instanceNamespaceOf(binding)),
    appSpaceGUID: getTenancy(context.read, namespace).space.guid,
    app,
    routeAddress,
    parameters,
    predecessorGUID: findPredecessor(bound, context),
    isRetrievable: offering?.spec.bindingsRetrievable ?? false,
  });
}

/** GUID of the binding that this one replaces; undefined where the broker rotates none, and for one that is none any more. */
function findPredecessor(
  { binding: { metadata, spec }, plan }: Bound,
  { read, now }: ReconcileContext,
): string | undefined {
  if (!spec.predecessorRef || !plan?.spec.bindingRotatable) return undefined;
  const found = read.find(ServiceBinding, { namespace: metadata.namespace ?? "", name: spec.predecessorRef.name });
  return found && isPredecessor(found, spec, now()) ? guidOf(found) : undefined;
}

/** Without the GUID the broker would take the binding for a key. @throws NotReady */
function findBoundApp({ metadata, spec: { appRef } }: ServiceBinding, context: ReconcileContext): BoundApp | undefined {
  if (!appRef) return undefined;
  const app = context.read.find(App, { namespace: metadata.namespace ?? "", name: appRef.name });
  if (app) return { guid: resolveGUID(App, app, context).guid, annotations: toBrokerAnnotations(app.metadata) };
  const message = `app ${appRef.name} does not exist yet`;
  throw new NotReady("AppMissing", message, { requeueAfterMs: REFERENCE_MISSING_MS });
}

/** Host and path. @throws NotReady */
function findRouteAddress(
  { metadata, spec: { routeRef } }: ServiceBinding,
  { read }: ReconcileContext,
): string | undefined {
  if (!routeRef) return undefined;
  const route = read.find(Route, { namespace: metadata.namespace ?? "", name: routeRef.name });
  if (route?.status?.url !== undefined) return route.status.url;
  const message = `route ${routeRef.name} is not served yet`;
  throw new NotReady("RouteMissing", message, { requeueAfterMs: REFERENCE_MISSING_MS });
}

/** An asynchronous broker tells the credentials once it is done. */
function fetchBinding(bound: Bound, work: Provided): Promise<Outcome> {
  const asking = askBroker(bound.provided, () => toRead(bound, bound.provided), work);
  return toAskedOutcome(asking, (answer) =>
    toFetchOutcome(answer, { offering: bound.offering, type: bound.binding.spec.type }),
  );
}

/** Keeps what the broker gave. The status names the Secret. */
async function keep(
  { binding, guid, provided, offering }: Bound,
  body: Record<string, unknown>,
  context: ReconcileContext,
): Promise<Record<string, unknown>> {
  const type = provided.offeringName ?? "managed";
  const name = bindingSecretName(binding.metadata.name);
  const content = toContent(body, { offering });
  const data = toBindingData(content, type);
  const label = { key: LABELS.serviceBinding, guid };
  const secret = { name, type: `servicebinding.io/${type}`, label, data };
  await putOwnSecret({ ref: ServiceBinding, object: binding }, secret, context);
  const { routeServiceURL, syslogDrainURL } = content;
  return {
    binding: { name },
    ...toLifetime(body["metadata"]),
    syslogDrainAddress: syslogDrainURL && addressOf(syslogDrainURL),
    ...(binding.spec.type === "route" && routeServiceURL && { routeServiceURL }),
  };
}

/** Undefined for no address of a drain, which gets nothing. */
function addressOf(drainURL: string): string | undefined {
  const address = parseDrainAddress(drainURL);
  return "problem" in address ? undefined : toHostAndPort(address).slice(0, MAX_DRAIN_ADDRESS);
}
