// Endpoints of ServiceInstance: `/v3/service_instances`, their lists, and writes of user-provided ones.
import type { z } from "zod";
import { LABELS } from "../../crds/labels.ts";
import { displayNameOf } from "../../crds/object-names.ts";
import { isWithin, ServiceInstance } from "../../crds/service-instance/service-instance.ts";
import { ServiceBroker } from "../../crds/service-broker/service-broker.ts";
import { ServiceOffering } from "../../crds/service-offering/service-offering.ts";
import { ServicePlan } from "../../crds/service-plan/service-plan.ts";
import { Space } from "../../crds/space/space.ts";
import { Org } from "../../crds/org/org.ts";
import { ServiceBinding } from "../../crds/service-binding/service-binding.ts";
import type { Session } from "../access/session.ts";
import { isOneOf, listObjects } from "../lists/list-objects.ts";
import { requireFlag } from "../cf/feature-flags.ts";
import { resolveSpace, spaceNamespaces } from "../cf/org/org-and-space-namespaces.ts";
import { offeringOf, planOf } from "../cf/service/catalog.ts";
import { readParameters } from "../cf/service/read-parameters.ts";
import { bindingsOfInstance } from "../cf/service/bindings.ts";
import { listSharedWith } from "../cf/service/sharing.ts";
import { findCredentials } from "../cf/service/instance-credentials.ts";
import { accepted, created, endpoint, noContent, ok, type Endpoint } from "../routing/endpoint.ts";
import { CFError, notFound, unprocessable } from "../http/errors.ts";
import { presentPage } from "../lists/page.ts";
import { newBrokerJob } from "../jobs/jobs.ts";
import { createManaged, deleteManaged, purgeManaged, updateManaged } from "./managed.ts";
import {
  listForeign,
  createInstanceBody,
  instanceListQuery,
  instanceQuery,
  purgeQuery,
  updateInstanceBody,
} from "./payload.ts";
import { sharedSpaceEndpoints } from "./shared-spaces.ts";
import { hasFields, includedFields, presentInstance } from "./present.ts";
import { createUserProvided, updateUserProvided } from "./user-provided.ts";

const path = "/v3/service_instances/:guid";
const read = { verb: "get", on: ServiceInstance } as const;

function planFilter(
  { cache }: Session,
  { service_plan_guids: guids, service_plan_names: names }: z.output<typeof instanceListQuery>,
): (instance: ServiceInstance) => boolean {
  if (!guids && !names) return () => true;
  return (instance) => {
    const plan = planOf(cache, instance);
    return plan !== undefined && isOneOf(guids, cache.guid(ServicePlan, plan)) && isOneOf(names, plan.spec.name);
  };
}

/** Namespaces of the spaces that each filter names. An instance is in the space that has it, and in those that it is shared with. */
function placesOf(session: Session, query: z.output<typeof instanceListQuery>): string[][] {
  const { space_guids, organization_guids } = query;
  return [
    ...(space_guids ? [spaceNamespaces(session, { space_guids }) ?? []] : []),
    ...(organization_guids ? [spaceNamespaces(session, { organization_guids }) ?? []] : []),
  ];
}

/** Namespaces that have all instances of these places. */
function listedNamespaces({ cache }: Session, [first, second]: readonly string[][]): string[] | undefined {
  if (!first) return undefined;
  const owners = (place: readonly string[]): string[] =>
    place.flatMap((namespace) => listSharedWith(cache, namespace)).map(({ metadata }) => metadata.namespace ?? "");
  const within = (place: readonly string[]): Set<string> => new Set([...place, ...owners(place)]);
  const others = second && within(second);
  return [...within(first)].filter((namespace) => others?.has(namespace) ?? true);
}

const list = endpoint({
  method: "GET",
  path: "/v3/service_instances",
  permission: "authenticated",
  lists: [ServiceInstance],
  query: instanceListQuery,
  summary: "List service instances",
  handler: ({ session, query, base, url }) => {
    const places = placesOf(session, query);
    const namespaces = listedNamespaces(session, places);
    const isOfPlan = planFilter(session, query);
    const found = listObjects(session, ServiceInstance, query, {
      url,
      ...(namespaces && { scope: { namespaces } }),
      filter: (one) =>
        places.every((place) => place.some((namespace) => isWithin(one, namespace))) &&
        isOfPlan(one) &&
        isOneOf(query.names, displayNameOf(one)) &&
        (query.type === undefined || query.type === one.spec.type),
      sortKeys: { name: displayNameOf },
      dependsOn: [Space, Org, ServicePlan, ServiceOffering, ServiceBroker],
      readsIn: "anywhere",
      filterReads: query.service_plan_guids || query.service_plan_names ? [ServicePlan] : [],
    });
    return ok(
      presentPage(
        found,
        { base, url, query },
        (one) => presentInstance(session.cache, one, base),
        hasFields(query) ? (page) => includedFields(session, page, query) : undefined,
      ),
    );
  },
});

const get = endpoint({
  method: "GET",
  path,
  permission: read,
  query: instanceQuery,
  summary: "Get a service instance",
  handler: ({ session, params, query, base }) => {
    const instance = session.get(ServiceInstance, params.guid);
    const included = hasFields(query) && { included: includedFields(session, [instance], query) };
    return ok({ ...presentInstance(session.cache, instance, base), ...included });
  },
});

