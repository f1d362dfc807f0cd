// The golden objects of the class, and the words for what a gateway's controller answers.
import { describe, expect, test, vi } from "vitest";
import { NotPermitted } from "../../../kube/cache/errors.ts";
import { KubeError } from "../../../kube/client/errors.ts";
import { aBinding, aDestination, anotherDestination, toYAML } from "../services/testing/fixtures.ts";
import { planServices } from "../services/plan.ts";
import { gatewayCapabilities, gatewayRouter } from "./gateway.ts";
import type { GatewayRoute, ParentRef } from "./gateway-routes.ts";
import { planReferenceGrants } from "./reference-grants.ts";
import { judgeRoute, planHTTPRoute, planTCPRoute, toParentRef, toTCPParentRef } from "./plan.ts";

const parent = toParentRef({ gatewayName: "public", gatewayNamespace: "traefik" }) as ParentRef;

describe("a RouteBinding as an HTTPRoute", () => {
  test("two destinations with weights", async () => {
    const binding = aBinding("gateway", {
      destinations: [
        { ...aDestination, weight: 90 },
        { ...anotherDestination, weight: 10 },
      ],
    });
    await expect(toYAML([...planServices(binding), ...planHTTPRoute(binding, parent)])).toMatchFileSnapshot(
      "route.golden.yaml",
    );
  });

  test("an app of another space: its Service and the grant to use it are beside the app", () => {
    const foreign = { ...anotherDestination, namespace: "acme-other" };
    const binding = aBinding("gateway", { destinations: [aDestination, foreign] });
    const [own, other] = planServices(binding);
    expect([own?.metadata.namespace, other?.metadata.namespace]).toEqual(["acme-dev", "acme-other"]);
    const name = other?.metadata.name;
    const [route] = planHTTPRoute(binding, parent);
    expect(route).toMatchObject({ spec: { rules: [{ backendRefs: [{}, { namespace: "acme-other", name }] }] } });
    expect(route).not.toHaveProperty("spec.rules.0.backendRefs.0.namespace");
    expect(planReferenceGrants(binding)).toMatchObject([
      {
        metadata: { namespace: "acme-other" },
        spec: {
          from: [
            { kind: "HTTPRoute", namespace: "acme-dev" },
            { kind: "TCPRoute", namespace: "acme-dev" },
          ],
          to: [{ kind: "Service", name }],
        },
      },
    ]);
    expect(planReferenceGrants(aBinding("gateway"))).toEqual([]);
    expect(planReferenceGrants(aBinding("ingress", { destinations: [foreign] }))).toEqual([]);
  });

  test("a grant stays while there may be routes that cannot be read", async () => {
    const grants = gatewayRouter().find(({ name }) => name === "gateway-grant") ?? expect.fail("no such controller");
    const remove = vi.fn(() => Promise.resolve());
    const read = { byIndex: () => [], list: vi.fn((): object[] => []) };
    const reconcile = async (): Promise<unknown> =>
      grants.reconcile(
        { apiVersion: "v1beta1", kind: "ReferenceGrant", metadata: { name: "from-a", namespace: "b", uid: "u" } },
        { read, client: { delete: remove } } as never,
      );
    read.list.mockImplementationOnce(() => {
      throw new NotPermitted("RouteBinding", "Forbidden", "a");
    });
    await expect(reconcile()).rejects.toThrow(NotPermitted);
    expect(remove).not.toHaveBeenCalled();
    await reconcile();
    expect(remove).toHaveBeenCalledTimes(1);
  });

  test("without destinations there is none, and requests get a 404", () =>
    expect(planHTTPRoute(aBinding("gateway", { destinations: [] }), parent)).toEqual([]));

  test("equal shares without weights, and all paths without a path", () => {
    const [route] = planHTTPRoute(
      aBinding("gateway", { path: "", destinations: [aDestination, anotherDestination] }),
      parent,
    );
    expect(route).toMatchObject({
      spec: { rules: [{ matches: [{ path: { value: "/" } }], backendRefs: [{ weight: 1 }, { weight: 1 }] }] },
    });
  });

  test("one listener of the Gateway where the parameters name it", () => {
    expect(toParentRef({ gatewayName: "public", gatewayNamespace: "traefik", sectionName: "web" })).toMatchObject({
      kind: "Gateway",
      sectionName: "web",
    });
    expect(toParentRef({ gatewayName: "public" })).toMatchObject({ status: "False", reason: "GatewayNotSet" });
  });
});

