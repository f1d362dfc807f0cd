// The bound of `include=route_policies`.
import { expect, test } from "vitest";
import { RoutePolicy } from "../../crds/route-policy/route-policy.ts";
import { aRoute, makeObject } from "../../crds/testing/objects.ts";
import type { Session } from "../access/session.ts";
import { cacheOf } from "../cache/testing/cache-of.ts";
import { includedRoutePolicies } from "./route-policies.ts";

const policies = Array.from({ length: 5001 }, (_, at) =>
  makeObject(RoutePolicy, `policy-${at}`, { spec: { routeRef: { name: "shop" }, source: "cf:any" } }),
);
const include = (all: readonly RoutePolicy[], canSee: (one: RoutePolicy) => boolean): object[] => {
  const session = { cache: cacheOf(...all), canSee: (_ref: unknown, one: RoutePolicy) => canSee(one) };
  return includedRoutePolicies(session as unknown as Session, "https://api", [aRoute()]);
};

test("an answer includes 5,000 policies of those that the caller can see, and is refused for more", () => {
  expect(include(policies, (one) => one !== policies[9])).toHaveLength(5000);
  expect(() => include(policies, () => true)).toThrow(/more than 5000 route policies.*per_page.*route_guids/);
});
