// The condition of a RoutePolicy: whether its route is there, and whether anything follows from it. Pure.
import type { Domain } from "../../crds/domain/domain.ts";
import type { Route } from "../../crds/route/route.ts";
import { isInScope } from "../../crds/route-policy/rules.ts";
import type { RoutePolicy } from "../../crds/route-policy/route-policy.ts";
import type { ReadyDraft } from "../../kube/controller/controller.ts";

export interface RoutePolicyInput {
  policy: RoutePolicy;
  route: Route | undefined;
  domain: Domain | undefined;
}

export function planRoutePolicy({ policy, route, domain }: RoutePolicyInput): ReadyDraft {
  const { routeRef, source } = policy.spec;
  if (!route) return refuse("RouteMissing", `no route of this namespace is named ${routeRef.name}`);
  if (!domain) return refuse("DomainMissing", `the domain of route ${routeRef.name} does not exist: see the route`);
  const { name } = domain.spec;
  if (!domain.spec.routePolicies)
    return refuse("DomainNotEnforcing", `domain ${name} has no routePolicies, so its routes are open to everyone`);
  if (!isInScope(source, domain))
    return refuse("SourceNotAllowed", `domain ${name} has the scope space, which allows no source ${source}`);
  return refuse("NotSupported", `kept, but no router knows which app calls, so the routes of ${name} are not served`);
}

function refuse(reason: string, message: string): ReadyDraft {
  return { status: "False", reason, message, isFailure: true };
}
