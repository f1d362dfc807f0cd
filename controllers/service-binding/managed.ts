// Bindings of managed instances: asks the broker for credentials and keeps them in a Secret. One replica does.
import { App } from "../../crds/app/app.ts";
import { LABELS } from "../../crds/labels.ts";
import { bindingSecretName, toBindingData, type BindingContent } from "../../crds/service-binding/binding-secret.ts";
import { instanceNamespaceOf, ServiceBinding } from "../../crds/service-binding/service-binding.ts";
import { ServiceBroker } from "../../crds/service-broker/service-broker.ts";
import { isWithin, ServiceInstance } from "../../crds/service-instance/service-instance.ts";
import type { ProvidedBy } from "../../crds/service-instance/managed-fields.ts";
import { ServiceOffering } from "../../crds/service-offering/service-offering.ts";
import { ServicePlan } from "../../crds/service-plan/service-plan.ts";
import { Secret } from "../../kube/api/builtin.ts";
import type { Reader } from "../../kube/cache/reader.ts";
import { isAlreadyExists } from "../../kube/client/errors.ts";
import {
  defineController,
  NotReady,
  watch,
  type Controller,
  type ReconcileContext,
  type ReconcileResult,
} from "../../kube/controller/controller.ts";
import { toOwnerReference } from "../shared/app-owned.ts";
import { GUID_INDEX, indexByGUID, resolveGUID } from "../shared/guid.ts";
import { askBroker, readParameters } from "../shared/osb/ask-broker.ts";
import type { BrokerRequest } from "../shared/osb/call-broker.ts";
import type { BrokerPace } from "../shared/osb/broker-pace.ts";
import { beginOperation } from "../shared/osb/operation-status.ts";
import { askOnce, mitigate, poll, removeAtBroker, settle, underWay, type Provided } from "../shared/osb/operation.ts";
import { textOf, toOutcome } from "../shared/osb/outcomes.ts";
import { createBrokerMemory, type BrokerMemory } from "../shared/osb/broker-memory.ts";
import { getTenancy, TENANCY_KINDS } from "../shared/tenancy.ts";
import { toBind, toBindingPoll, toRead, toUnbind } from "./broker-requests.ts";
import { INSTANCE_INDEX, instanceKey, indexByInstance } from "./instance-index.ts";
import { planBinding } from "./plan.ts";

/** A silent broker holds some of them for a minute each. */
const WORKERS = 48;
/** Until an app is looked for again: it is read, not watched. */
const APP_MISSING_MS = 1_000;

interface Brokers {
  pace: BrokerPace;
  memory: BrokerMemory;
}

/** A binding with its managed instance, which its broker has been asked for. */
interface Bound {
  binding: ServiceBinding;
  guid: string;
  instance: ServiceInstance;
  provided: ProvidedBy;
  instanceGUID: string;
  plan: ServicePlan | undefined;
  offering: ServiceOffering | undefined;
}

export function managedBindingController(pace: BrokerPace): Controller {
  const brokers = { pace, memory: createBrokerMemory() };
  return defineController({
    name: "managed-service-binding",
    kind: "singleton",
    for: ServiceBinding,
    // Ready is the other controller's, which every binding has.
    condition: "Provided",
    workers: WORKERS,
    reads: [...TENANCY_KINDS, ServicePlan, ServiceOffering, ServiceBroker, App],
    indexes: { [GUID_INDEX]: indexByGUID, [INSTANCE_INDEX]: indexByInstance },
    watches: [
      watch(ServiceInstance, ({ metadata }) => ({ [INSTANCE_INDEX]: instanceKey(metadata.namespace, metadata.name) })),
    ],
    finalizer: "cupola.dev/broker",
    // What no broker was asked for needs none.
    needsFinalizer: ({ status }: ServiceBinding) => status?.lastOperation !== undefined,
    permissions: [{ resource: Secret, verbs: ["get", "create", "patch"] }],

    async reconcile(binding, context) {
      const bound = findBound(binding, context);
      return bound ? run(bound, context, brokers) : { keepStatus: true };
    },

    async finalize(binding, context) {
      const bound = findBound(binding, context);
      // Without its instance, nobody knows the broker any more.
      if (bound && !bound.instance.spec.purge) await removeAtBroker(toWork(bound, context, brokers));
    },
  });
}

/** Undefined for one of a user-provided instance, of none, or of one that is not shared with this space. */
function findBound(binding: ServiceBinding, context: ReconcileContext): Bound | undefined {
  const { read } = context;
  const key = { namespace: instanceNamespaceOf(binding), name: binding.spec.instanceRef.name };
  const instance = read.find(ServiceInstance, key);
  const provided = instance?.status?.provided;
  const isOurs =
    binding.status?.lastOperation !== undefined || (instance && isWithin(instance, binding.metadata.namespace));
  if (!instance || !provided || !isOurs) return undefined;
  return {
    binding,
    guid: resolveGUID(ServiceBinding, binding, context).guid,
    instance,
    provided,
    instanceGUID: resolveGUID(ServiceInstance, instance, context).guid,
    ...findPlan(instance, read),
  };
}

