// Whose a host of a shared domain is.
import { describe, expect, test } from "vitest";
import type { Claim } from "../claim/claim.ts";
import { newClaim, routeName } from "../claim/rules.ts";
import { Route } from "./route.ts";
import { indexClaimByHost, findOldestClaim, toHostKey, listEquivalentHosts } from "./host-owner.ts";

const claim = (second: number, namespace: string, spec: object = {}, domain = "apps.example"): Claim => {
  const route = Route.spec.parse({ host: "shop", domainRef: { name: "apps" }, ...spec });
  return newClaim(routeName({ spec: route }, domain), { kind: "Route", namespace, name: "x" }, new Date(second * 1000));
};
const spaceOf = (...claims: Claim[]): string | undefined => findOldestClaim(claims)?.spec.claimant.namespace;

describe("a host", () => {
  test("has no owner without a claim", () => expect(spaceOf()).toBeUndefined());

  test("is the space's that claimed an address of it first, in whatever order claims are seen", () => {
    const [first, second, third] = [
      claim(4, "mine", { path: "/x" }),
      claim(5, "theirs"),
      claim(6, "mine", { path: "/y" }),
    ];
    expect([
      spaceOf(first, second, third),
      spaceOf(third, second, first),
      spaceOf(second, first),
      spaceOf(third, second),
    ]).toEqual(["mine", "mine", "mine", "theirs"]);
  });

  test("is one space's even by two claims of one millisecond", () => {
    const [one, other] = [claim(5, "mine", { path: "/a" }), claim(5, "theirs", { path: "/b" })];
    expect(spaceOf(one, other)).toBe(spaceOf(other, one));
  });
});

describe("the host of a claim", () => {
  test.each<[string, Claim]>([
    ["without a path", claim(1, "a")],
    ["with one", claim(1, "a", { path: "/x" })],
    ["in another case", claim(1, "a", { host: "Shop", path: "/x" })],
    ["with a colon in it", claim(1, "a", { path: "/x:0/y" })],
  ])("is that of its route %s", (_what, one) =>
    expect(indexClaimByHost(one)).toEqual([toHostKey({ host: "shop", domain: "apps.example" })]),
  );

  test.each<[string, Claim]>([
    ["host", claim(1, "a", { host: "shops" })],
    ["domain", claim(1, "a", {}, "other.example")],
    ["wildcard", claim(1, "a", { host: "*" })],
  ])("is another by another %s", (_what, one) =>
    expect(indexClaimByHost(one)).not.toEqual([toHostKey({ host: "shop", domain: "apps.example" })]),
  );

  test("is none by port, and for other kinds", () => {
    expect(indexClaimByHost(claim(1, "a", { port: 1024 }))).toEqual([]);
    expect(
      indexClaimByHost(newClaim({ scope: "domain", claimed: "shop:0" }, { kind: "Domain", name: "x" }, new Date(0))),
    ).toEqual([]);
  });
});

test.each([
  [{ host: "shop", domain: "apps.example" }, [{ host: "", domain: "shop.apps.example" }]],
  [{ host: "", domain: "shop.apps.example" }, [{ host: "shop", domain: "apps.example" }]],
  [{ host: "", domain: "example" }, []],
])("%o may be split otherwise", (split, others) => expect(listEquivalentHosts(split)).toEqual([split, ...others]));
