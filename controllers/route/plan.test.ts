// What a RouteBinding holds, and what a missing app does to it.
import { describe, expect, test } from "vitest";
import { aDomain, aDroplet, anApp, aProcess, aRevision, aRoute, place } from "../fixtures.ts";
import type { HostRoute } from "../../crds/route/host.ts";
import type { Route } from "../../crds/route/route.ts";
import { SYSTEM_NAMESPACE } from "../../crds/groups.ts";
import { planDestinations, planDomainLost, planRoute, planShared, type Target } from "./plan.ts";

const destination = { app: "shop", process: "web", port: 0, protocol: "http1" } as const;
const app = { object: anApp(), guid: "app-guid" };
const running = aRevision(1, {
  description: "", dropletRef: { name: "d1" },
  processes: [{ type: "web", memoryMB: 1, diskMB: 1, logRateLimitBytesPerSecond: -1, healthCheck: { type: "port" }, readinessHealthCheck: { type: "process" }, ports: [9090], runner: "r" }],
});
const plan = (targets: Target[], spec: object = {}): ReturnType<typeof planRoute> => planRoute({ route: aRoute(spec), guid: "route-guid", domain: aDomain(), place, class: "router", targets, binding: undefined });

describe("destinations", () => {
  test.each<[string, Target, number]>([
    ["its own", { destination: { ...destination, port: 7000 }, app, revision: running }, 7000],
    ["that of what runs", { destination, app, revision: running, process: aProcess({ ports: [5000] }) }, 9090],
    ["the process's", { destination, app, process: aProcess({ ports: [5000] }), droplet: aDroplet({ ports: [3000] }) }, 5000],
    ["the droplet's", { destination, app, process: aProcess(), droplet: aDroplet({ ports: [3000] }) }, 3000],
    ["8080", { destination, app }, 8080],
  ])("the port is %s", (_what, target, port) => expect(planDestinations([target])[0]?.port).toBe(port));

  test("two that come to one port are one", () => {
    expect(planDestinations([{ destination, app }, { destination: { ...destination, port: 8080 }, app }])).toHaveLength(1);
  });
});

describe("the binding", () => {
  test("is whole", () => {
    const result = plan([{ destination, app }], { path: "/cart" });
    expect(result.children).toEqual([
      {
        apiVersion: "workloads.cupola.dev/v1alpha1",
        kind: "RouteBinding",
        metadata: {
          name: expect.stringMatching(/^shop-apps-[0-9a-f]{10}$/) as string,
          namespace: "acme-dev",
          labels: { "cupola.dev/space-guid": "space-guid", "cupola.dev/org-guid": "org-guid", "cupola.dev/route-guid": "route-guid" },
          annotations: { "cupola.dev/org-name": "Acme Inc.", "cupola.dev/space-name": "dev" },
        },
        spec: {
          class: "router", routeGUID: "route-guid", space: place.space, org: place.org, hostname: "shop.apps.example", path: "/cart", port: 0, internal: false,
          destinations: [{ appGUID: "app-guid", app: "shop", processType: "web", port: 8080, protocol: "http1" }],
        },
      },
    ]);
    expect(result).toMatchObject({ status: { url: "shop.apps.example/cart" } });
    expect(result.ready).toBeUndefined();
  });

  test("an app that is missing is a condition; the others are served", () => {
    const result = plan([{ destination: { ...destination, app: "gone" } }, { destination, app }]);
    expect(result.ready).toMatchObject({ status: "False", reason: "AppMissing", message: "no app of this namespace is named gone" });
    expect((result.children?.[0] as unknown as { spec: { destinations: unknown[] } }).spec.destinations).toHaveLength(1);
  });

  test.each([[{ host: "" }, "apps.example"], [{ host: "*" }, "*.apps.example"], [{ host: "", port: 1234 }, "apps.example:1234"]])("the URL of %o is %s", (spec, url) => expect(plan([], spec).status).toEqual({ url }));
});

test("a domain that lost its name serves nothing, and the condition says so", () => {
  const result = planDomainLost(aDomain());
  expect(result).toMatchObject({ children: [], ready: { status: "False", reason: "DomainNameTaken", message: expect.stringContaining("Domain acme-dev/apps does not hold the name apps.example") as string } });
  expect(result.status).toEqual({ url: undefined });
});

describe("on a shared domain", () => {
  const shared = { ...aDomain(), metadata: { name: "apps", namespace: SYSTEM_NAMESPACE } };
  const at = (second: number, spec: object, space: string, uid = `uid-${second}-${space}`): Route => aRoute(spec, { metadata: { namespace: space, uid, creationTimestamp: `2026-01-01T00:00:0${second}Z` } });
  const neighbour = (second: number, space: string, more: { spec?: object; isLost?: boolean; uid?: string } = {}): HostRoute => ({ route: at(second, more.spec ?? {}, space, more.uid), isLost: more.isLost ?? false });
  const route = at(5, { path: "/login" }, "mine", "uid-m");

  test.each<[string, HostRoute[], string | undefined]>([
    ["is free alone", [], undefined],
    ["is another space's who was first", [neighbour(4, "theirs")], "HostTaken"],
    ["is the space's whose route is the oldest", [neighbour(6, "theirs")], undefined],
    ["is all of the space's, by its oldest route", [neighbour(4, "theirs"), neighbour(3, "mine")], undefined],
    ["is another space's, whatever else the space has", [neighbour(3, "theirs"), neighbour(4, "mine")], "HostTaken"],
    ["is that of the smaller uid within a second", [neighbour(5, "theirs", { uid: "uid-a" })], "HostTaken"],
    ["is not that of the greater uid", [neighbour(5, "theirs", { uid: "uid-z" })], undefined],
    ["is nobody's by a route that is not in force", [neighbour(4, "theirs", { isLost: true })], undefined],
    ["is nobody's by a port", [neighbour(4, "theirs", { spec: { port: 1234 } })], undefined],
  ])("a host %s", (_what, neighbours, reason) => expect(planShared(route, shared, neighbours)?.ready?.reason).toBe(reason));

  test("a route without a host is refused, but not by port", () => {
    expect(planShared(at(5, { host: "" }, "mine"), shared, [])).toMatchObject({ children: [], status: { url: undefined }, ready: { status: "False", reason: "HostMissing" } });
    expect(planShared(at(5, { host: "", port: 1234 }, "mine"), shared, [])).toBeUndefined();
  });

  test("a private one has neither rule", () => {
    expect(planShared(at(5, { host: "" }, "mine"), aDomain(), [])).toBeUndefined();
    expect(planShared(route, aDomain(), [neighbour(4, "theirs")])).toBeUndefined();
  });
});
