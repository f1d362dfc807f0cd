// A route of a manifest that another client creates at the same moment.
import { expect, test } from "vitest";
import type { App } from "../../crds/app/app.ts";
import type { Domain } from "../../crds/domain/domain.ts";
import { SYSTEM_NAMESPACE } from "../../crds/groups.ts";
import { Route } from "../../crds/route/route.ts";
import type { ResourceRef } from "../../kube/api/resource-ref.ts";
import type { Session } from "../access/session.ts";
import { applyRoutes } from "./routes.ts";

const domain: Domain = {
  apiVersion: "cupola.dev/v1alpha1",
  kind: "Domain",
  metadata: { name: "apps.example", namespace: SYSTEM_NAMESPACE, uid: "d" },
  spec: { name: "apps.example", internal: false, sharedOrgs: [] },
};
const app = { metadata: { name: "shop", namespace: "acme-dev" }, spec: { name: "shop" } } as App;

/** A route to the app that the other client made in this namespace. */
function made(namespace: string): Route {
  const destinations = [{ app: "shop", namespace: "", process: "web", port: 0, protocol: "http1" as const }];
  const spec = Route.spec.parse({ host: "shop", domainRef: { name: "apps.example" }, destinations });
  return { apiVersion: "cupola.dev/v1alpha1", kind: "Route", metadata: { name: "shop.apps.example", namespace }, spec };
}

/** A session that loses the address to another client, whose route it sees only while it waits. */
function sessionThatLosesTo(other: Route | undefined) {
  const routes: Route[] = [];
  const patched: unknown[] = [];
  let waits = 0;
  const byKind = (ref: ResourceRef): object[] =>
    ref.kind === "Route" ? routes : ref.kind === "Domain" ? [domain] : [];
  const session = {
    canSee: () => true,
    list: (ref: ResourceRef, within?: { index: readonly [string, string] }) =>
      // Before the job began no route led to the app.
      within?.index[0] === "app"
        ? []
        : byKind(ref).filter((one) => one !== other || other.metadata.namespace === "acme-dev"),
    apiHosts: [],
    cache: {
      store: (ref: ResourceRef) => ({
        list: () => [],
        find: () => undefined,
        byIndex: (index: string) => (index === "name" ? [] : byKind(ref)),
      }),
      spaceOf: () => ({ metadata: { name: "dev", namespace: "acme" }, spec: {} }),
      orgOf: () => ({ metadata: { name: "acme" }, spec: {}, status: { namespace: "acme" } }),
    },
    create: (_ref: unknown, _draft: unknown, taken: () => Error) => Promise.reject(taken()),
    holdWhile: (_refs: unknown, isUnderWay: () => boolean) => {
      waits++;
      expect(isUnderWay()).toBe(true);
      if (other) routes.push(other);
      expect(isUnderWay()).toBe(other === undefined);
      return Promise.resolve();
    },
    patchWithRetry: (_ref: unknown, route: Route, body: (current: Route) => unknown) =>
      Promise.resolve(void patched.push(body(route))),
  };
  return { session: session as unknown as Session, patched, waits: () => waits };
}

const entry = { name: "shop", routes: [{ route: "shop.apps.example" }] };

test("a route that another client has just made in the space is taken as found", async () => {
  const { session, patched, waits } = sessionThatLosesTo(made("acme-dev"));
  await applyRoutes(session, app, entry);
  expect([waits(), patched]).toEqual([1, [undefined]]);
});

test.each([
  ["another space", made("other")],
  ["a client whose route does not come", undefined],
])("an address that is lost to %s is refused", async (_what, other) => {
  const { session } = sessionThatLosesTo(other);
  await expect(applyRoutes(session, app, entry)).rejects.toThrow(
    "Routes cannot be mapped to destinations in different spaces",
  );
});