const create = endpoint({
  method: "POST",
  path: "/v3/service_instances",
  permission: { verb: "create", on: ServiceInstance },
  asks: [{ verb: "delete", on: ServiceInstance }],
  body: createInstanceBody,
  summary: "Create a service instance",
  handler: async ({ session, body, base }) => {
    requireOwn(body.type, body.type === "managed" ? body : { ...body, relationships: undefined });
    const { namespace } = resolveSpace(session, body.relationships.space.data.guid);
    session.authorize({ verb: "create", on: ServiceInstance, namespace });
    requireFlag(session, "service_instance_creation");
    if (body.type === "managed") {
      const instance = await createManaged(session, namespace, body);
      return accepted(await newBrokerJob(session, "service_instance.create", ServiceInstance, instance));
    }
    if (body.relationships.service_plan) throw unprocessable("Relationships Unknown field(s): 'service_plan'");
    return created(presentInstance(session.cache, await createUserProvided(session, namespace, body), base));
  },
});

/** @throws CFError 422 for members that this type of instance does not have */
function requireOwn(type: "managed" | "user-provided", body: object): void {
  const foreign = listForeign(type, body);
  if (foreign.length > 0) throw unprocessable(`Unknown field(s): ${foreign.map((name) => `'${name}'`).join(", ")}`);
}

const update = endpoint({
  method: "PATCH",
  path,
  permission: { verb: "update", on: ServiceInstance },
  asks: [{ verb: "patch", on: ServiceInstance }],
  body: updateInstanceBody,
  summary: "Update a service instance",
  handler: async ({ session, params, body, base }) => {
    const instance = session.get(ServiceInstance, params.guid);
    requireOwn(instance.spec.type, body);
    if (instance.spec.type === "managed") {
      const { instance: after, isAsync } = await updateManaged(session, instance, body);
      if (!isAsync) return ok(presentInstance(session.cache, after, base));
      return accepted(await newBrokerJob(session, "service_instance.update", ServiceInstance, after));
    }
    return ok(presentInstance(session.cache, await updateUserProvided(session, instance, body), base));
  },
});

const remove = endpoint({
  method: "DELETE",
  path,
  permission: { verb: "delete", on: ServiceInstance },
  asks: [
    { verb: "patch", on: ServiceInstance },
    { verb: "update", on: ServiceInstance, subresource: "purge" },
    { verb: "delete", on: ServiceBinding },
  ],
  query: purgeQuery,
  summary: "Delete a service instance and its bindings",
  handler: async ({ session, params, query }) => {
    const instance = session.get(ServiceInstance, params.guid);
    if (instance.spec.type === "managed") {
      if (query.purge === "true") {
        await purgeManaged(session, instance);
        return noContent();
      }
      await deleteManaged(session, instance);
      return accepted(await newBrokerJob(session, "service_instance.delete", ServiceInstance, instance));
    }
    for (const binding of bindingsOfInstance(session.cache, instance)) await session.delete(ServiceBinding, binding);
    await session.delete(ServiceInstance, instance);
    return noContent();
  },
});

const credentials = endpoint({
  method: "GET",
  path: `${path}/credentials`,
  permission: { verb: "get", on: ServiceInstance, subresource: "credentials" },
  summary: "Get the credentials of a user-provided service instance",
  handler: async ({ session, params }) => {
    const instance = session.get(ServiceInstance, params.guid);
    if (instance.spec.type === "managed") throw notFound("Service instance");
    return ok(await findCredentials(session, instance));
  },
});

const parameters = endpoint({
  method: "GET",
  path: `${path}/parameters`,
  permission: read,
  summary: "Get the parameters of a service instance, as its broker told them last",
  handler: async ({ session, params }) => {
    const instance = session.get(ServiceInstance, params.guid);
    const { namespace = "" } = instance.metadata;
    // Those who share it do not.
    session.authorize({ verb: "get", on: ServiceInstance, namespace });
    const plan = planOf(session.cache, instance);
    const offering = plan && offeringOf(session.cache, plan);
    if (!offering?.spec.instancesRetrievable) throw new CFError("ServiceFetchInstanceParametersNotSupported");
    requireMade(instance);
    const { toldParameters, provided } = instance.status ?? {};
    const secret = toldParameters?.name ?? provided?.parametersSecret;
    const owner = { label: LABELS.serviceInstance, guid: params.guid };
    return ok(await readParameters(session, instance, { secret, owner }));
  },
});

/** @throws CFError 404 for one that its broker has not made, 409 while it changes it */
function requireMade(instance: ServiceInstance): void {
  const { type, state } = instance.status?.lastOperation ?? {};
  if (type === "create" && state === "failed") throw notFound("Service instance");
  if (state === undefined || state === "initial" || state === "in progress")
    throw new CFError("AsyncServiceInstanceOperationInProgress", displayNameOf(instance));
}

const permissions = endpoint({
  method: "GET",
  path: `${path}/permissions`,
  permission: "authenticated",
  asks: [{ verb: "update", on: ServiceInstance }],
  summary: "Get the caller's permissions for a service instance",
  handler: ({ session, params }) => {
    const instance = session.cache.findByGUID(ServiceInstance, params.guid);
    if (!instance) throw notFound("Service instance");
    const at = { on: ServiceInstance, namespace: instance.metadata.namespace ?? "", name: instance.metadata.name };
    return ok({
      manage: session.allows({ verb: "update", ...at }),
      read: session.allows({ verb: "get", ...at }),
    });
  },
});

export const serviceInstanceEndpoints: readonly Endpoint[] = [
  list,
  create,
  get,
  update,
  remove,
  credentials,
  parameters,
  permissions,
  ...sharedSpaceEndpoints,
];
