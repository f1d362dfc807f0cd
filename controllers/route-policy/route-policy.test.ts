// Which RoutePolicies a change of a Domain or of another policy enqueues.
import { expect, test } from "vitest";
import { Domain } from "../../crds/domain/domain.ts";
import { Route } from "../../crds/route/route.ts";
import { RoutePolicy } from "../../crds/route-policy/route-policy.ts";
import { aDomain, aRoute, makeObject } from "../../crds/testing/objects.ts";
import type { KubeObject } from "../../kube/api/object.ts";
import { type ResourceRef, resourceId } from "../../kube/api/resource-ref.ts";
import type { Reader } from "../../kube/cache/reader.ts";
import { WritableStore } from "../../kube/cache/store.ts";
import type { Controller, MapResult } from "../../kube/controller/controller.ts";
import { createControllers } from "../controllers.ts";
import { OPEN_GATE } from "../shared/start-gate.ts";
import { routePolicyController } from "./route-policy.ts";

const controllers = createControllers({ apiURL: "", hasContent: () => Promise.resolve(true), startGate: OPEN_GATE });
const routes = controllers.find(({ name }) => name === "route") ?? expect.fail("there is no route controller");

function storeOf({ for: ref, indexes = {} }: Controller, objects: readonly KubeObject[]): WritableStore<KubeObject> {
  const store = new WritableStore<KubeObject>(ref, { indexes, onFault: (error) => expect.fail(String(error)) });
  store.replace(objects, "1");
  store.setState("watching");
  return store;
}

/** The result of the controller's watch rule of the kind. */
function mapTo(ref: ResourceRef, object: KubeObject, world: { routes?: Route[]; policies?: RoutePolicy[] }): MapResult {
  const stores = new Map([
    [resourceId(Route), storeOf(routes, world.routes ?? [])],
    [resourceId(RoutePolicy), storeOf(routePolicyController, world.policies ?? [])],
  ]);
  const read = {
    byIndex: (of: ResourceRef, index: string, value: string) => stores.get(resourceId(of))?.byIndex(index, value),
  } as unknown as Reader;
  const rule = routePolicyController.watches?.find((one) => resourceId(one.ref) === resourceId(ref));
  return (rule ?? expect.fail("there is no rule")).mapTo(object, read);
}

test("a Domain: those of its routes", () => {
  const given = [
    aRoute({}, { metadata: { namespace: "dev", name: "in", uid: "in" } }),
    aRoute({ domainRef: { name: "other" } }, { metadata: { namespace: "dev", name: "out", uid: "out" } }),
  ];
  expect(mapTo(Domain, aDomain(), { routes: given })).toEqual({ "controllers/policies-of-route": ["dev/in"] });
});

test("a policy: those of its route whose condition it has made wrong", () => {
  const policy = (name: string, route: string, reason: string): RoutePolicy =>
    makeObject(RoutePolicy, name, {
      spec: { routeRef: { name: route }, source: "cf:any" },
      metadata: { namespace: "dev", uid: name },
      status: { conditions: [{ type: "Ready", status: "False", reason }] },
    } as never);
  const others = [policy("freed", "shop", "SourceConflict"), policy("elsewhere", "cart", "SourceConflict")];
  const deleted = policy("deleted", "shop", "NotSupported");
  expect(mapTo(RoutePolicy, deleted, { policies: others })).toMatchObject([{ namespace: "dev", name: "freed" }]);
});
