// Which part of a route another cluster serves.
import { expect, test } from "vitest";
import type { BackendClass } from "../../crds/backend-class/backend-class.ts";
import type { PlacementDecision } from "../../crds/placement-decision/placement-decision.ts";
import type { RouteBinding } from "../../crds/route-binding/route-binding.ts";
import { findObstacle, groupByCluster, planCopy, toCondition } from "./plan.ts";

const destination = { appGUID: "shop", app: "shop", processType: "web", port: 8080, protocol: "http1" as const };
const spec = {
  class: "ingress",
  routeGUID: "route-guid",
  hostname: "*.example.org",
  internal: false,
  destinations: [destination, { ...destination, appGUID: "cart" }, { ...destination, namespace: "other" }],
} as unknown as RouteBinding["spec"];
const binding = {
  metadata: {
    name: "b",
    namespace: "acme-dev",
    uid: "u",
    labels: { "cupola.dev/route-guid": "route-guid", "cupola.dev/owner-uid": "uid" },
    annotations: {},
  },
  spec,
} as unknown as RouteBinding;

const placed = (app: string, clusters: Record<string, number>, processType = "web") =>
  ({
    spec: {
      app,
      processType,
      assignments: Object.entries(clusters).map(([cluster, count]) => ({
        cluster,
        indexes: count > 0 ? [{ start: 0, end: count - 1 }] : [],
      })),
    },
  }) as unknown as PlacementDecision;

test("a cluster serves the destinations that have instances there", () => {
  const decisions = [
    placed("shop", { east: 2, west: 0 }),
    placed("cart", { east: 1, north: 1 }),
    placed("shop", { far: 1 }, "worker"),
  ];
  const groups = groupByCluster(binding, decisions);
  expect([...groups].map(([name, all]) => [name, all.map(({ appGUID }) => appGUID)])).toEqual([
    ["east", ["shop", "cart"]],
    ["north", ["cart"]],
  ]);
  expect(groupByCluster({ spec: { ...spec, internal: true } }, decisions).size).toBe(0);
});

test("the copy has a name that a restored platform finds, and no marks of this cluster", () => {
  const copy = planCopy(binding, [destination], "hub-1");
  expect(copy.metadata.labels).toEqual({ "cupola.dev/route-guid": "route-guid" });
  expect(copy.metadata.name).toBe(
    planCopy({ ...binding, metadata: { ...binding.metadata, uid: "new" } }, [], "hub-1").metadata.name,
  );
  expect(copy.metadata.name).not.toBe(planCopy(binding, [], "hub-2").metadata.name);
  expect(copy["spec"]).toMatchObject({ hostname: "*.example.org", destinations: [destination] });
});

test("a cluster without the router, or without its route services, says so", () => {
  const router = (name: string, capabilities?: Record<string, string>) =>
    ({ metadata: { name }, spec: { role: "router" }, status: { capabilities } }) as unknown as BackendClass;
  const routeService = { url: "https://guard.example.org" };
  expect(findObstacle(binding, [router("ingress")])).toBeUndefined();
  expect(findObstacle(binding, [router("gateway")])).toBe("has no router ingress");
  const guarded = { spec: { ...spec, routeService } };
  expect(findObstacle(guarded, [router("ingress")])).toBe("has no route services at its router ingress");
  expect(findObstacle(guarded, [router("ingress", { routeServices: "true" })])).toBeUndefined();
  expect(toCondition(["east"], new Map())).toMatchObject({ status: "True", message: "served on east, too" });
  expect(toCondition([], new Map([["west", "has no router ingress"]]))).toMatchObject({
    status: "False",
    message: "cluster west has no router ingress: requests that come there for the route find nothing",
  });
});