function findPlan({ metadata, spec }: ServiceInstance, read: Reader): Pick<Bound, "plan" | "offering"> {
  const namespace = spec.planRef?.namespace ?? metadata.namespace ?? "";
  const plan = spec.planRef && read.find(ServicePlan, { namespace, name: spec.planRef.name });
  const offering = plan && read.find(ServiceOffering, { namespace, name: plan.spec.offeringRef.name });
  return { plan, offering };
}

function toWork(bound: Bound, context: ReconcileContext, brokers: Brokers): Provided {
  const { binding, provided, plan } = bound;
  return {
    ref: ServiceBinding,
    object: binding,
    guid: bound.guid,
    provided,
    last: binding.status?.lastOperation,
    operation: binding.status?.operation,
    maximumSeconds: plan?.spec.maximumPollingDuration,
    removal: "unbind",
    requests: {
      poll: (id) => toBindingPoll(bound, provided, id),
      remove: () => toUnbind(bound, provided),
    },
    context,
    ...brokers,
  };
}

async function run(bound: Bound, context: ReconcileContext, brokers: Brokers): Promise<ReconcileResult> {
  const { binding, instance } = bound;
  const step = planBinding(binding, instance, isBindable(bound));
  const work = toWork(bound, context, brokers);
  switch (step.kind) {
    case "rest":
      return step.ready ? { ready: step.ready } : {};
    case "begin": {
      const begun = beginOperation("create", { now: context.now(), generation: binding.metadata.generation });
      return { status: { ...begun }, ready: underWay(begun.lastOperation) };
    }
    case "bind":
      return bind(bound, work);
    case "poll":
      return poll(work, () => readBack(bound, work));
    case "mitigate":
      return mitigate(work);
  }
}

function isBindable({ plan, offering }: Bound): boolean {
  return plan?.spec.bindable ?? offering?.spec.bindable ?? true;
}

function bind(bound: Bound, work: Provided): Promise<ReconcileResult> {
  return askOnce(
    work,
    () => toRequest(bound, work.context),
    (answer) => settle(work, toOutcome("bind", answer), (body) => keep(bound, body, work.context)),
  );
}

async function toRequest(bound: Bound, context: ReconcileContext): Promise<BrokerRequest> {
  const { binding, guid, provided, offering } = bound;
  const { namespace = "" } = binding.metadata;
  const app = binding.spec.appRef && context.read.find(App, { namespace, name: binding.spec.appRef.name });
  // Without its GUID the broker would take the binding for a key.
  if (binding.spec.appRef && !app)
    throw new NotReady("AppMissing", `app ${binding.spec.appRef.name} does not exist yet`, {
      requeueAfterMs: APP_MISSING_MS,
    });
  const parameters = await readParameters(
    { namespace, name: binding.spec.parametersSecretRef?.name },
    { label: LABELS.serviceBinding, guid },
    context,
  );
  return toBind(bound, provided, {
    tenancy: getTenancy(context.read, namespace),
    appGUID: app && resolveGUID(App, app, context).guid,
    parameters,
    isRetrievable: offering?.spec.bindingsRetrievable ?? false,
  });
}

/** An asynchronous broker tells the credentials once it is done. */
async function readBack(bound: Bound, work: Provided): Promise<Record<string, unknown>> {
  const answer = await askBroker(bound.provided, toRead(bound, bound.provided), work);
  if (answer.kind !== "answer" || answer.status !== 200 || !answer.body)
    throw new Error("the service broker did not tell the credentials of a binding that it has made");
  return keep(bound, answer.body, work.context);
}

/** Keeps what the broker gave. The status names the Secret. */
async function keep(
  { binding, guid, provided }: Bound,
  body: Record<string, unknown>,
  { client }: ReconcileContext,
): Promise<Record<string, unknown>> {
  const { namespace = "" } = binding.metadata;
  const key = { namespace, name: bindingSecretName(binding.metadata.name) };
  const data = toBindingData(toContent(body), provided.offeringName ?? "managed");
  const metadata = {
    ...key,
    labels: { [LABELS.serviceBinding]: guid },
    ownerReferences: [toOwnerReference(binding, ServiceBinding)],
  };
  try {
    await client.create(Secret, { metadata, type: `servicebinding.io/${provided.offeringName ?? "managed"}`, data });
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
    const found = await client.get(Secret, key);
    if (found.metadata.labels?.[LABELS.serviceBinding] !== guid) throw error;
    await client.patch(Secret, key, { type: "merge", body: { data } });
  }
  return { binding: { name: key.name } };
}

function toContent(body: Record<string, unknown>): BindingContent {
  const { credentials, volume_mounts } = body;
  const drain = textOf(body["syslog_drain_url"]);
  return {
    credentials:
      typeof credentials === "object" && credentials !== null ? (credentials as BindingContent["credentials"]) : {},
    ...(drain !== undefined && { syslogDrainURL: drain }),
    ...(Array.isArray(volume_mounts) && { volumeMounts: volume_mounts }),
  };
}
