// The Domain that a route resolves to when two share a name.
import { expect, test } from "vitest";
import { domainName, newClaim } from "../../../crds/claim/rules.ts";
import type { Domain } from "../../../crds/domain/domain.ts";
import type { Route } from "../../../crds/route/route.ts";
import type { ClusterCache } from "../../cache/cluster-cache.ts";
import { domainOf } from "../../cache/domains.ts";

const mine: Domain = {
  apiVersion: "cupola.dev/v1alpha1",
  kind: "Domain",
  metadata: { name: "mine", namespace: "acme" },
  spec: { name: "apps.example", internal: false, sharedOrgs: [] },
};
const route = {
  metadata: { name: "x", namespace: "acme-dev" },
  spec: { host: "x", path: "", port: 0, domainRef: { name: "mine" }, destinations: [] },
} as Pick<Route, "metadata" | "spec">;

function viewWith(namespace: string | undefined): ClusterCache {
  const claim =
    namespace === undefined
      ? undefined
      : newClaim(domainName(mine), { kind: "Domain", namespace, name: "mine" }, new Date(0));
  const store = {
    byIndex: () => [mine],
    find: ({ name }: { name: string }) => (claim?.metadata.name === name ? claim : undefined),
  };
  return {
    store: () => store,
    spaceOf: () => ({ metadata: { name: "dev", namespace: "acme" } }),
    orgOf: () => ({ metadata: { name: "acme" } }),
  } as unknown as ClusterCache;
}

test.each([
  ["holds the claim on its name", "acme", mine],
  ["has not claimed its name yet", undefined, mine],
  ["lost its name to another Domain", "rival", undefined],
])("one that %s", (_what, claimedFrom, expected) => expect(domainOf(viewWith(claimedFrom), route)).toBe(expected));
