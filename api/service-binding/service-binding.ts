// Endpoints of ServiceBinding: `/v3/service_credential_bindings`.
import type { z } from "zod";
import { App } from "../../crds/app/app.ts";
import { displayNameOf } from "../../crds/object-names.ts";
import { isBound } from "../../crds/service-binding/bound-service.ts";
import { ServiceBinding } from "../../crds/service-binding/service-binding.ts";
import { ServiceInstance } from "../../crds/service-instance/service-instance.ts";
import { ServiceOffering } from "../../crds/service-offering/service-offering.ts";
import { ServicePlan } from "../../crds/service-plan/service-plan.ts";
import type { ClusterCache } from "../cache/cluster-cache.ts";
import { newBrokerJob } from "../jobs/jobs.ts";
import type { Session } from "../access/session.ts";
import { isOneOf, listObjects } from "../lists/list-objects.ts";
import { appGUIDOf, appOf } from "../cf/app/owner-app.ts";
import { toMetadataPatch } from "../http/metadata.ts";
import { instanceOf, isBeingAsked, isOfBroker } from "../cf/service/bindings.ts";
import { createBinding, createKey } from "../cf/service/create-binding.ts";
import { findBindingContent } from "../cf/service/binding-content.ts";
import { offeringOf, planOf } from "../cf/service/catalog.ts";
import { readBindingParameters } from "../cf/service/binding-parameters.ts";
import { deleteAtBroker } from "../cf/service/delete-at-broker.ts";
import { accepted, created, endpoint, noContent, ok, type Endpoint } from "../routing/endpoint.ts";
import { notFound, unprocessable } from "../http/errors.ts";
import { includedBound } from "../included/included.ts";
import { presentPage } from "../lists/page.ts";
import { metadataOnlySchema } from "../http/shared-schemas.ts";
import { bindingListQuery, bindingQuery, createBindingBody } from "./payload.ts";
import { presentBinding } from "./present.ts";

const path = "/v3/service_credential_bindings/:guid";
const read = { verb: "get", on: ServiceBinding } as const;

type ListQuery = z.output<typeof bindingListQuery>;

/** Those of routes are no credential bindings. @throws CFError 404 */
function getCredentialBinding(session: Session, guid: string): ServiceBinding {
  if (session.find(ServiceBinding, guid)?.spec.type === "route") throw notFound("Service credential binding");
  return session.get(ServiceBinding, guid);
}

function filterOf({ cache }: Session, query: ListQuery): (binding: ServiceBinding) => boolean {
  const isOfCatalog = catalogFilter(cache, query);
  return (binding) => {
    const instance = instanceOf(cache, binding);
    return (
      isOfType(query, binding) &&
      isOneOf(query.names, binding.spec.name ?? "") &&
      isOneOf(query.service_instance_guids, instance ? cache.guid(ServiceInstance, instance) : "") &&
      isOneOf(query.service_instance_names, instance ? displayNameOf(instance) : "") &&
      isOfApp(cache, query, binding) &&
      isOfCatalog(instance)
    );
  };
}

function isOfType({ type }: ListQuery, { spec }: ServiceBinding): boolean {
  return spec.type !== "route" && (type === undefined || type === spec.type);
}

function isOfApp(cache: ClusterCache, query: ListQuery, binding: ServiceBinding): boolean {
  const app = appOf(cache, binding);
  return isOneOf(query.app_guids, appGUIDOf(cache, binding)) && isOneOf(query.app_names, app ? displayNameOf(app) : "");
}

/** By plan and offering, which only managed instances have. */
function catalogFilter(cache: ClusterCache, query: ListQuery): (instance: ServiceInstance | undefined) => boolean {
  const { service_plan_guids, service_plan_names, service_offering_guids, service_offering_names } = query;
  if (!service_plan_guids && !service_plan_names && !service_offering_guids && !service_offering_names)
    return () => true;
  return (instance) => {
    const plan = instance && planOf(cache, instance);
    const offering = plan && offeringOf(cache, plan);
    if (!offering) return false;
    return (
      isOneOf(service_plan_guids, cache.guid(ServicePlan, plan)) &&
      isOneOf(service_plan_names, plan.spec.name) &&
      isOneOf(service_offering_guids, cache.guid(ServiceOffering, offering)) &&
      isOneOf(service_offering_names, offering.spec.name)
    );
  };
}

function includedOf(
  session: Session,
  base: string,
  include: ListQuery["include"],
): ((page: readonly ServiceBinding[]) => object) | undefined {
  return include && ((page) => includedBound(session, base, page, include));
}

const list = endpoint({
  method: "GET",
  path: "/v3/service_credential_bindings",
  permission: "authenticated",
  lists: [ServiceBinding],
  query: bindingListQuery,
  summary: "List service credential bindings",
  handler: ({ session, query, base, url }) => {
    const found = listObjects(session, ServiceBinding, query, {
      url,
      filter: filterOf(session, query),
      sortKeys: { name: (binding) => binding.spec.name ?? "" },
      dependsOn: [App, ServiceInstance, ServicePlan, ServiceOffering],
      readsIn: "anywhere",
    });
    return ok(
      presentPage(
        found,
        { base, url, query },
        (one) => presentBinding(session.cache, one, base),
        includedOf(session, base, query.include),
      ),
    );
  },
});

