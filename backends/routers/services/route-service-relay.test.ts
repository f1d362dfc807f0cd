// The Service and slices that lead bound routes to the proxy.
import { expect, test } from "vitest";
import type { RouteBinding } from "../../../crds/route-binding/route-binding.ts";
import type { EndpointSlice } from "../../../kube/api/builtin.ts";
import type { ObjectOf } from "../../../kube/api/resource-ref.ts";
import { planRelayService, planRelaySlices } from "./route-service-relay.ts";

const binding = (spec: object): RouteBinding =>
  ({
    metadata: { name: "r", namespace: "n", labels: { "cupola.dev/space-guid": "s" } },
    spec: {
      class: "ingress",
      routeGUID: "g",
      hostname: "shop.test",
      path: "",
      port: 0,
      internal: false,
      destinations: [{ appGUID: "a", app: "shop", processType: "web", port: 8080, protocol: "http1" }],
      routeService: { url: "https://guard.test" },
      ...spec,
    },
  }) as unknown as RouteBinding;

test.each([
  ["bound", {}, ["cupola-route-service"]],
  ["not bound", { routeService: undefined }, []],
  ["of no app", { destinations: [] }, []],
  ["of a router without Services", { class: "local" }, []],
])("a route that is %s", (_what, spec, names) => {
  expect(planRelayService(binding(spec)).map(({ metadata }) => metadata?.name)).toEqual(names);
});

test("slices have the addresses of pods that take requests, by family, in one order", () => {
  const slice = (addressType: string, endpoints: [string, boolean?][]) =>
    ({
      addressType,
      endpoints: endpoints.map(([address, ready]) => ({ addresses: [address], conditions: { ready } })),
    }) as unknown as ObjectOf<typeof EndpointSlice>;
  const planned = planRelaySlices("n", [
    slice("IPv4", [
      ["10.0.0.2", true],
      ["10.0.0.3", false],
    ]),
    slice("IPv6", [["fd00::1"]]),
    slice("IPv4", [
      ["10.0.0.1", true],
      ["10.0.0.2", true],
    ]),
  ]) as unknown as { metadata: { name: string }; endpoints: { addresses: string[] }[] }[];
  expect(
    planned.map(({ metadata, endpoints }) => [metadata.name, endpoints.flatMap(({ addresses }) => addresses)]),
  ).toEqual([
    ["cupola-route-service-ipv4", ["10.0.0.1", "10.0.0.2"]],
    ["cupola-route-service-ipv6", ["fd00::1"]],
  ]);
  expect(planRelaySlices("n", [])).toEqual([]);
});
