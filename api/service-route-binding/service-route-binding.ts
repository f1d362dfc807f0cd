// Endpoints of ServiceBindings of routes: `/v3/service_route_bindings`.
import type { z } from "zod";
import { displayNameOf } from "../../crds/object-names.ts";
import { Route } from "../../crds/route/route.ts";
import { ServiceBinding } from "../../crds/service-binding/service-binding.ts";
import { ServiceInstance } from "../../crds/service-instance/service-instance.ts";
import type { Session } from "../access/session.ts";
import { instanceOf, isBeingAsked, isOfBroker } from "../cf/service/bindings.ts";
import { deleteAtBroker } from "../cf/service/delete-at-broker.ts";
import { readBindingParameters } from "../cf/service/binding-parameters.ts";
import { bindRoute, routeOf } from "../cf/service/route-bindings.ts";
import { notFound, unprocessable } from "../http/errors.ts";
import { toMetadataPatch } from "../http/metadata.ts";
import { metadataOnlySchema } from "../http/shared-schemas.ts";
import { includedOfRouteBindings } from "../included/included.ts";
import { newBrokerJob } from "../jobs/jobs.ts";
import { isOneOf, listObjects } from "../lists/list-objects.ts";
import { presentPage } from "../lists/page.ts";
import { accepted, created, endpoint, noContent, ok, type Endpoint } from "../routing/endpoint.ts";
import { createRouteBindingBody, routeBindingListQuery, routeBindingQuery } from "./payload.ts";
import { presentRouteBinding } from "./present.ts";

const path = "/v3/service_route_bindings/:guid";
const read = { verb: "get", on: ServiceBinding } as const;

type ListQuery = z.output<typeof routeBindingListQuery>;

/** Those of apps and keys are no route bindings. @throws CFError 404 */
function getRouteBinding(session: Session, guid: string): ServiceBinding {
  const binding = session.find(ServiceBinding, guid);
  if (binding?.spec.type !== "route") throw notFound("Service route binding");
  return session.get(ServiceBinding, guid);
}

function filterOf({ cache }: Session, query: ListQuery): (binding: ServiceBinding) => boolean {
  return (binding) => {
    if (binding.spec.type !== "route") return false;
    const [instance, route] = [instanceOf(cache, binding), routeOf(cache, binding)];
    return (
      isOneOf(query.service_instance_guids, instance ? cache.guid(ServiceInstance, instance) : "") &&
      isOneOf(query.service_instance_names, instance ? displayNameOf(instance) : "") &&
      isOneOf(query.route_guids, route ? cache.guid(Route, route) : "")
    );
  };
}

function includedOf(
  session: Session,
  base: string,
  include: ListQuery["include"],
): ((page: readonly ServiceBinding[]) => object) | undefined {
  return include && ((page) => includedOfRouteBindings(session, base, page, include));
}

const list = endpoint({
  method: "GET",
  path: "/v3/service_route_bindings",
  permission: "authenticated",
  lists: [ServiceBinding],
  query: routeBindingListQuery,
  summary: "List service route bindings",
  handler: ({ session, query, base, url }) => {
    const found = listObjects(session, ServiceBinding, query, {
      url,
      filter: filterOf(session, query),
      dependsOn: [Route, ServiceInstance],
      readsIn: "anywhere",
    });
    const present = (one: ServiceBinding): object => presentRouteBinding(session.cache, one, base);
    return ok(presentPage(found, { base, url, query }, present, includedOf(session, base, query.include)));
  },
});

const create = endpoint({
  method: "POST",
  path: "/v3/service_route_bindings",
  permission: { verb: "create", on: ServiceBinding },
  asks: [{ verb: "delete", on: ServiceBinding }],
  body: createRouteBindingBody,
  summary: "Bind a service instance to a route",
  handler: async ({ session, body, base }) => {
    const { service_instance, route: asked } = body.relationships;
    const instance = session.find(ServiceInstance, service_instance.data.guid);
    if (!instance) throw unprocessable(`The service instance could not be found: '${service_instance.data.guid}'`);
    const route = session.find(Route, asked.data.guid);
    if (!route) throw unprocessable(`The route could not be found: '${asked.data.guid}'`);
    const binding = await bindRoute(session, { route, instance }, body);
    if (instance.spec.type !== "managed") return created(presentRouteBinding(session.cache, binding, base));
    return accepted(await newBrokerJob(session, "service_route_bindings.create", ServiceBinding, binding));
  },
});

const get = endpoint({
  method: "GET",
  path,
  permission: read,
  query: routeBindingQuery,
  summary: "Get a service route binding",
  handler: ({ session, params, query, base }) => {
    const binding = getRouteBinding(session, params.guid);
    const included = includedOf(session, base, query.include)?.([binding]);
    return ok({ ...presentRouteBinding(session.cache, binding, base), ...(included && { included }) });
  },
});

const update = endpoint({
  method: "PATCH",
  path,
  permission: { verb: "update", on: ServiceBinding, subresource: "settings" },
  asks: [{ verb: "patch", on: ServiceBinding }],
  body: metadataOnlySchema,
  summary: "Update the metadata of a service route binding",
  handler: async ({ session, params, body, base }) => {
    const binding = getRouteBinding(session, params.guid);
    const metadata = toMetadataPatch(body.metadata, binding);
    const after = await session.patch(ServiceBinding, binding, { type: "merge", body: { metadata } });
    return ok(presentRouteBinding(session.cache, after, base));
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
  summary: "Delete a service route binding",
  handler: async ({ session, params }) => {
    const binding = getRouteBinding(session, params.guid);
    if (!isOfBroker(session.cache, binding)) {
      await session.delete(ServiceBinding, binding);
      return noContent();
    }
    if (isBeingAsked(binding)) throw unprocessable("There is an operation in progress for the service route binding.");
    await deleteAtBroker(session, ServiceBinding, binding);
    return accepted(await newBrokerJob(session, "service_route_bindings.delete", ServiceBinding, binding));
  },
});

const parameters = endpoint({
  method: "GET",
  path: `${path}/parameters`,
  permission: read,
  summary: "Get the parameters of a service route binding, as its broker was given them",
  handler: async ({ session, params }) => {
    const binding = getRouteBinding(session, params.guid);
    return ok(await readBindingParameters(session, binding, "Service route binding"));
  },
});

export const serviceRouteBindingEndpoints: readonly Endpoint[] = [list, create, get, update, remove, parameters];