const create = endpoint({
  method: "POST",
  path: "/v3/service_credential_bindings",
  permission: { verb: "create", on: ServiceBinding },
  asks: [
    { verb: "update", on: ServiceBinding, subresource: "settings" },
    { verb: "delete", on: ServiceBinding },
  ],
  body: createBindingBody,
  summary: "Bind a service instance to an app, or make a key",
  handler: async ({ session, body, base }) => {
    const { app, service_instance } = body.relationships;
    if (body.type === "app" && !app)
      throw unprocessable("Relationships 'relationships' must include one or more valid relationships");
    const instance = session.find(ServiceInstance, service_instance.data.guid);
    if (!instance) throw unprocessable(`The service instance could not be found: '${service_instance.data.guid}'`);
    const isManaged = instance.spec.type === "managed";
    if (!isManaged) requireUserProvided(body);
    if (body.type === "key" && app) throw unprocessable("Relationships Unknown field(s): 'app'");
    const binding = app
      ? await bindApp(session, app.data.guid, { instance, body })
      : await makeKey(session, instance, body);
    if (!isManaged) return created(presentBinding(session.cache, binding, base));
    return accepted(await newBrokerJob(session, `${nounOf(binding)}.create`, ServiceBinding, binding));
  },
});

type CreateBody = z.output<typeof createBindingBody>;

const nounOf = ({ spec }: ServiceBinding): "service_keys" | "service_bindings" =>
  spec.type === "key" ? "service_keys" : "service_bindings";

function requireUserProvided({ type, parameters }: CreateBody): void {
  if (type === "key")
    throw unprocessable(
      "Service credential bindings of type 'key' are not supported for user-provided service instances.",
    );
  if (parameters) throw unprocessable("Binding parameters are not supported for user-provided service instances");
}

function bindApp(
  session: Session,
  guid: string,
  { instance, body }: { instance: ServiceInstance; body: CreateBody },
): Promise<ServiceBinding> {
  const app = session.find(App, guid);
  if (!app) throw unprocessable(`The app could not be found: '${guid}'`);
  return createBinding(session, { app, instance }, body);
}

/** @throws CFError 403 for a supporter, who binds apps only */
function makeKey(session: Session, instance: ServiceInstance, body: CreateBody): Promise<ServiceBinding> {
  if (!body.name) throw unprocessable("Name can't be blank");
  requireKeyRights(session, instance.metadata.namespace);
  return createKey(session, instance, { ...body, name: body.name });
}

function requireKeyRights(session: Session, namespace = ""): void {
  session.authorize({ verb: "update", on: ServiceBinding, subresource: "settings", namespace });
}

const get = endpoint({
  method: "GET",
  path,
  permission: read,
  query: bindingQuery,
  summary: "Get a service credential binding",
  handler: ({ session, params, query, base }) => {
    const binding = getCredentialBinding(session, params.guid);
    const included = includedOf(session, base, query.include)?.([binding]);
    return ok({ ...presentBinding(session.cache, binding, base), ...(included && { included }) });
  },
});

const update = endpoint({
  method: "PATCH",
  path,
  permission: { verb: "update", on: ServiceBinding, subresource: "settings" },
  asks: [{ verb: "patch", on: ServiceBinding }],
  body: metadataOnlySchema,
  summary: "Update the metadata of a service credential binding",
  handler: async ({ session, params, body, base }) => {
    const binding = getCredentialBinding(session, params.guid);
    const metadata = toMetadataPatch(body.metadata, binding);
    const after = await session.patch(ServiceBinding, binding, { type: "merge", body: { metadata } });
    return ok(presentBinding(session.cache, after, base));
  },
});

const remove = endpoint({
  method: "DELETE",
  path,
  permission: { verb: "delete", on: ServiceBinding },
  asks: [
    { verb: "update", on: ServiceBinding, subresource: "settings" },
    { verb: "patch", on: ServiceBinding },
  ],
  summary: "Delete a service credential binding",
  handler: async ({ session, params }) => {
    const binding = getCredentialBinding(session, params.guid);
    if (binding.spec.type === "key") requireKeyRights(session, binding.metadata.namespace);
    if (!isOfBroker(session.cache, binding)) {
      await session.delete(ServiceBinding, binding);
      return noContent();
    }
    if (isBeingAsked(binding)) throw unprocessable("There is an operation in progress for the service binding.");
    await deleteAtBroker(session, ServiceBinding, binding);
    return accepted(await newBrokerJob(session, `${nounOf(binding)}.delete`, ServiceBinding, binding));
  },
});

const details = endpoint({
  method: "GET",
  path: `${path}/details`,
  permission: read,
  asks: [{ verb: "get", on: ServiceBinding, subresource: "credentials" }],
  summary: "Get the credentials of a service credential binding",
  handler: async ({ session, params }) => {
    const binding = getCredentialBinding(session, params.guid);
    const { namespace = "", name } = binding.metadata;
    // As in CF: whoever may not read secrets does not learn that there are any.
    if (!session.allows({ verb: "get", on: ServiceBinding, subresource: "credentials", namespace, name }))
      throw notFound("Service credential binding");
    const instance = instanceOf(session.cache, binding);
    if (instance && !isBound(instance, binding)) throw notFound("Service credential binding");
    const content = instance ? await findBindingContent(session, binding, instance) : { credentials: {} };
    return ok({
      credentials: content.credentials ?? {},
      ...(content.syslogDrainURL !== undefined && { syslog_drain_url: content.syslogDrainURL }),
      volume_mounts: [...(content.volumeMounts ?? [])],
    });
  },
});

const parameters = endpoint({
  method: "GET",
  path: `${path}/parameters`,
  permission: read,
  summary: "Get the parameters of a service credential binding, as its broker was given them",
  handler: async ({ session, params }) => {
    const binding = getCredentialBinding(session, params.guid);
    return ok(await readBindingParameters(session, binding, "Service credential binding"));
  },
});

export const serviceBindingEndpoints: readonly Endpoint[] = [list, create, get, update, remove, details, parameters];