describe("a RouteBinding with a port as a TCPRoute", () => {
  const tcpParent = toTCPParentRef({ ...parent, sectionName: "web" }, 2000);
  const binding = aBinding("gateway", { port: 2000, path: "", destinations: [{ ...aDestination, protocol: "tcp" }] });

  test("belongs to the listeners of its port, and leads to the Service", () => {
    expect(tcpParent).toEqual({ ...parent, port: 2000 });
    const [service] = planServices(binding);
    expect(planTCPRoute(binding, tcpParent)).toMatchObject([
      {
        apiVersion: "gateway.networking.k8s.io/v1alpha2",
        kind: "TCPRoute",
        spec: { parentRefs: [tcpParent], rules: [{ backendRefs: [{ name: service?.metadata.name, weight: 1 }] }] },
      },
    ]);
    expect(planTCPRoute(aBinding("gateway", { port: 2000, destinations: [] }), tcpParent)).toEqual([]);
  });

  test("a port without a listener, or of a listener for HTTP, is said with the next step; answers about other ports are not its own", () => {
    const route = (port: number, reason = "NoMatchingParent"): GatewayRoute =>
      ({
        metadata: { name: "r", namespace: "acme-dev", generation: 0, creationTimestamp: "2026-01-01T00:00:00Z" },
        status: {
          parents: [
            {
              parentRef: { ...parent, port },
              controllerName: "c",
              conditions: [{ type: "Accepted", status: "False", reason, message: "" }],
            },
          ],
        },
      }) as unknown as GatewayRoute;
    const now = new Date("2026-01-01T00:00:10Z");
    expect(judgeRoute(route(2000), tcpParent, now).problem?.message).toContain(
      "add a listener of protocol TCP at this port",
    );
    expect(judgeRoute(route(2000, "NotAllowedByListeners"), tcpParent, now).problem?.message).toContain("protocol TCP");
    expect(judgeRoute(route(2001), tcpParent, now)).toEqual({ waitMs: 20_000 });
  });

  test("where the cluster has no TCPRoutes it is not supported, in words; elsewhere its own controller speaks", () => {
    const controller = gatewayRouter().find(({ name }) => name === "gateway-router")!;
    const reconcile = (tcp: string): unknown =>
      controller.reconcile(binding, {
        read: { find: () => ({ spec: {}, status: { capabilities: { tcp } } }) },
      } as never);
    expect(reconcile("false")).toMatchObject({ ready: { reason: "NotSupported" }, children: [] });
    expect(reconcile("true")).toEqual({ keepStatus: true });
  });
});

