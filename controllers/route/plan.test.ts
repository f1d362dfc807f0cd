// The content of a RouteBinding, also with a missing app.
import { describe, expect, test } from "vitest";
import { aDomain, aDroplet, anApp, aProcess, aRevision, aRoute, makeObject } from "../../crds/testing/objects.ts";
import { tenancy } from "../shared/testing/fixtures.ts";
import { BackendClass } from "../../crds/backend-class/backend-class.ts";
import type { Claim } from "../../crds/claim/claim.ts";
import { newClaim, routeName } from "../../crds/claim/rules.ts";
import type { Domain } from "../../crds/domain/domain.ts";
import { SYSTEM_NAMESPACE } from "../../crds/groups.ts";
import { ServiceBinding } from "../../crds/service-binding/service-binding.ts";
import { RouteBinding } from "../../crds/route-binding/route-binding.ts";
import {
  planAddressConflict,
  planDestinations,
  planDomainOutOfForce,
  planRoute,
  planSharedReaders,
  type Target,
} from "./plan.ts";

const destination = { app: "shop", namespace: "", process: "web", port: 0, protocol: "http1" } as const;
const app = { object: anApp(), guid: "app-guid" };
const running = aRevision(1, {
  description: "",
  dropletRef: { name: "d1" },
  processes: [
    {
      type: "web",
      memoryMB: 1,
      diskMB: 1,
      logRateLimitBytesPerSecond: -1,
      healthCheck: { type: "port" },
      readinessHealthCheck: { type: "process" },
      ports: [9090],
      runner: "r",
    },
  ],
});
const router = makeObject(BackendClass, "router", { spec: { role: "router" } });
const plan = (targets: Target[], spec: object = {}, binding?: RouteBinding): ReturnType<typeof planRoute> =>
  planRoute({
    route: aRoute(spec),
    guid: "route-guid",
    domain: aDomain(),
    tenancy,
    router,
    targets,
    binding,
    bindings: [],
  });

describe("a route service", () => {
  const bound = (name: string, created: string, status: object = {}) =>
    makeObject(ServiceBinding, name, {
      metadata: { creationTimestamp: created },
      spec: { type: "route", routeRef: { name: "r" }, instanceRef: { name: "logger" } },
      status,
    });
  const able = { ...router, status: { capabilities: { routeServices: "true" } } } as unknown as BackendClass;
  const input = { route: aRoute(), guid: "g", domain: aDomain(), tenancy, targets: [], binding: undefined };
  const url = "https://logger.example.org";
  const service = (result: ReturnType<typeof planRoute>): unknown => result.children?.map(({ spec }) => spec)[0];

  test("is that of the oldest binding", () => {
    const bindings = [
      bound("b", "2026-01-02T00:00:00Z", { routeServiceURL: "https://other.example.org" }),
      bound("a", "2026-01-01T00:00:00Z", { routeServiceURL: url }),
    ];
    expect(service(planRoute({ ...input, router: able, bindings }))).toMatchObject({ routeService: { url } });
  });

  test("that has no address yet changes nothing", () => {
    const bindings = [bound("a", "2026-01-01T00:00:00Z")];
    expect(service(planRoute({ ...input, router, bindings }))).not.toHaveProperty("routeService");
  });

  test("is never passed by: a router without route services does not serve the route", () => {
    const bindings = [bound("a", "2026-01-01T00:00:00Z", { routeServiceURL: url })];
    expect(planRoute({ ...input, router, bindings })).toMatchObject({
      children: [],
      ready: { status: "False", reason: "RouteServicesNotSupported" },
    });
  });
});

