// The condition of a RoutePolicy, by its route and the domain of it.
import { expect, test } from "vitest";
import type { Domain } from "../../crds/domain/domain.ts";
import { aRoute } from "../../crds/testing/objects.ts";
import type { RoutePolicy } from "../../crds/route-policy/route-policy.ts";
import { planRoutePolicy } from "./plan.ts";

const ORG = "cf:org:11111111-2222-3333-4444-555555555555";
const domain = (scope?: "any" | "org" | "space"): Domain =>
  ({ spec: { name: "mesh.example.org", ...(scope && { routePolicies: { scope } }) } }) as Domain;
const policy = (source: string): RoutePolicy => ({ spec: { routeRef: { name: "shop" }, source } }) as RoutePolicy;

test.each([
  ["without its route", { route: undefined, domain: undefined }, "RouteMissing"],
  ["whose domain is gone", { domain: undefined }, "DomainMissing"],
  ["of a domain that everyone may call", { domain: domain() }, "DomainNotEnforcing"],
  ["for an org, where only spaces and apps may be named", { domain: domain("space") }, "SourceNotAllowed"],
  ["for an org", { domain: domain("org") }, "NotSupported"],
  ["for every app", { policy: policy("cf:any"), domain: domain("space") }, "NotSupported"],
])("a policy %s", (_, given, reason) => {
  expect(planRoutePolicy({ policy: policy(ORG), route: aRoute(), ...given })).toMatchObject({
    status: "False",
    reason,
  });
});
