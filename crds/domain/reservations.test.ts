// Which of two domains, or of a domain and a route, may have a name.
import { describe, expect, test } from "vitest";
import type { Claim } from "../claim/claim.ts";
import { domainName, newClaim, routeName } from "../claim/rules.ts";
import { SYSTEM_NAMESPACE } from "../groups.ts";
import { toHostKey } from "../route/host-owner.ts";
import { makeObject } from "../testing/objects.ts";
import { Domain } from "./domain.ts";
import { findNamesake, findReservation, listParentNames, type ReservationLookup } from "./reservations.ts";

const domain = (namespace: string, name: string): Domain =>
  makeObject(Domain, name, { metadata: { namespace }, spec: { name } });
const claimOf = (one: Domain, second: number): Claim =>
  newClaim(
    domainName(one),
    { kind: "Domain", namespace: one.metadata.namespace ?? "", name: one.metadata.name },
    new Date(second * 1000),
  );
const routeClaim = (host: string, name: string, second: number): Claim =>
  newClaim(
    routeName({ spec: { host, path: "", port: 0, domainRef: { name }, destinations: [] } }, name),
    { kind: "Route", namespace: "a-space", name: host },
    new Date(second * 1000),
  );

/** Domains with the second of their claim; without one they hold none. */
function lookup(domains: readonly [Domain, number?][], routes: readonly [string, string, number][] = []) {
  const all = domains.map(([one]) => one);
  const claims = routes.map((one) => routeClaim(...one));
  const found: ReservationLookup = {
    listByName: (name) => all.filter(({ spec }) => spec.name === name),
    listBelow: (name) => all.filter(({ spec }) => listParentNames(spec.name).includes(name)),
    findClaim: (one) => {
      const second = domains.find(([other]) => other === one)?.[1];
      return second === undefined ? undefined : claimOf(one, second);
    },
    listHostClaims: (key) =>
      routes.flatMap(([host, name], at) => (toHostKey({ host, domain: name }) === key ? claims.slice(at, at + 1) : [])),
  };
  return found;
}

test("the names above a name", () => expect(listParentNames("a.b.c")).toEqual(["b.c", "c"]));

describe("a domain", () => {
  test.each<[string, Domain, Domain, boolean]>([
    ["below another org's", domain("mine", "sub.shop.example"), domain("theirs", "shop.example"), true],
    ["far below it", domain("mine", "a.b.c.shop.example"), domain("theirs", "shop.example"), true],
    ["above another org's", domain("mine", "shop.example"), domain("theirs", "sub.shop.example"), true],
    ["above a shared one", domain("mine", "eu.example"), domain(SYSTEM_NAMESPACE, "apps.eu.example"), true],
    ["below a shared one", domain("mine", "shop.apps.example"), domain(SYSTEM_NAMESPACE, "apps.example"), false],
    ["below its own", domain("mine", "sub.shop.example"), domain("mine", "shop.example"), false],
    ["beside another", domain("mine", "sub.shop.example"), domain("theirs", "sub2.shop.example"), false],
    ["that ends alike", domain("mine", "myshop.example"), domain("theirs", "shop.example"), false],
    ["shared, above an org's", domain(SYSTEM_NAMESPACE, "shop.example"), domain("theirs", "x.shop.example"), false],
    ["shared, below an org's", domain(SYSTEM_NAMESPACE, "sub.shop.example"), domain("theirs", "shop.example"), true],
  ])("%s", (_what, one, other, isReserved) => {
    const byOther = isReserved ? { by: "domain", name: other.spec.name } : undefined;
    const held = lookup([[one], [other, 1]]);
    if (byOther) expect(findReservation(one, undefined, held)).toMatchObject(byOther);
    else expect(findReservation(one, undefined, held)).toBeUndefined();
    // The rule has no direction: whichever was first keeps its name.
    const both = lookup([
      [one, 1],
      [other, 2],
    ]);
    expect(findReservation(one, claimOf(one, 1), both)).toBeUndefined();
    expect(findReservation(other, claimOf(other, 2), both) !== undefined).toBe(isReserved);
  });

  test("is not kept away by one that is not in force itself", () => {
    const [one, other] = [domain("mine", "x.sub.shop.example"), domain("theirs", "sub.shop.example")];
    expect(findReservation(one, undefined, lookup([[one], [other]]))).toBeUndefined();
  });

  test("has no route's hostname, unless it was there first", () => {
    const one = domain("mine", "www.apps.example");
    const taken = lookup([[one, 5]], [["www", "apps.example", 3]]);
    expect(findReservation(one, undefined, taken)).toMatchObject({ by: "route", name: "www.apps.example" });
    expect(findReservation(one, claimOf(one, 2), taken)).toBeUndefined();
  });
});

test.each<[string, string, number | undefined, readonly [string, string, number][], boolean]>([
  ["a domain's name", "www", 1, [], true],
  ["the name of a domain that is not in force", "www", undefined, [], false],
  ["held by a route for longer than by the domain", "www", 5, [["www", "apps.example", 3]], false],
  ["held by a route for less long", "www", 1, [["www", "apps.example", 3]], true],
  ["another", "web", 1, [], false],
  ["a wildcard", "*", 1, [], false],
])("a hostname that is %s", (...[, host, second, routes, isTaken]) => {
  const held = lookup(
    [[domain("mine", "www.apps.example"), ...(second === undefined ? [] : [second])] as [Domain, number?]],
    routes,
  );
  expect(findNamesake({ host, domain: "apps.example" }, held) !== undefined).toBe(isTaken);
});