describe("destinations", () => {
  test.each<[string, Target, number]>([
    ["its own", { destination: { ...destination, port: 7000 }, app, revision: running }, 7000],
    ["that of what runs", { destination, app, revision: running, process: aProcess({ ports: [5000] }) }, 9090],
    [
      "the process's",
      { destination, app, process: aProcess({ ports: [5000] }), droplet: aDroplet({ ports: [3000] }) },
      5000,
    ],
    ["the droplet's", { destination, app, process: aProcess(), droplet: aDroplet({ ports: [3000] }) }, 3000],
    ["8080", { destination, app }, 8080],
  ])("the port is %s", (_what, target, port) => expect(planDestinations([target])[0]?.port).toBe(port));

  test("two that come to one port are one", () => {
    expect(
      planDestinations([
        { destination, app },
        { destination: { ...destination, port: 8080 }, app },
      ]),
    ).toHaveLength(1);
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
          labels: {
            "cupola.dev/space-guid": "space-guid",
            "cupola.dev/org-guid": "org-guid",
            "cupola.dev/route-guid": "route-guid",
          },
          annotations: { "cupola.dev/org-name": "Acme Inc.", "cupola.dev/space-name": "dev" },
        },
        spec: {
          class: "router",
          routeGUID: "route-guid",
          space: tenancy.space,
          org: tenancy.org,
          hostname: "shop.apps.example",
          path: "/cart",
          port: 0,
          internal: false,
          destinations: [{ appGUID: "app-guid", app: "shop", processType: "web", port: 8080, protocol: "http1" }],
        },
      },
    ]);
    expect(result).toMatchObject({ status: { url: "shop.apps.example/cart" } });
    expect(result.ready).toBeUndefined();
  });

  test("an app of another space is served while the route is shared with it; its members may read the route", () => {
    const foreign = { destination: { ...destination, namespace: "acme-test" }, app };
    const shared = plan([foreign], { sharedSpaces: ["acme-test"] });
    expect(shared.ready).toBeUndefined();
    expect(shared.children?.[0]).toMatchObject({ spec: { destinations: [{ app: "shop", namespace: "acme-test" }] } });
    expect(plan([{ destination: foreign.destination }]).ready).toMatchObject({
      reason: "NotShared",
      message: "its destination shop is in acme-test, which spec.sharedSpaces does not name",
    });
    expect(plan([{ destination: foreign.destination }], { sharedSpaces: ["acme-test"] }).ready).toMatchObject({
      reason: "AppMissing",
      message: "no app of this namespace is named acme-test/shop",
    });
    const ann = { kind: "User", apiGroup: "rbac.authorization.k8s.io", name: "ann" };
    expect(planSharedReaders(aRoute(), []).length).toBe(0);
    const member = {
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "RoleBinding",
      metadata: { name: "dev", namespace: "acme-test" },
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "cupola-space-developer" },
      subjects: [ann],
    };
    expect(planSharedReaders(aRoute(), [member])).toMatchObject([
      { kind: "Role", metadata: { namespace: "acme-dev" }, rules: [{ resourceNames: ["shop"], verbs: ["get"] }] },
      { kind: "RoleBinding", metadata: { namespace: "acme-dev" }, subjects: [ann] },
    ]);
  });

  test("an app that is missing is a condition; the others are served", () => {
    const result = plan([{ destination: { ...destination, app: "gone" } }, { destination, app }]);
    expect(result.ready).toMatchObject({
      status: "False",
      reason: "AppMissing",
      message: "no app of this namespace is named gone",
    });
    expect((result.children?.[0] as unknown as { spec: { destinations: unknown[] } }).spec.destinations).toHaveLength(
      1,
    );
  });

  test("is not served when its class is not ready, with a reason", () => {
    const condition = { type: "Ready", status: "False", reason: "GatewayAPIMissing", message: "install it" };
    const input = {
      route: aRoute(),
      guid: "g",
      domain: aDomain(),
      tenancy,
      targets: [],
      binding: undefined,
      bindings: [],
    };
    const broken = { ...router, status: { conditions: [condition] } } as unknown as BackendClass;
    expect(planRoute({ ...input, router: broken })).toMatchObject({
      children: [{ kind: "RouteBinding" }],
      ready: { status: "False", reason: "GatewayAPIMissing", message: "install it" },
    });
    expect(planRoute({ ...input, router }).ready).toBeUndefined();
  });

  test.each([
    [{ host: "" }, "apps.example"],
    [{ host: "MyApp", path: "/Cart" }, "MyApp.apps.example/Cart"],
    [{ host: "*" }, "*.apps.example"],
    [{ host: "", port: 1234 }, "apps.example:1234"],
  ])("the URL of %o is %s", (spec, url) => expect(plan([], spec).status).toEqual({ url }));

  test("has the hostname in lower case, whatever case the Route shows", () =>
    expect(plan([], { host: "MyApp" }).children).toMatchObject([{ spec: { hostname: "myapp.apps.example" } }]));

  test("stays where it is for a host with capitals", () => {
    const binding = makeObject(RouteBinding, "b", {
      spec: {
        class: "router",
        routeGUID: "route-guid",
        space: tenancy.space,
        org: tenancy.org,
        hostname: "myapp.apps.example",
      },
    });
    expect(plan([], { host: "MyApp" }, binding).ready).toBeUndefined();
  });
});

test("a domain that lost its name serves nothing, with a condition", () => {
  const result = planDomainOutOfForce(aDomain(), "taken");
  expect(result).toMatchObject({
    children: [],
    ready: {
      status: "False",
      reason: "DomainNameTaken",
      message: expect.stringContaining("Domain acme-dev/apps does not hold the name apps.example") as string,
    },
  });
  expect(result.status).toEqual({ url: undefined });
});

