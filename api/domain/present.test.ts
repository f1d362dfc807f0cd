// Domains as CF shows them.
import { expect, test } from "vitest";
import { Domain } from "../../crds/domain/domain.ts";
import { SYSTEM_NAMESPACE } from "../../crds/groups.ts";
import { Org } from "../../crds/org/org.ts";
import { anOrg, makeObject } from "../../crds/testing/objects.ts";
import type { KubeObject } from "../../kube/api/object.ts";
import type { Session } from "../access/session.ts";
import { cacheOf } from "../cache/testing/cache-of.ts";
import { presentDomain } from "./present.ts";

const friends = makeObject(Org, "friends", { spec: {} });
const strangers = makeObject(Org, "strangers", { spec: {} });

/** A caller who does not see the org `strangers`. */
const session = {
  cache: cacheOf(anOrg(), friends, strangers),
  canSee: (_ref: unknown, object: KubeObject) => object !== strangers,
} as unknown as Session;

function present(spec: object, namespace: string): object {
  const domain = makeObject(Domain, "apps", { spec: { name: "apps.example", ...spec }, metadata: { namespace } });
  return presentDomain(session, domain, "https://api");
}

test("a shared domain belongs to no org", () => {
  const presented = present({}, SYSTEM_NAMESPACE);
  expect(presented).toMatchObject({
    guid: "uid-apps",
    name: "apps.example",
    internal: false,
    supported_protocols: ["http"],
    relationships: { organization: { data: null }, shared_organizations: { data: [] } },
    links: { route_reservations: { href: "https://api/v3/domains/uid-apps/route_reservations" } },
  });
  expect(presented).not.toHaveProperty("links.organization");
  expect(presented).not.toHaveProperty("links.shared_organizations");
});

test.each<[string, string[], string[]]>([
  ["is shared with nobody at first", [], []],
  [
    "shows the orgs that it is shared with, but not those that the caller does not see",
    ["friends", "strangers"],
    ["uid-friends"],
  ],
  ["shows no org that was deleted", ["deleted"], []],
])("a private domain %s", (_what, sharedOrgs, guids) => {
  expect(present({ sharedOrgs }, "acme")).toMatchObject({
    relationships: {
      organization: { data: { guid: "uid-acme" } },
      shared_organizations: { data: guids.map((guid) => ({ guid })) },
    },
    links: { organization: { href: "https://api/v3/organizations/uid-acme" } },
  });
});

test("an internal domain says so", () => {
  expect(present({ internal: true }, SYSTEM_NAMESPACE)).toMatchObject({ internal: true });
});
