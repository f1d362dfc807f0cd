// The golden objects of the class: what a RouteBinding becomes in a cluster, and what it refuses.
import { describe, expect, test } from "vitest";
import { stringify } from "yaml";
import { RouteBinding } from "../../../crds/route-binding/route-binding.ts";
import { findLimitation, planIngress, planServices, serviceName } from "./plan.ts";

const guid = (digit: number): string => `0000000${digit}-0000-4000-8000-000000000000`;
const destination = { appGUID: guid(1), app: "shop", processType: "web", port: 8080 };

function binding(change: object = {}): RouteBinding {
  const spec: unknown = RouteBinding.spec.parse({
    class: "ingress",
    routeGUID: guid(6),
    space: { guid: guid(2), name: "dev" },
    org: { guid: guid(3), name: "acme" },
    hostname: "shop.apps.example",
    path: "/cart",
    destinations: [destination],
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

const yaml = (drafts: readonly object[]): string =>
  drafts.map((draft) => stringify(draft, { lineWidth: 0, aliasDuplicateObjects: false })).join("---\n");

describe("a RouteBinding in a cluster", () => {
  test("one destination", async () => {
    const made = binding();
    await expect(
      yaml([...planServices(made), ...planIngress(made, { ingressClassName: "nginx" })]),
    ).toMatchFileSnapshot("route.golden.yaml");
  });

  test("two routes to one process share its Service", () => {
    expect(planServices(binding({ hostname: "other.apps.example" }))).toEqual(planServices(binding()));
    expect(serviceName(destination)).not.toBe(serviceName({ ...destination, processType: "api" }));
    expect(serviceName({ ...destination, app: "a".repeat(40) }).length).toBeLessThanOrEqual(52);
  });

  test("http2 is spoken in clear to the app", () => {
    expect(planServices(binding({ destinations: [{ ...destination, protocol: "http2" }] }))[0]).toMatchObject({
      spec: { ports: [{ appProtocol: "kubernetes.io/h2c" }] },
    });
  });

  test.each<[string, object, boolean, number]>([
    ["a TCP route", { port: 1234 }, true, 0],
    ["an internal route", { internal: true }, true, 0],
    [
      "a second destination",
      { destinations: [destination, { ...destination, appGUID: guid(9), app: "blue" }] },
      true,
      1,
    ],
    ["a route to nothing", { destinations: [] }, false, 0],
    ["a wildcard", { hostname: "*.apps.example" }, false, 1],
  ])("%s: refused %o", (_what, change, ...[isRefused, ingresses]) => {
    expect(findLimitation(binding(change)) !== undefined).toBe(isRefused);
    expect(planIngress(binding(change), {})).toHaveLength(ingresses);
    expect(planServices(binding(change))).toHaveLength(ingresses);
  });
});
