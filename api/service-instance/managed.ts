// Writes of managed service instances. What the broker is asked for is in the spec; its controller asks.
import { LABELS } from "../../crds/labels.ts";
import { displayNameOf } from "../../crds/object-names.ts";
import { ServiceInstance } from "../../crds/service-instance/service-instance.ts";
import { isAtBroker } from "../../crds/service-instance/managed-fields.ts";
import { isBusy, isOther } from "../../crds/service-instance/pending-update.ts";
import { ServicePlan } from "../../crds/service-plan/service-plan.ts";
import type { Session } from "../access/session.ts";
import { toNamedMetadata } from "../cf/free-object-name.ts";
import { toMetadataPatch, metadataForCreate } from "../http/metadata.ts";
import { requirePaidQuota, requireServiceQuota } from "../cf/quota/check.ts";
import { askedBy, withAsker } from "../cf/service/asked-by.ts";
import { findWantedEntry, getUsablePlan, isOfSpaceBroker, offeringOf, planOf } from "../cf/service/catalog.ts";
import { bindingsOfInstance } from "../cf/service/bindings.ts";
import { deleteAtBroker } from "../cf/service/delete-at-broker.ts";
import {
  discardParameters,
  keepParameters,
  requireBoundedParameters,
  withParameters,
} from "../cf/service/parameters-secret.ts";
import { CFError, notAuthorized, unprocessable } from "../http/errors.ts";
import { requireNotShared, taken } from "./name-taken.ts";
import type { CreateInstance, UpdateInstance } from "./payload.ts";

/** @throws CFError 422 */
export async function createManaged(
  session: Session,
  namespace: string,
  body: CreateInstance,
): Promise<ServiceInstance> {
  const guid = body.relationships.service_plan?.data.guid;
  if (guid === undefined)
    throw unprocessable("Relationships 'relationships' must include one or more valid relationships");
  const plan = getUsablePlan(session, guid, namespace);
  requireServiceQuota(session, namespace);
  requireNotShared(session.cache, namespace, body.name);
  if (!plan.spec.free) requirePaidQuota(session, namespace);
  requireBoundedParameters(body.parameters);
  const given = metadataForCreate(body.metadata);
  const metadata = toNamedMetadata(session.cache, ServiceInstance, {
    namespace,
    name: body.name,
    fallback: "service",
    ...given,
    annotations: { ...given.annotations, ...askedBy(session) },
  });
  const labels = { [LABELS.serviceInstance]: metadata.labels?.[LABELS.guid] ?? "" };
  const kept = await keepParameters(session, { namespace, stem: metadata.name, labels }, body.parameters);
  const spec = {
    name: body.name,
    type: "managed",
    tags: body.tags ?? [],
    planRef: toPlanRef(plan),
    ...(kept && { parametersSecretRef: { name: kept.name } }),
  };
  return withParameters(kept, ServiceInstance, () =>
    session.create(ServiceInstance, { metadata, spec }, taken(body.name)),
  );
}

function toPlanRef({ metadata }: ServicePlan): { namespace: string; name: string } {
  return { namespace: metadata.namespace ?? "", name: metadata.name };
}

/** The change, and whether the broker is told of it. @throws CFError */
export async function updateManaged(
  session: Session,
  instance: ServiceInstance,
  body: UpdateInstance,
): Promise<{ instance: ServiceInstance; isAsync: boolean }> {
  if (instance.status?.lastOperation?.type === "create" && instance.status.lastOperation.state === "failed")
    throw unprocessable("The service instance was not created. Delete it, and create it again.");
  requireRenamable(session, instance, body.name);
  const change = toChange(session, instance, body);
  requireBoundedParameters(body.parameters);
  const metadata = toMetadataPatch(body.metadata, instance);
  const own = { ...(body.name !== undefined && { name: body.name }), ...(body.tags && { tags: body.tags }) };
  if (!change.isAsync) return { instance: await patch(session, instance, { metadata, spec: own }), isAsync: false };
  requireIdle(session, instance);
  const { namespace = "", name: stem } = instance.metadata;
  const labels = { [LABELS.serviceInstance]: session.cache.guid(ServiceInstance, instance) };
  const owner = { ref: ServiceInstance, object: instance };
  const kept = await keepParameters(session, { namespace, stem, labels, owner }, body.parameters);
  const spec = { ...own, ...change.spec, parametersSecretRef: kept ? { name: kept.name } : null };
  const wanted = { metadata: withAsker(session, metadata), spec };
  const after = await withParameters(kept, ServiceInstance, () => patch(session, instance, wanted, true));
  await discardRefused(session, instance);
  return { instance: after, isAsync: true };
}

/** Parameters of an update that the broker has refused. Those that it has taken are its controller's to remove. */
async function discardRefused(session: Session, instance: ServiceInstance): Promise<void> {
  const { metadata, spec, status = {} } = instance;
  const name = spec.parametersSecretRef?.name;
  const used = [status.provided?.parametersSecret, status.operation?.target?.parametersSecret];
  if (name === undefined || used.includes(name)) return;
  const guid = session.cache.guid(ServiceInstance, instance);
  await discardParameters(session, { namespace: metadata.namespace ?? "", name }, [LABELS.serviceInstance, guid]);
}

/** @throws CFError 422 */
function requireRenamable({ cache }: Session, instance: ServiceInstance, name: string | undefined): void {
  if (name === undefined || name === displayNameOf(instance)) return;
  const { metadata, spec } = instance;
  if ((spec.sharedSpaces ?? []).length > 0) throw new CFError("SharedServiceInstanceCannotBeRenamed");
  requireNotShared(cache, metadata.namespace ?? "", name);
}