describe("the answer of the gateway's controller", () => {
  const now = new Date("2026-01-01T00:01:00Z");
  const answered = (
    conditions: object[],
    change: { made?: string; generation?: number; ref?: object } = {},
  ): GatewayRoute =>
    ({
      metadata: {
        name: "r",
        namespace: "acme-dev",
        generation: change.generation ?? 1,
        creationTimestamp: change.made ?? "2026-01-01T00:00:00Z",
      },
      status: { parents: [{ parentRef: { ...parent, ...change.ref }, controllerName: "c", conditions }] },
    }) as unknown as GatewayRoute;
  const condition = (type: string, status: string, reason: string, more: object = {}): object => ({
    type,
    status,
    reason,
    message: "No matching listener.",
    observedGeneration: 1,
    ...more,
  });
  const ok = [condition("Accepted", "True", "Accepted"), condition("ResolvedRefs", "True", "ResolvedRefs")];

  test("accepted: nothing to say", () => expect(judgeRoute(answered(ok), parent, now)).toEqual({}));

  test.each([
    ["Accepted", "NoMatchingListenerHostname", "add a listener"],
    ["Accepted", "NotAllowedByListeners", "allowedRoutes"],
    ["ResolvedRefs", "BackendNotFound", "gateway-router"],
    ["ResolvedRefs", "VendorReason", "(VendorReason): No matching listener"],
  ])("%s=False/%s is a problem with a next step", (type, reason, words) => {
    const conditions = [
      ...ok.filter((one) => (one as { type: string }).type !== type),
      condition(type, "False", reason),
    ];
    expect(judgeRoute(answered(conditions), parent, now)).toMatchObject({
      problem: { status: "False", reason, message: expect.stringContaining(words) as string },
    });
  });

  test("is awaited for half a minute, then its silence is the problem", () => {
    const silent = { ...answered([]), status: { parents: [] } };
    expect(judgeRoute(undefined, parent, now)).toEqual({ waitMs: 30_000 });
    const young = { ...silent, metadata: { ...silent.metadata, creationTimestamp: "2026-01-01T00:00:50Z" } };
    expect(judgeRoute(young, parent, now)).toEqual({ waitMs: 20_000 });
    expect(judgeRoute(silent, parent, now)).toMatchObject({
      problem: { reason: "GatewayDoesNotAnswer", message: expect.stringContaining("traefik/public") as string },
    });
  });

  test("about another Gateway, or about an older generation, is none", () => {
    const refused = condition("Accepted", "False", "NotAllowedByListeners");
    expect(judgeRoute(answered([refused], { ref: { name: "other" } }), parent, now)).toMatchObject({
      problem: { reason: "GatewayDoesNotAnswer" },
    });
    expect(judgeRoute(answered([refused], { generation: 2 }), parent, now)).toEqual({});
  });
});

describe("the class", () => {
  const classController =
    gatewayRouter().find(({ name }) => name === "class-gateway") ?? expect.fail("no such controller");
  const reconcile = (parameters: object, list: () => Promise<object>): unknown =>
    classController.reconcile(
      { metadata: { name: "gateway" }, spec: { role: "router", parameters } } as never,
      { client: { list }, read: { list: () => [] } } as never,
    );

  test("says that the cluster has no Gateway API, and looks again", async () => {
    const missing = (): Promise<never> =>
      Promise.reject(
        new KubeError({ code: 404, reason: "NotFound", message: "the server could not find the requested resource" }),
      );
    await expect(reconcile({}, missing)).resolves.toMatchObject({
      ready: { status: "False", reason: "GatewayAPIMissing" },
      requeueAfterMs: 30_000,
    });
  });

  test("says that no Gateway is set, and otherwise what it can do", async () => {
    const empty = (): Promise<object> => Promise.resolve({ items: [] });
    await expect(reconcile({}, empty)).resolves.toMatchObject({ ready: { reason: "GatewayNotSet" } });
    await expect(reconcile({ gatewayName: "public", gatewayNamespace: "ingress" }, empty)).resolves.toEqual({
      status: { capabilities: { ...gatewayCapabilities, tcp: "true", routeServices: "false" } },
    });
  });

  test("says whether the cluster has TCPRoutes, and looks again where ports are to be served", async () => {
    const withoutTCP = ({ kind }: { kind: string }): Promise<object> =>
      kind === "TCPRoute"
        ? Promise.reject(new KubeError({ code: 404, reason: "NotFound", message: "no such resource" }))
        : Promise.resolve({ items: [] });
    const gateway = { gatewayName: "public", gatewayNamespace: "ingress" };
    const status = { capabilities: { ...gatewayCapabilities, tcp: "false", routeServices: "false" } };
    await expect(reconcile(gateway, withoutTCP as never)).resolves.toEqual({ status });
    await expect(reconcile({ ...gateway, tcpPorts: "2000" }, withoutTCP as never)).resolves.toMatchObject({
      status,
      requeueAfterMs: 30_000,
    });
  });
});
