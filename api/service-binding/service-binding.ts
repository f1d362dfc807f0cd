// Endpoints of ServiceBinding: `/v3/service_credential_bindings`.
import type { z } from "zod";
import { App } from "../../crds/app/app.ts";
import { displayNameOf } from "../../crds/object-names.ts";
import { ServiceBinding } from "../../crds/service-binding/service-binding.ts";
import { ServiceInstance } from "../../crds/service-instance/service-instance.ts";
import type { Session } from "../access/session.ts";
import { isOneOf, listObjects } from "../cache/list-objects.ts";
import { appGUIDOf, appOf } from "../cf/app/owner-app.ts";
import { toMetadataPatch } from "../cf/metadata/metadata.ts";
import { instanceOf } from "../cf/service/bindings.ts";
import { createBinding } from "../cf/service/create-binding.ts";
import { findCredentials } from "../cf/service/instance-credentials.ts";
import { created, endpoint, noContent, ok, type Endpoint } from "../http/endpoint.ts";
import { CFError, notFound, unprocessable } from "../http/errors.ts";
import { includedBound } from "../http/included.ts";
import { presentPage } from "../http/page.ts";
import { metadataOnlySchema } from "../http/shared-schemas.ts";
import { bindingListQuery, bindingQuery, createBindingBody } from "./payload.ts";
import { presentBinding } from "./present.ts";

const path = "/v3/service_credential_bindings/:guid";
const read = { verb: "get", on: ServiceBinding } as const;

type ListQuery = z.output<typeof bindingListQuery>;

/** Filters by what only service brokers have match nothing. */
const BROKER_FILTERS = [
  "service_plan_guids",
  "service_plan_names",
  "service_offering_guids",
  "service_offering_names",
] as const;

function filterOf({ cache }: Session, query: ListQuery): (binding: ServiceBinding) => boolean {
  const canMatch =
    BROKER_FILTERS.every((name) => query[name] === undefined) && (query.type === undefined || query.type === "app");
  return (binding) => {
    if (!canMatch) return false;
    const instance = instanceOf(cache, binding);
    const app = appOf(cache, binding);
    return (
      isOneOf(query.names, binding.spec.name ?? "") &&
      isOneOf(query.service_instance_guids, instance ? cache.guid(ServiceInstance, instance) : "") &&
      isOneOf(query.service_instance_names, instance ? displayNameOf(instance) : "") &&
      isOneOf(query.app_guids, appGUIDOf(cache, binding)) &&
      isOneOf(query.app_names, app ? displayNameOf(app) : "")
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
      dependsOn: [App, ServiceInstance],
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
  body: createBindingBody,
  summary: "Bind a service instance to an app",
  handler: async ({ session, body, base }) => {
    const { app: appRelationship, service_instance } = body.relationships;
    if (body.type === "app" && !appRelationship)
      throw unprocessable("Relationships 'relationships' must include one or more valid relationships");
    const instance = session.find(ServiceInstance, service_instance.data.guid);
    if (!instance) throw unprocessable(`The service instance could not be found: '${service_instance.data.guid}'`);
    if (body.type === "key" || !appRelationship)
      throw unprocessable(
        "Service credential bindings of type 'key' are not supported for user-provided service instances.",
      );
    const app = session.find(App, appRelationship.data.guid);
    if (!app) throw unprocessable(`The app could not be found: '${appRelationship.data.guid}'`);
    if (body.parameters)
      throw unprocessable("Binding parameters are not supported for user-provided service instances");
    return created(presentBinding(session.cache, await createBinding(session, { app, instance }, body), base));
  },
});

const get = endpoint({
  method: "GET",
  path,
  permission: read,
  query: bindingQuery,
  summary: "Get a service credential binding",
  handler: ({ session, params, query, base }) => {
    const binding = session.get(ServiceBinding, params.guid);
    const included = includedOf(session, base, query.include)?.([binding]);
    return ok({ ...presentBinding(session.cache, binding, base), ...(included && { included }) });
  },
});

const update = endpoint({
  method: "PATCH",
  path,
  permission: { verb: "update", on: ServiceBinding, subresource: "settings" },
  body: metadataOnlySchema,
  summary: "Update the metadata of a service credential binding",
  handler: async ({ session, params, body, base }) => {
    const binding = session.get(ServiceBinding, params.guid);
    const metadata = toMetadataPatch(body.metadata, binding);
    const after = await session.patch(ServiceBinding, binding, { type: "merge", body: { metadata } });
    return ok(presentBinding(session.cache, after, base));
  },
});

const remove = endpoint({
  method: "DELETE",
  path,
  permission: { verb: "delete", on: ServiceBinding },
  summary: "Delete a service credential binding",
  handler: async ({ session, params }) => {
    await session.delete(ServiceBinding, session.get(ServiceBinding, params.guid));
    return noContent();
  },
});

const details = endpoint({
  method: "GET",
  path: `${path}/details`,
  permission: read,
  summary: "Get the credentials of a service credential binding",
  handler: async ({ session, params }) => {
    const binding = session.get(ServiceBinding, params.guid);
    const { namespace = "", name } = binding.metadata;
    // As in CF: whoever may not read secrets does not learn that there are any.
    if (!session.allows({ verb: "get", on: ServiceBinding, subresource: "credentials", namespace, name }))
      throw notFound("Service credential binding");
    const instance = instanceOf(session.cache, binding);
    const { syslogDrainURL } = instance?.spec ?? {};
    return ok({
      credentials: instance ? await findCredentials(session, instance) : {},
      ...(syslogDrainURL !== undefined && { syslog_drain_url: syslogDrainURL }),
      volume_mounts: [],
    });
  },
});

const parameters = endpoint({
  method: "GET",
  path: `${path}/parameters`,
  permission: read,
  summary: "Get the parameters of a service credential binding: refused, a user-provided instance has none",
  handler: ({ session, params }) => {
    session.get(ServiceBinding, params.guid);
    throw new CFError("ServiceFetchBindingParametersNotSupported");
  },
});

export const serviceBindingEndpoints: readonly Endpoint[] = [list, create, get, update, remove, details, parameters];
