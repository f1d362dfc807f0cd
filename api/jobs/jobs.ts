// GET /v3/jobs/:guid. A deletion is complete when the object is gone, and what a service broker does when the object says so; every other operation completes before its job GUID is returned.
import { findDefinition } from "../../crds/definitions.ts";
import { Droplet } from "../../crds/droplet/droplet.ts";
import { ServiceBroker } from "../../crds/service-broker/service-broker.ts";
import { ServiceOffering } from "../../crds/service-offering/service-offering.ts";
import { ServicePlan } from "../../crds/service-plan/service-plan.ts";
import { ServiceBinding } from "../../crds/service-binding/service-binding.ts";
import { ServiceInstance } from "../../crds/service-instance/service-instance.ts";
import type { KubeObject } from "../../kube/api/object.ts";
import type { ResourceRef } from "../../kube/api/resource-ref.ts";
import { endpoint, ok, type Endpoint } from "../routing/endpoint.ts";
import { CFError, notFound, type PresentedError } from "../http/errors.ts";
import { toTime } from "../../kube/api/times.ts";
import type { ClusterCache } from "../cache/cluster-cache.ts";
import type { Session } from "../access/session.ts";
import { dropletState } from "../cf/droplet/droplet-state.ts";
import { brokerJobState, type BrokerJob, type BrokerJobState } from "./broker-jobs.ts";
import { catalogStateOf, catalogWarnings } from "./broker-outcome.ts";
import { JOB_KEY } from "./job-key.ts";
import { type Job, toJobGUID, type Operation, type OtherOperation, parseJobGUID, watchedKindOf } from "./job-guid.ts";

/** The GUID of a job that starts now. `errors` are given when the operation has already failed. */
export async function newJob(
  session: Session,
  operation: OtherOperation,
  guid: string,
  errors?: readonly string[],
): Promise<string> {
  return startJob(session, { operation, guid, ...(errors?.length && { errors }) });
}

/** The GUID of a job that is complete when the object is gone. The kind's definition names its operation. */
export async function newDeletionJob(session: Session, { kind }: ResourceRef, guid: string): Promise<string> {
  const operation = findDefinition(kind)?.deletionJob;
  if (!operation) throw new Error(`the definition of ${kind} has no deletionJob; add one in crds/`);
  return startJob(session, { operation, guid });
}

async function startJob(session: Session, job: Omit<Job, "startedAt">): Promise<string> {
  const startedAt = Math.floor(session.now().getTime() / 1000);
  return toJobGUID({ ...job, startedAt }, await JOB_KEY.get(session.platformClient));
}

/** The GUID of a job that waits on a service broker. */
export async function newBrokerJob(
  session: Session,
  operation: OtherOperation,
  ref: ResourceRef,
  object: KubeObject,
): Promise<string> {
  const { generation } = object.metadata;
  const guid = session.cache.guid(ref, object);
  return startJob(session, { operation, guid, ...(generation !== undefined && { generation }) });
}

const BROKER_JOB = /^service_(?:instance|bindings|keys|route_bindings)\.(create|update|delete)$/;

/** Undefined for a job that waits on no broker. */
function findBrokerState(job: Job, cache: ClusterCache): BrokerJobState | undefined {
  const verb = BROKER_JOB.exec(job.operation)?.[1] as BrokerJob["verb"] | undefined;
  if (!verb) return undefined;
  const ref = job.operation.startsWith("service_instance.") ? ServiceInstance : ServiceBinding;
  const object = cache.findByGUID(ref as ResourceRef<ServiceInstance | ServiceBinding>, job.guid);
  return brokerJobState({ verb, generation: job.generation }, object);
}

function stateOf(job: Job, cache: ClusterCache): BrokerJobState["state"] {
  if (job.errors) return "FAILED";
  const brokerState = findBrokerState(job, cache);
  if (brokerState) return brokerState.state;
  if (job.operation === "droplet.upload") return uploadStateOf(cache.findByGUID(Droplet, job.guid));
  if (isOfCatalog(job)) return catalogStateOf(cache, cache.findByGUID(ServiceBroker, job.guid)).state;
  const ref = watchedKindOf(job.operation);
  return ref && cache.findByGUID(ref, job.guid) ? "PROCESSING" : "COMPLETE";
}

