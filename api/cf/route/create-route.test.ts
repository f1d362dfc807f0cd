// A route whose host another space claims concurrently.
import { expect, test } from "vitest";
import { Claim } from "../../../crds/claim/claim.ts";
import { newClaim, routeName } from "../../../crds/claim/rules.ts";
import type { Domain } from "../../../crds/domain/domain.ts";
import { SYSTEM_NAMESPACE } from "../../../crds/groups.ts";
import { Route } from "../../../crds/route/route.ts";
import type { KubeObject } from "../../../kube/api/object.ts";
import type { ResourceRef } from "../../../kube/api/resource-ref.ts";
import { unprocessable } from "../../http/errors.ts";
import type { Session } from "../../access/session.ts";
import { createRoute } from "./create-route.ts";

const domain: Domain = {
  apiVersion: "cupola.dev/v1alpha1",
  kind: "Domain",
  metadata: { name: "apps.example", namespace: SYSTEM_NAMESPACE, uid: "d" },
  spec: { name: "apps.example", internal: false, sharedOrgs: [] },
};

/** A session that sees these claims on routes after its write. */
function sessionAmid(after: Claim[]) {
  const removed: KubeObject[] = [];
  const seen: Claim[] = [];
  const stores = new Map<ResourceRef, object>([[Claim, { byIndex: () => seen, find: () => undefined }]]);
  const none = {
    list: () => [],
    find: () => undefined,
    byIndex: (index: string) => (index === "objectName" ? [domain] : []),
  };
  const session = {
    apiHosts: [],
    cache: {
      store: (ref: ResourceRef) => stores.get(ref) ?? none,
      spaceOf: () => ({ metadata: { name: "dev", namespace: "acme" }, spec: {} }),
      orgOf: () => ({ metadata: { name: "acme" }, spec: {} }),
    },
    create: (_ref: unknown, draft: object) => {
      seen.push(...after);
      return Promise.resolve({ kind: "Route", ...draft });
    },
    delete: (_ref: unknown, object: KubeObject) => Promise.resolve(void removed.push(object)),
  };
  return { session: session as unknown as Session, removed };
}

const claimFrom = (namespace: string, path: string): Claim =>
  newClaim(
    routeName({ spec: Route.spec.parse({ host: "shop", path, domainRef: { name: "apps.example" } }) }, "apps.example"),
    { kind: "Route", namespace, name: "x" },
    new Date(namespace === "first" ? 1 : 2),
  );
const make = (session: Session): Promise<Route> =>
  createRoute(session, { namespace: "second", domain, host: "shop", path: "/b", port: 0 }, () =>
    unprocessable("taken"),
  );

test("the route is deleted and rejected when the other claim is older", async () => {
  const { session, removed } = sessionAmid([claimFrom("second", "/b"), claimFrom("first", "/a")]);
  await expect(make(session)).rejects.toMatchObject({ status: 422 });
  expect(removed).toHaveLength(1);
});

test("the route stays when its own claim is older", async () => {
  const { session, removed } = sessionAmid(
    [claimFrom("second", "/b"), claimFrom("third", "/a")].map((claim, at) => ({
      ...claim,
      spec: { ...claim.spec, since: new Date(at).toISOString() },
    })),
  );
  await expect(make(session)).resolves.toMatchObject({ kind: "Route" });
  expect(removed).toEqual([]);
});
