// The condition of a RoutePolicy: whether its route is there, whether an older policy excludes it, and whether anything follows from it. Pure.
import type { Domain } from "../../crds/domain/domain.ts";
import type { Route } from "../../crds/route/route.ts";
import { findConflicts, isInScope, isOneTooMany, MAX_POLICIES_OF_ROUTE } from "../../crds/route-policy/rules.ts";
import type { RoutePolicy } from "../../crds/route-policy/route-policy.ts";
import type { ReadyDraft } from "../../kube/controller/controller.ts";

/** Each of N policies too many looks at all N, so seldom. */
const CROWDED_MS = 10 * 60_000;

const SOURCE_CONFLICT = "SourceConflict";
const TOO_MANY = "TooManyPolicies";
const NOT_SUPPORTED = "NotSupported";

export interface RoutePolicyInput {
  policy: RoutePolicy;
  /** All policies of the same route. */
  ofRoute: readonly RoutePolicy[];
  route: Route | undefined;
  domain: Domain | undefined;
}

export function planRoutePolicy({ policy, ofRoute, route, domain }: RoutePolicyInput): ReadyDraft {
  const { routeRef, source } = policy.spec;
  if (!route) return refuse("RouteMissing", `no route of this namespace is named ${routeRef.name}`);
  if (!domain) return refuse("DomainMissing", `the domain of route ${routeRef.name} does not exist: see the route`);
  const { name } = domain.spec;
  if (!domain.spec.routePolicies)
    return refuse("DomainNotEnforcing", `domain ${name} has no routePolicies, so its routes are open to everyone`);
  if (!isInScope(source, domain))
    return refuse("SourceNotAllowed", `domain ${name} has the scope space, which allows no source ${source}`);
  const conflict = findConflicts(ofRoute)(policy);
  if (conflict) {
    const [other, at] = [conflict.spec.source, conflict.metadata.name];
    const why = other === source ? "has the same source" : `is for ${other}, and cf:any is a route's only policy`;
    return refuse(SOURCE_CONFLICT, `the older policy ${at} of route ${routeRef.name} ${why}: delete one of both`);
  }
  if (isOneTooMany(policy, ofRoute))
    return refuse(TOO_MANY, `route ${routeRef.name} has ${MAX_POLICIES_OF_ROUTE} older policies: delete others`);
  return refuse(NOT_SUPPORTED, `kept, but no router knows which app calls, so the routes of ${name} are not served`);
}

/** Its condition says within this time that it is no longer one too many. */
export function planRequeue({ reason }: ReadyDraft): { requeueAfterMs?: number } {
  return reason === TOO_MANY ? { requeueAfterMs: CROWDED_MS } : {};
}

/** The policies of one route whose condition another policy has made wrong. */
export function listMisjudged(ofRoute: readonly RoutePolicy[]): RoutePolicy[] {
  const conflictOf = findConflicts(ofRoute);
  return ofRoute.filter((policy) => {
    const reason = policy.status?.conditions?.find(({ type }) => type === "Ready")?.reason;
    if (reason === SOURCE_CONFLICT) return !conflictOf(policy);
    return reason === NOT_SUPPORTED && conflictOf(policy) !== undefined;
  });
}

function refuse(reason: string, message: string): ReadyDraft {
  return { status: "False", reason, message, isFailure: true };
}
