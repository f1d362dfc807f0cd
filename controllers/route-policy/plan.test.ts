// The condition of a RoutePolicy, by its route, the domain of it, and the other policies of the route.
import { describe, expect, test } from "vitest";
import type { Domain } from "../../crds/domain/domain.ts";
import { aRoute } from "../../crds/testing/objects.ts";
import type { RoutePolicy } from "../../crds/route-policy/route-policy.ts";
import { listMisjudged, planRequeue, planRoutePolicy } from "./plan.ts";

const ORG = "cf:org:11111111-2222-3333-4444-555555555555";
const domain = (scope?: "any" | "org" | "space"): Domain =>
  ({ spec: { name: "mesh.example.org", ...(scope && { routePolicies: { scope } }) } }) as Domain;
/** `age`: the older the greater. */
const policy = (source: string, age = 0, metadata: object = {}, reason?: string): RoutePolicy =>
  ({
    metadata: {
      name: `${source}-${age}`,
      uid: source,
      creationTimestamp: `${3000 - age}-01-01T00:00:00Z`,
      ...metadata,
    },
    spec: { routeRef: { name: "shop" }, source },
    ...(reason !== undefined && { status: { conditions: [{ type: "Ready", reason }] } }),
  }) as RoutePolicy;

test.each([
  ["without its route", { route: undefined, domain: undefined }, "RouteMissing"],
  ["whose domain is gone", { domain: undefined }, "DomainMissing"],
  ["of a domain that everyone may call", { domain: domain() }, "DomainNotEnforcing"],
  ["for an org, where only spaces and apps may be named", { domain: domain("space") }, "SourceNotAllowed"],
  ["for an org", { domain: domain("org") }, "NotSupported"],
  ["for every app", { policy: policy("cf:any"), domain: domain("space") }, "NotSupported"],
])("a policy %s", (_, given, reason) => {
  expect(planRoutePolicy({ policy: policy(ORG), ofRoute: [], route: aRoute(), ...given })).toMatchObject({
    status: "False",
    reason,
  });
});

describe("beside other policies of its route", () => {
  const ANY = "cf:any";
  const plan = (own: RoutePolicy, ...others: RoutePolicy[]) =>
    planRoutePolicy({ policy: own, ofRoute: [own, ...others], route: aRoute(), domain: domain("any") });

  test.each([
    ["the same source twice", policy(ORG), policy(ORG, 1)],
    ["cf:any beside an older one", policy(ANY), policy(ORG, 1)],
    ["one beside an older cf:any", policy(ORG), policy(ANY, 1)],
  ])("%s: the younger one is refused, and names the older one", (_what, younger, older) => {
    expect(plan(younger, older)).toMatchObject({
      reason: "SourceConflict",
      message: expect.stringContaining(older.metadata.name) as unknown,
    });
    expect(plan(older, younger).reason).toBe("NotSupported");
  });

  test("of two in the same second the one with the smaller uid stays", () => {
    const [one, other] = [policy(ORG, 0, { name: "a", uid: "2" }), policy(ORG, 0, { name: "b", uid: "1" })];
    expect([plan(one, other).reason, plan(other, one).reason]).toEqual(["SourceConflict", "NotSupported"]);
  });

  test("a refused one refuses no other", () => {
    const [oldest, refused, youngest] = [policy(ORG, 2), policy(ANY, 1), policy(`${ORG.slice(0, -1)}6`)];
    expect(plan(youngest, oldest, refused).reason).toBe("NotSupported");
  });

  test("one that is being deleted refuses no other", () => {
    expect(plan(policy(ANY), policy(ORG, 1, { deletionTimestamp: "now" })).reason).toBe("NotSupported");
  });

  test("the oldest 500 are kept; others say so, and look again", () => {
    const older = Array.from({ length: 500 }, (_, at) => policy(`cf:app:${at}`, at + 1));
    const crowded = plan(policy(ORG), ...older);
    expect(crowded.reason).toBe("TooManyPolicies");
    expect(planRequeue(crowded)).toEqual({ requeueAfterMs: 600_000 });
    expect(plan(policy(ORG), ...older.slice(1)).reason).toBe("NotSupported");
    expect(plan(policy(ORG, 2000), ...older).reason).toBe("NotSupported");
  });

  test("those whose condition another has made wrong are judged again", () => {
    const kept = policy(ORG, 2, {}, "NotSupported");
    const refused = policy(ANY, 1, {}, "SourceConflict");
    expect(listMisjudged([kept, refused])).toEqual([]);
    expect(listMisjudged([refused])).toEqual([refused]);
    const late = policy(ANY, 1, {}, "NotSupported");
    expect(listMisjudged([kept, late, policy(ORG)])).toEqual([late]);
  });
});
