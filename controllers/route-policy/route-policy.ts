// Says what a RoutePolicy does. Routes of a domain that enforces policies are not served (controllers/route), so nothing else follows from one.
import { Claim } from "../../crds/claim/claim.ts";
import { Domain } from "../../crds/domain/domain.ts";
import { Route } from "../../crds/route/route.ts";
import { RoutePolicy } from "../../crds/route-policy/route-policy.ts";
import { defineController, watch } from "../../kube/controller/controller.ts";
import { findReferencedDomain } from "../shared/domains.ts";
import { GUID_INDEX, indexByGUID, resolveGUID } from "../shared/guid.ts";
import { getTenancy, TENANCY_KINDS } from "../shared/tenancy.ts";
import { planRoutePolicy } from "./plan.ts";

const ROUTE_INDEX = "controllers/policies-of-route";
const ALL_INDEX = "controllers/all-route-policies";

export const routePolicyController = defineController({
  name: "route-policy",
  for: RoutePolicy,
  reads: [...TENANCY_KINDS, Claim],
  indexes: {
    [GUID_INDEX]: indexByGUID,
    [ROUTE_INDEX]: ({ metadata, spec }: RoutePolicy) => [`${metadata.namespace}/${spec.routeRef.name}`],
    [ALL_INDEX]: () => ["all"],
  },
  watches: [
    watch(Route, ({ metadata }) => ({ [ROUTE_INDEX]: `${metadata.namespace}/${metadata.name}` })),
    watch(Domain, () => ({ [ALL_INDEX]: "all" })),
  ],

  reconcile(policy, context) {
    const { read } = context;
    const { namespace = "" } = policy.metadata;
    const route = read.find(Route, { namespace, name: policy.spec.routeRef.name });
    const domain = route && findReferencedDomain(read, route, getTenancy(read, namespace));
    return {
      labels: resolveGUID(RoutePolicy, policy, context).labels,
      ready: planRoutePolicy({ policy, route, domain }),
    };
  },
});
