// When two addresses are one, and who holds a name.
import { describe, expect, test } from "vitest";
import { Route } from "../route/route.ts";
import { claimObjectName, domainName, newClaim, routeName, toClaimState } from "./rules.ts";

const named = (spec: object, domain = "apps.example"): string =>
  claimObjectName(
    routeName({ spec: Route.spec.parse({ host: "shop", domainRef: { name: "apps" }, ...spec }) }, domain),
  );

describe("the address of a route", () => {
  test.each<[string, object]>([
    ["in another case", { path: "/CART" }],
    ["with a slash at its end", { path: "/cart/" }],
    ["with several", { path: "/cart//" }],
  ])("is the same %s", (_what, spec) => expect(named(spec)).toBe(named({ path: "/cart" })));

  test("is the same with the host in another case", () =>
    expect(named({ host: "Shop" })).toBe(named({ host: "shop" })));

  test("is that of all paths when it is slashes only", () => expect(named({ path: "//" })).toBe(named({ path: "" })));

  test.each<[string, object, string?]>([
    ["path", { path: "/carts" }],
    ["longer path", { path: "/cart/x" }],
    ["host", { host: "shops", path: "/cart" }],
    ["port", { port: 1, path: "/cart" }],
    ["domain", { path: "/cart" }, "other.example"],
  ])("is another by another %s", (_what, spec, domain) =>
    expect(named(spec, domain)).not.toBe(named({ path: "/cart" })),
  );
});

describe("standing", () => {
  const domain = {
    metadata: { name: "apps", namespace: "acme" },
    spec: { name: "apps.example", internal: false, sharedOrgs: [] },
  };
  const claimedBy = (kind: string, name: string, namespace: string) =>
    newClaim(domainName(domain), { kind, name, namespace }, new Date(0));

  test.each([
    ["its own claim", claimedBy("Domain", "apps", "acme"), "held"],
    ["the claim of one in another namespace", claimedBy("Domain", "apps", "other"), "taken"],
    ["the claim of one of another name", claimedBy("Domain", "theirs", "acme"), "taken"],
    ["no claim", undefined, "unclaimed"],
  ])("with %s", (_what, claim, expected) => expect(toClaimState(claim, "Domain", domain)).toBe(expected));
});
