// Bindings of routes to service instances, whose service sees the requests of the route first.
import { BackendClass } from "../../../crds/backend-class/backend-class.ts";
import { findClass, isClassProblem } from "../../../crds/backend-class/find-class.ts";
import { newGUID } from "../../../crds/guid.ts";
import { LABELS } from "../../../crds/labels.ts";
import { generatedName } from "../../../crds/object-names.ts";
import { Route } from "../../../crds/route/route.ts";
import { ServiceBinding } from "../../../crds/service-binding/service-binding.ts";
import type { ServiceInstance } from "../../../crds/service-instance/service-instance.ts";
import { apiVersionOf } from "../../../kube/api/resource-ref.ts";
import type { Session } from "../../access/session.ts";
import type { ClusterCache, ObjectFinder } from "../../cache/cluster-cache.ts";
import { domainOf } from "../../cache/domains.ts";
import { CFError, unprocessable } from "../../http/errors.ts";
import { metadataForCreate, type MetadataInput } from "../../http/metadata.ts";
import { offeringOf, planOf } from "./catalog.ts";
import { createManagedBinding, isBindingFailed, requireBindable } from "./managed-binding.ts";
import type { Parameters } from "./parameters-secret.ts";

const SINGLE = "A route may only be bound to a single service instance";

/** The bound route; undefined when the reference dangles, or for a binding of another type. */
export function routeOf(cache: ObjectFinder, { metadata, spec }: ServiceBinding): Route | undefined {
  const { namespace = "" } = metadata;
  return spec.routeRef && cache.store(Route).find({ namespace, name: spec.routeRef.name });
}

interface RouteBindingInput {
  metadata?: MetadataInput | undefined;
  parameters?: Parameters | null | undefined;
}

/** @throws CFError 422 when the route or the instance cannot be bound, or the route is bound already */
export async function bindRoute(
  session: Session,
  { route, instance }: { route: Route; instance: ServiceInstance },
  { metadata, parameters }: RouteBindingInput,
): Promise<ServiceBinding> {
  requireRouteService(session, { route, instance }, parameters);
  requireUnbound(session.cache, route, instance);
  requireBindable(session, instance, "route");
  const { name, namespace = "", uid = "" } = route.metadata;
  const { labels, annotations } = metadataForCreate(metadata);
  const draft = {
    metadata: {
      // Only the route's, so that of two requests at once one binds.
      name: generatedName(`${name}-route-service`, uid),
      namespace,
      labels: { ...labels, [LABELS.guid]: newGUID() },
      annotations,
      ownerReferences: [{ apiVersion: apiVersionOf(Route), kind: Route.kind, name, uid }],
    },
    spec: { type: "route", routeRef: { name }, instanceRef: { name: instance.metadata.name } },
  };
  const taken = (): CFError => unprocessable(SINGLE);
  return instance.spec.type === "managed"
    ? createManagedBinding(session, draft, { parameters, taken })
    : session.create(ServiceBinding, draft, taken);
}

function requireRouteService(
  { cache }: Session,
  { route, instance }: { route: Route; instance: ServiceInstance },
  parameters: Parameters | null | undefined,
): void {
  if (route.metadata.namespace !== instance.metadata.namespace)
    throw unprocessable("The service instance and the route are in different spaces.");
  if (domainOf(cache, route)?.spec.internal) throw unprocessable("Route services cannot be bound to internal routes.");
  if (route.spec.port !== 0) throw unprocessable("Route services cannot be bound to TCP routes.");
  if (!isRouteService(cache, instance)) throw unprocessable("This service instance does not support route binding.");
  requireRouter(cache, route);
  if (parameters && instance.spec.type !== "managed")
    throw unprocessable("Binding parameters are not supported for user-provided service instances");
}

/** Its router would not serve a bound route at all. */
function requireRouter(cache: ClusterCache, route: Route): void {
  const className = domainOf(cache, route)?.spec.router;
  const router = findClass(cache.store(BackendClass).list(), { role: "router", className });
  if (isClassProblem(router) || router.status?.capabilities?.["routeServices"] === "true") return;
  throw unprocessable(
    `The router ${router.metadata.name} of the route's domain has no route services. Choose a route of another domain.`,
  );
}

/** By the catalog, or with an address of its own. */
function isRouteService(cache: ClusterCache, instance: ServiceInstance): boolean {
  if (instance.spec.type !== "managed") return Boolean(instance.spec.routeServiceURL);
  const plan = planOf(cache, instance);
  return (plan && offeringOf(cache, plan))?.spec.requires.includes("route_forwarding") === true;
}

/** A failed binding is replaced. */
function requireUnbound(cache: ClusterCache, { metadata }: Route, instance: ServiceInstance): void {
  const [bound] = cache
    .store(ServiceBinding)
    .byIndex("route", `${metadata.namespace}/${metadata.name}`)
    .filter((one) => !isBindingFailed(one));
  if (bound?.spec.instanceRef.name === instance.metadata.name)
    throw new CFError("ServiceInstanceAlreadyBoundToSameRoute");
  if (bound) throw unprocessable(SINGLE);
}
