// Says what a RoutePolicy does. Routes of a domain that enforces policies are not served (controllers/route), so nothing else follows from one.
import { Claim } from "../../crds/claim/claim.ts";
import { Domain } from "../../crds/domain/domain.ts";
import { Route } from "../../crds/route/route.ts";
import { RoutePolicy } from "../../crds/route-policy/route-policy.ts";
import type { Reader } from "../../kube/cache/reader.ts";
import { defineController, watch } from "../../kube/controller/controller.ts";
import { findReferencedDomain, ROUTE_DOMAIN_INDEX } from "../shared/domains.ts";
import { GUID_INDEX, indexByGUID, resolveGUID } from "../shared/guid.ts";
import { getTenancy, TENANCY_KINDS } from "../shared/tenancy.ts";
import { listMisjudged, planRequeue, planRoutePolicy } from "./plan.ts";

const ROUTE_INDEX = "controllers/policies-of-route";

export const routePolicyController = defineController({
  name: "route-policy",
  for: RoutePolicy,
  reads: [...TENANCY_KINDS, Claim],
  indexes: {
    [GUID_INDEX]: indexByGUID,
    [ROUTE_INDEX]: (policy: RoutePolicy) => [toRouteKey(policy)],
  },
  watches: [
    watch(Route, (route) => ({ [ROUTE_INDEX]: keyOfRoute(route) })),
    // The routes of namesakes in other orgs, too: those have few policies.
    watch(Domain, ({ metadata }, read) => ({
      [ROUTE_INDEX]: read.byIndex(Route, ROUTE_DOMAIN_INDEX, metadata.name).map(keyOfRoute),
    })),
    watch(RoutePolicy, (policy, read) => listMisjudged(listOfRoute(policy, read)).map(({ metadata }) => metadata)),
  ],

  reconcile(policy, context) {
    const { read } = context;
    const { namespace = "" } = policy.metadata;
    const route = read.find(Route, { namespace, name: policy.spec.routeRef.name });
    const domain = route && findReferencedDomain(read, route, getTenancy(read, namespace));
    const ready = planRoutePolicy({ policy, ofRoute: listOfRoute(policy, read), route, domain });
    return { labels: resolveGUID(RoutePolicy, policy, context).labels, ready, ...planRequeue(ready) };
  },
});

function keyOfRoute({ metadata }: Route): string {
  return `${metadata.namespace}/${metadata.name}`;
}

function toRouteKey({ metadata, spec }: RoutePolicy): string {
  return `${metadata.namespace}/${spec.routeRef.name}`;
}

function listOfRoute(policy: RoutePolicy, read: Reader): readonly RoutePolicy[] {
  return read.byIndex(RoutePolicy, ROUTE_INDEX, toRouteKey(policy));
}