/** Two changes at once are one after the other: `isExclusive` ones refuse the second. */
function patch(
  session: Session,
  instance: ServiceInstance,
  body: { metadata: object | undefined; spec: Record<string, unknown> },
  isExclusive = false,
): Promise<ServiceInstance> {
  const name = body.spec["name"] as string | undefined;
  if (name !== undefined && name !== displayNameOf(instance)) {
    const to = { ...instance, spec: { ...instance.spec, name } };
    return session.patch(ServiceInstance, instance, { type: "merge", body }, { to, taken: taken(name) });
  }
  return session.patchWithRetry(ServiceInstance, instance, (current) => {
    if (isExclusive) requireIdle(session, current);
    return body;
  });
}

function requireIdle({ cache }: Session, instance: ServiceInstance): void {
  if (isBusy(instance, findWantedEntry(cache, instance)))
    throw new CFError("AsyncServiceInstanceOperationInProgress", displayNameOf(instance));
}

interface Change {
  isAsync: boolean;
  spec: Record<string, unknown>;
}

/** Changes requested from the broker. A plan that is not named stays the one that the broker has, also after a change that it refused. */
function toChange(session: Session, instance: ServiceInstance, body: UpdateInstance): Change {
  const plan = planOf(session.cache, instance);
  const wanted = findOtherPlan(session, instance, { plan, body });
  const version = body.maintenance_info?.version;
  if (version !== undefined) requireVersion(instance, { plan, wanted, version });
  const asked = listAsked(session, instance, { plan, body });
  if (!plan?.spec.available && asked[0])
    throw new CFError("ServiceInstanceWithInaccessiblePlanNotUpdateable", asked[0]);
  const planRef = wanted ?? plan;
  return {
    isAsync: wanted !== undefined || asked.length > 0,
    spec: {
      ...(planRef && { planRef: toPlanRef(planRef) }),
      maintenanceVersion: asked.includes("maintenance_info") ? version : null,
    },
  };
}

/** Changes requested from the broker besides the plan. */
function listAsked(
  { cache }: Session,
  { status }: ServiceInstance,
  { plan, body: { parameters, name, maintenance_info } }: { plan: ServicePlan | undefined; body: UpdateInstance },
): ("parameters" | "name" | "maintenance_info")[] {
  const tellsName = name !== undefined && plan && offeringOf(cache, plan)?.spec.allowContextUpdates;
  return [
    ...(parameters ? (["parameters"] as const) : []),
    ...(tellsName ? (["name"] as const) : []),
    ...(isOther(maintenance_info?.version, status?.provided?.maintenanceVersion)
      ? (["maintenance_info"] as const)
      : []),
  ];
}

function findOtherPlan(
  session: Session,
  instance: ServiceInstance,
  { plan, body }: { plan: ServicePlan | undefined; body: UpdateInstance },
): ServicePlan | undefined {
  const guid = body.relationships?.service_plan?.data?.guid;
  if (guid === undefined || (plan && session.cache.guid(ServicePlan, plan) === guid)) return undefined;
  const { namespace = "" } = instance.metadata;
  const wanted = getUsablePlan(session, guid, namespace);
  requireSameOffering(session, instance, { plan, wanted });
  if (!wanted.spec.free) requirePaidQuota(session, namespace);
  return wanted;
}

function requireSameOffering(
  { cache }: Session,
  { status }: ServiceInstance,
  { plan, wanted }: { plan: ServicePlan | undefined; wanted: ServicePlan },
): void {
  const offering = offeringOf(cache, wanted);
  if (!offering || offering.spec.catalogID !== status?.provided?.offeringID)
    throw new CFError("InvalidRelation", "service plan relates to a different service offering");
  if (!(plan?.spec.planUpdateable ?? offering.spec.planUpdateable)) throw new CFError("ServicePlanNotUpdateable");
}

function requireVersion(
  { status }: ServiceInstance,
  { plan, wanted, version }: { plan: ServicePlan | undefined; wanted: ServicePlan | undefined; version: string },
): void {
  if (wanted) throw new CFError("MaintenanceInfoNotUpdatableWhenChangingPlan");
  if (!plan?.spec.maintenanceInfo) throw new CFError("MaintenanceInfoNotSupported");
  if (![plan.spec.maintenanceInfo.version, status?.provided?.maintenanceVersion].includes(version))
    throw new CFError("MaintenanceInfoConflict");
}

/** Its bindings go first: its controller sees to that. @throws CFError 422 while an operation is under way */
export async function deleteManaged(session: Session, instance: ServiceInstance): Promise<void> {
  const { status = {} } = instance;
  if (status.lastOperation?.type === "update" && isAtBroker(status))
    throw unprocessable("There is an operation in progress for the service instance.");
  await deleteAtBroker(session, ServiceInstance, instance, bindingsOfInstance(session.cache, instance));
}

/** Forgets it without a word to its broker. @throws CFError 403 for who is no admin, unless the broker is the space's own */
export async function purgeManaged(session: Session, instance: ServiceInstance): Promise<void> {
  const { namespace = "", name } = instance.metadata;
  const mayPurge = session.allows({ verb: "update", on: ServiceInstance, subresource: "purge", namespace, name });
  if (!mayPurge && !isOfSpaceBroker(instance)) throw notAuthorized();
  // No broker was asked yet: there is nobody to be silent to, and only what a broker has may be purged by developers.
  const isKnown = instance.status?.provided !== undefined;
  const body = { spec: { purge: true } };
  const after =
    isKnown || mayPurge ? await session.patch(ServiceInstance, instance, { type: "merge", body }) : instance;
  await session.delete(ServiceInstance, after);
}