test.each<[string, object, object, string | undefined]>([
  ["of HTTP with a port", {}, { port: 1024 }, "PortNotAllowed"],
  ["of TCP without a port", { protocols: ["tcp"], router: "r" }, { host: "" }, "PortMissing"],
  ["of TCP with a host", { protocols: ["tcp"], router: "r" }, { port: 1024 }, "HostNotAllowed"],
  ["of TCP with another's port", { protocols: ["tcp"], router: "r" }, { host: "", port: 80 }, "PortNotOffered"],
  ["of TCP with a port", { protocols: ["tcp"], router: "r" }, { host: "", port: 1024 }, undefined],
])("a route in a domain %s", (_what, domain, spec, reason) => {
  const group = { ranges: [{ first: 1024, last: 1123 }] };
  const claims = { holder: undefined, namesake: undefined };
  expect(planAddressConflict(aRoute(spec), aDomain(domain), claims, { group })?.ready?.reason).toBe(reason);
});

describe("a host", () => {
  const shared = { ...aDomain(), metadata: { name: "apps", namespace: SYSTEM_NAMESPACE } };
  const route = aRoute({}, { metadata: { namespace: "mine" } });
  const heldFrom = (namespace: string, spec: object = { path: "/login" }, domain = "apps.example"): Claim =>
    newClaim(routeName(aRoute(spec), domain), { kind: "Route", namespace, name: "login" }, new Date(0));
  const asDomain = { host: "", path: "/login" };
  const nobody = { holder: undefined, namesake: undefined };

  test.each<[string, Claim | undefined, string | undefined]>([
    ["nobody's", undefined, undefined],
    ["this space's", heldFrom("mine"), undefined],
    ["another space's", heldFrom("theirs"), "HostTaken"],
    ["another space's domain", heldFrom("theirs", asDomain, "shop.apps.example"), "HostTaken"],
  ])("of a shared domain that is %s", (_what, holder, reason) =>
    expect(planAddressConflict(route, shared, { holder, namesake: undefined })?.ready?.reason).toBe(reason),
  );

  test.each<[string, Claim | undefined, string | undefined]>([
    ["nobody's", undefined, undefined],
    ["another space's", heldFrom("theirs"), undefined],
    ["another space's domain", heldFrom("theirs", asDomain, "shop.apps.example"), "HostTaken"],
    ["this space's domain", heldFrom("mine", asDomain, "shop.apps.example"), undefined],
  ])("of a private domain that is %s", (_what, holder, reason) =>
    expect(planAddressConflict(route, aDomain(), { holder, namesake: undefined })?.ready?.reason).toBe(reason),
  );

  const internal = aDomain({ name: "apps.internal", internal: true });
  const long = aDomain({ name: `${"a".repeat(63)}.`.repeat(4).slice(0, 250) });
  test.each<[string, object, Domain, string | undefined]>([
    ["a wildcard of a shared domain", { host: "*" }, shared, "WildcardNotAllowed"],
    ["one that an admin allows", { host: "*", sharedWildcard: true }, shared, undefined],
    ["one of a private domain", { host: "*" }, aDomain(), undefined],
    ["one of an internal domain", { host: "*" }, internal, "WildcardNotAllowed"],
    ["a path of an internal domain", { path: "/x" }, internal, "PathNotAllowed"],
    ["a hostname that is too long", {}, long, "HostnameTooLong"],
  ])("%s", (_what, spec, domain, reason) =>
    expect(planAddressConflict(aRoute(spec), domain, nobody)?.ready?.reason).toBe(reason),
  );

  test("is not the API's", () => {
    const conflict = (...hosts: string[]) =>
      planAddressConflict(aRoute({ host: "API" }), aDomain({ name: "example.org" }), nobody, { apiHosts: hosts })?.ready
        ?.reason;
    expect(conflict("cf.example.org", "api.example.org")).toBe("HostReserved");
    expect([conflict("cf.example.org"), conflict()]).toEqual([undefined, undefined]);
  });

  test("is no domain's name", () => {
    const namesake = newClaim(
      { scope: "domain", claimed: "shop.apps.example" },
      { kind: "Domain", name: "d" },
      new Date(0),
    );
    expect(planAddressConflict(route, shared, { holder: undefined, namesake })?.ready?.reason).toBe("HostIsDomain");
  });

  test("is needed on a shared domain", () => {
    const root = aRoute({ host: "" });
    expect(planAddressConflict(root, shared, nobody)).toMatchObject({
      children: [],
      status: { url: undefined },
      ready: { status: "False", reason: "HostMissing" },
    });
    expect(planAddressConflict(root, aDomain(), nobody)).toBeUndefined();
  });
});
