// Which Domain a route means, where several have the object name.
import { describe, expect, test } from "vitest";
import { SYSTEM_NAMESPACE } from "../groups.ts";
import { Route } from "../route/route.ts";
import { Domain } from "./domain.ts";
import { findDomainByReference } from "./resolve-domain.ts";

interface Given {
  second?: number;
  uid?: string;
  sharedOrgs?: string[];
  spec?: string;
}
const domain = (
  namespace: string,
  { second = 1, uid = namespace, sharedOrgs = ["acme"], spec = `${namespace}.example` }: Given = {},
): Domain => ({
  apiVersion: "cupola.dev/v1alpha1",
  kind: "Domain",
  metadata: { name: "apps", namespace, uid, creationTimestamp: `2026-01-01T00:00:0${second}Z` },
  spec: Domain.spec.parse({ name: spec, sharedOrgs }),
});
const meant = (domains: readonly Domain[], { url, lost }: { url?: string; lost?: Domain } = {}): string | undefined => {
  const route = {
    spec: Route.spec.parse({ host: "shop", path: "/x", domainRef: { name: "apps" } }),
    ...(url !== undefined && { status: { url } }),
  };
  const sight = {
    orgObjectName: "acme",
    orgNamespace: "acme",
    find: ({ namespace }: { namespace: string }) => domains.find((one) => one.metadata.namespace === namespace),
    listByName: () => domains,
    isNameTaken: (one: Domain) => one === lost,
  };
  return findDomainByReference(route, sight)?.metadata.namespace;
};
/** In one order and the other. */
const either = (one: Domain, other: Domain, more?: Parameters<typeof meant>[1]): (string | undefined)[] => [
  meant([one, other], more),
  meant([other, one], more),
];

test("the org's own domain wins over a shared one, and that over domains that other orgs share", () => {
  const [own, shared, lent] = [
    domain("acme", { second: 3 }),
    domain(SYSTEM_NAMESPACE, { second: 2 }),
    domain("lender"),
  ];
  expect([
    meant([lent, shared, own]),
    meant([lent, shared]),
    meant([lent]),
    meant([domain("lender", { sharedOrgs: ["other"] })]),
  ]).toEqual(["acme", SYSTEM_NAMESPACE, "lender", undefined]);
});

describe("of those that others share", () => {
  const [older, younger] = [domain("older", { second: 1 }), domain("younger", { second: 2 })];

  test("it is the oldest, in whatever order they are seen", () =>
    expect(either(older, younger)).toEqual(["older", "older"]));

  test("it is the one with the smaller uid within a second", () => {
    expect(either(domain("a", { uid: "z" }), domain("b", { uid: "y" }))).toEqual(["b", "b"]);
  });

  test("a domain without its name loses to the one that holds it", () => {
    expect(either(older, younger, { lost: older })).toEqual(["younger", "younger"]);
    expect(meant([older], { lost: older })).toBe("older");
  });

  test("a route that was served in one means that one, or none", () => {
    expect(either(older, younger, { url: "shop.younger.example/x" })).toEqual(["younger", "younger"]);
    expect(meant([older], { url: "shop.younger.example/x" })).toBeUndefined();
    expect(meant([domain("acme"), older], { url: "shop.younger.example/x" })).toBe("acme");
  });
});
