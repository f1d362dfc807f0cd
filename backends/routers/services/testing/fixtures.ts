// RouteBindings and LRPs for the tests of the router classes.
import type { LRP } from "../../../../crds/lrp/lrp.ts";
import { RouteBinding } from "../../../../crds/route-binding/route-binding.ts";
import { stringify } from "yaml";

const guid = (digit: number): string => `0000000${digit}-0000-4000-8000-000000000000`;
export const aDestination = {
  appGUID: guid(1),
  app: "shop",
  processType: "web",
  port: 8080,
  protocol: "http1" as const,
};
export const anotherDestination = { ...aDestination, appGUID: guid(9), app: "blue" };

/** A binding of a class with one destination, unless changed. */
export function aBinding(name: "ingress" | "gateway", change: object = {}): RouteBinding {
  const spec: unknown = RouteBinding.spec.parse({
    class: name,
    routeGUID: guid(6),
    space: { guid: guid(2), name: "dev" },
    org: { guid: guid(3), name: "acme" },
    hostname: "shop.apps.example",
    path: "/cart",
    destinations: [aDestination],
    ...change,
  });
  return {
    apiVersion: "workloads.cupola.dev/v1alpha1",
    kind: "RouteBinding",
    metadata: {
      name: "shop-apps-0123456789",
      namespace: "acme-dev",
      labels: {
        "cupola.dev/route-guid": guid(6),
        "cupola.dev/space-guid": guid(2),
        "cupola.dev/org-guid": guid(3),
        "cupola.dev/managed-by": "route",
      },
    },
    spec: spec as RouteBinding["spec"],
  };
}

/** An LRP of `aDestination` that was made at `made`. */
export function aDestinationLRP(
  status: LRP["status"],
  { made = "2026-01-01T00:00:00Z", instances = 2 }: { made?: string; instances?: number } = {},
): LRP {
  return {
    metadata: { name: "shop-1", namespace: "acme-dev", creationTimestamp: made },
    spec: { app: { guid: aDestination.appGUID, name: "shop" }, processType: "web", instances },
    status,
  } as unknown as LRP;
}

/** Objects as one YAML text, for golden files. */
export const toYAML = (drafts: readonly object[]): string =>
  drafts.map((draft) => stringify(draft, { lineWidth: 0, aliasDuplicateObjects: false })).join("---\n");