function isOfCatalog({ operation }: Job): boolean {
  return operation === "service_broker.catalog.synchronize" || operation === "service_broker.update";
}

const CATALOG_KINDS: readonly ResourceRef[] = [ServiceBroker, ServiceOffering, ServicePlan];

/** The kinds whose objects decide how far the job is. */
function watchedKindsOf(job: Job): readonly ResourceRef[] {
  if (isOfCatalog(job)) return CATALOG_KINDS;
  const ref = watchedKindOf(job.operation);
  return ref ? [ref] : [];
}

/** An uploaded file may become an image, which takes its time. */
function uploadStateOf(droplet: Droplet | undefined): "PROCESSING" | "COMPLETE" | "FAILED" {
  const state = droplet && dropletState(droplet);
  if (state === "FAILED") return "FAILED";
  return state === "PROCESSING_UPLOAD" ? "PROCESSING" : "COMPLETE";
}

/** Failure of the operation itself, or later of the droplet or the broker's catalog. */
function errorsOf(job: Job, cache: ClusterCache): readonly string[] {
  if (job.errors) return job.errors;
  if (isOfCatalog(job)) {
    const outcome = catalogStateOf(cache, cache.findByGUID(ServiceBroker, job.guid));
    return "error" in outcome ? [outcome.error] : [];
  }
  if (job.operation !== "droplet.upload") return [];
  const conditions = cache.findByGUID(Droplet, job.guid)?.status?.conditions ?? [];
  return conditions.flatMap(({ type, status, message }) =>
    type === "Ready" && status === "False" ? [`Uploaded droplet file is invalid: ${message}`] : [],
  );
}

function presentErrors(job: Job, cache: ClusterCache): readonly PresentedError[] {
  const state = findBrokerState(job, cache);
  if (state) return state.state === "FAILED" ? new CFError("UnableToPerform", state.why).errors : [];
  return stateOf(job, cache) === "FAILED" ? new CFError("UnprocessableEntity", errorsOf(job, cache)).errors : [];
}

function presentWarnings(job: Job, state: BrokerJobState["state"], cache: ClusterCache): { detail: string }[] {
  if (!isOfCatalog(job) || state !== "COMPLETE") return [];
  return catalogWarnings(cache, cache.findByGUID(ServiceBroker, job.guid)).map((detail) => ({ detail }));
}

/** Name of the link to what the job is about, and the path of its resource. */
function nounOf(operation: Operation): [name: string, path: string] {
  const noun = operation.split(".")[0] ?? "";
  if (noun === "service_route_bindings") return ["service_route_binding", noun];
  if (noun === "service_instance" || noun === "service_broker") return [`${noun}s`, `${noun}s`];
  return BROKER_JOB.test(operation)
    ? ["service_credential_binding", "service_credential_bindings"]
    : [noun, `${noun}s`];
}

function presentJob(guid: string, job: Job, cache: ClusterCache, base: string): object {
  const state = stateOf(job, cache);
  const time = toTime(job.startedAt * 1000);
  const [noun, path] = nounOf(job.operation);
  // Operations on the whole platform are about no resource.
  const exists = noun !== "admin" && (state !== "COMPLETE" || !job.operation.endsWith(".delete"));
  return {
    guid,
    created_at: time,
    updated_at: time,
    operation: job.operation,
    state,
    errors: presentErrors(job, cache),
    warnings: presentWarnings(job, state, cache),
    links: {
      self: { href: `${base}/v3/jobs/${encodeURIComponent(guid)}` },
      ...(exists && { [noun]: { href: `${base}/v3/${path}/${job.guid}` } }),
    },
  };
}

export const jobEndpoints: readonly Endpoint[] = [
  endpoint({
    method: "GET",
    path: "/v3/jobs/:guid",
    permission: "authenticated",
    summary: "Get a job",
    handler: async ({ session, params, base }) => {
      const job = parseJobGUID(params.guid, await JOB_KEY.get(session.platformClient));
      if (!job) throw notFound("Job");
      const refs = watchedKindsOf(job);
      if (refs.length > 0) await session.holdWhile(refs, () => stateOf(job, session.cache) === "PROCESSING");
      // Whoever learns that a catalog is there asks for it next, perhaps another replica.
      if (isOfCatalog(job)) await session.publishObserved(CATALOG_KINDS);
      return ok(presentJob(params.guid, job, session.cache, base));
    },
  }),
];
