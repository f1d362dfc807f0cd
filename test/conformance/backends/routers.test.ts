// The router classes on a real control plane: IngressClasses, HTTPRoutes, the Services that both share, and the network of the space.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { HTTPRoute } from "../../../backends/routers/gateway/gateway-routes.ts";
import { ReferenceGrant } from "../../../backends/routers/gateway/reference-grants.ts";
import { BackendClass } from "../../../crds/backend-class/backend-class.ts";
import { FeatureFlag } from "../../../crds/feature-flag/feature-flag.ts";
import { SYSTEM_NAMESPACE } from "../../../crds/groups.ts";
import { LRP } from "../../../crds/lrp/lrp.ts";
import { Route } from "../../../crds/route/route.ts";
import { ServiceBinding } from "../../../crds/service-binding/service-binding.ts";
import { ServiceInstance } from "../../../crds/service-instance/service-instance.ts";
import { Space } from "../../../crds/space/space.ts";
import { ConfigMap, EndpointSlice, Ingress, IngressClass, NetworkPolicy, Service } from "../../../kube/api/builtin.ts";
import type { KubeClient } from "../../../kube/client/client.ts";
import { createClient } from "../../../kube/client/create-client.ts";
import type { KubeObject } from "../../../kube/api/object.ts";
import type { ResourceRef } from "../../../kube/api/resource-ref.ts";
import { whyNoControlPlane } from "../../cluster/binaries.ts";
import { startControlPlane, type ControlPlane } from "../../cluster/control-plane.ts";
import { applyGatewayAPI } from "../../cluster/gateway-api.ts";
import { eventually } from "../../eventually.ts";
import { applyApp, currentLRP, makeSpace, setRunning, untilReady, type TestEnv } from "../controllers/test-env.ts";
import { startRouterEnv, type RouterEnv } from "../routers/router-env.ts";

const reason = whyNoControlPlane();
const apply = { fieldManager: "kubectl" };
const not = (why: string): { status: string; reason: string } => ({ status: "False", reason: why });

describe.skipIf(reason)("routers on kube-apiserver", () => {
  let plane: ControlPlane;
  let testEnv: TestEnv;
  let client: KubeClient;
  let namespace: string;
  let key: RouterEnv["key"];
  const list = async (ref: ResourceRef): Promise<string[]> =>
    (await client.list(ref, { namespace })).items.map((object) => object.metadata.name);
  const mapRoute = (name: string, domain: string, destinations: object[]): Promise<unknown> =>
    client.apply(
      Route,
      { metadata: key(name), spec: { host: name, domainRef: { name: domain }, destinations } },
      apply,
    );

  beforeAll(async () => {
    plane = await startControlPlane();
    const admin = createClient({ server: plane.url, ca: plane.ca, auth: { kind: "token", token: plane.adminToken } });
    await applyGatewayAPI(admin);
    await admin.close();
    ({ testEnv, client, namespace, key } = await startRouterEnv(plane, ["shop", "blue"]));
  });
  afterAll(async () => {
    await testEnv?.stop();
    await plane?.stop();
  });

  test("a route waits for an IngressClass, says so, and is served when there is one", async () => {
    await mapRoute("one", "apps.example", [{ app: "shop" }]);
    await untilReady(client, Route, key("one"), not("IngressClassMissing"));
    const annotations = { "ingressclass.kubernetes.io/is-default-class": "true" };
    await client.apply(
      IngressClass,
      { metadata: { name: "traefik", annotations }, spec: { controller: "traefik.io/ingress-controller" } },
      apply,
    );
    await untilReady(client, Route, key("one"));
    const { items } = await client.list(Ingress, { namespace });
    expect(items.map(({ spec }) => spec?.ingressClassName)).toEqual(["traefik"]);
  });

  test("a route whose instances have crashed is not Ready, and Ready again when one runs", async () => {
    const lrp = await eventually(() => currentLRP(client, key("shop")));
    const instances = [{ index: 0, state: "Crashed", ready: false }];
    const body = { status: { runningInstances: 0, instances } };
    await client.patch(LRP, lrp.metadata, { type: "merge", body }, { subresource: "status" });
    await untilReady(client, Route, key("one"), not("NoReadyInstance"));
    await setRunning(client, lrp);
    await untilReady(client, Route, key("one"));
  });

  test("a route with a route service leads to the proxy where there is one, and to its app again when it is unbound", async () => {
    const backends = async (): Promise<(string | undefined)[]> =>
      (await client.list(Ingress, { namespace })).items.flatMap(({ spec }) =>
        (spec?.rules ?? []).flatMap(({ http }) => (http?.paths ?? []).map(({ backend }) => backend.service?.name)),
      );
    const guard = { type: "user-provided", routeServiceURL: "https://guard.example.org" };
    await client.apply(ServiceInstance, { metadata: key("guard"), spec: guard }, apply);
    const spec = { type: "route", routeRef: { name: "one" }, instanceRef: { name: "guard" } };
    await client.apply(ServiceBinding, { metadata: key("one-guard"), spec }, apply);
    await untilReady(client, Route, key("one"), not("RouteServicesNotSupported"));
    await eventually(async () => expect(await backends()).toEqual([]));
    const endpoints = (...ready: string[]): object[] =>
      ready.map((address) => ({ addresses: [address], conditions: { ready: true } }));
    const slice = {
      metadata: {
        namespace: SYSTEM_NAMESPACE,
        name: "cupola-route-service-a",
        labels: { "kubernetes.io/service-name": "cupola-route-service" },
      },
      addressType: "IPv4",
      ports: [{ name: "http", port: 8080, protocol: "TCP" }],
    };
    await client.apply(EndpointSlice, { ...slice, endpoints: endpoints("10.0.0.7") }, apply);
    await untilReady(client, Route, key("one"));
    expect(await backends()).toEqual(["cupola-route-service"]);
    const relayed = async (): Promise<string[]> =>
      (await client.list(EndpointSlice, { namespace })).items
        .filter(({ metadata }) => metadata.labels?.["kubernetes.io/service-name"] === "cupola-route-service")
        .flatMap((one) => (one.endpoints ?? []).flatMap(({ addresses }) => addresses));
    await eventually(async () => expect(await relayed()).toEqual(["10.0.0.7"]));
    await client.apply(EndpointSlice, { ...slice, endpoints: endpoints("10.0.0.8", "10.0.0.9") }, apply);
    await eventually(async () => expect(await relayed()).toEqual(["10.0.0.8", "10.0.0.9"]));
    await client.delete(ServiceBinding, key("one-guard"));
    await eventually(async () => expect(await backends()).toEqual([expect.stringMatching(/^s-shop/)]), 60_000);
    await eventually(async () => expect(await list(Service)).not.toContain("cupola-route-service"));
    await eventually(async () => expect(await relayed()).toEqual([]), 60_000);
    await untilReady(client, Route, key("one"));
  }, 180_000);

  test("a class gateway without a Gateway says so, on its routes too", async () => {
    await mapRoute("two", "gw.example", [{ app: "shop" }, { app: "blue" }]);
    await untilReady(client, BackendClass, { name: "gateway" }, not("GatewayNotSet"));
    await untilReady(client, Route, key("two"), not("GatewayNotSet"));
  });

  test("a route is an HTTPRoute of the Gateway; what the gateway's controller refuses is the Route's reason", async () => {
    const parameters = { gatewayName: "public", gatewayNamespace: "ingress" };
    await client.patch(BackendClass, { name: "gateway" }, { type: "merge", body: { spec: { parameters } } });
    const [route] = await eventually(async () => {
      const { items } = await client.list(HTTPRoute, { namespace });
      expect(items).toHaveLength(1);
      return items;
    });
    expect(route?.spec?.parentRefs).toMatchObject([{ namespace: "ingress", name: "public" }]);
    const answer = (status: string, why: string): Promise<unknown> => {
      const condition = {
        status,
        reason: why,
        message: "",
        lastTransitionTime: "2026-01-01T00:00:00Z",
        observedGeneration: 9,
      };
      const conditions = ["Accepted", "ResolvedRefs"].map((type) => ({ type, ...condition }));
      const parents = [{ parentRef: route?.spec?.parentRefs?.[0], controllerName: "example.org/gateway", conditions }];
      return client.patch(
        HTTPRoute,
        key(route?.metadata.name ?? ""),
        { type: "merge", body: { status: { parents } } },
        { subresource: "status" },
      );
    };
    await answer("False", "NotAllowedByListeners");
    await untilReady(client, Route, key("two"), not("NotAllowedByListeners"));
    await answer("True", "Accepted");
    await untilReady(client, Route, key("two"));
  }, 120_000);

  test("both classes share the Service of a process; it goes with its last route", async () => {
    const ofShop = async (): Promise<string[]> => (await list(Service)).filter((name) => name.startsWith("s-shop-"));
    expect(await list(Service)).toHaveLength(2);
    await client.delete(Route, key("one"));
    await eventually(async () => expect(await list(Ingress)).toEqual([]), 60_000);
    await testEnv.idle();
    expect(await ofShop()).toHaveLength(1);
    await client.delete(Route, key("two"));
    await eventually(async () => expect(await list(Service)).toEqual([]), 60_000);
  }, 120_000);

  test("class gateway: a route shared with another space leads to its app by a ReferenceGrant, which goes with the route", async () => {
    const sharing = { metadata: { namespace: SYSTEM_NAMESPACE, name: "route-sharing" } };
    await client.apply(FeatureFlag, { ...sharing, spec: { enabled: true } }, { ...apply, force: true });
    const { namespace: other } = await makeSpace(client, "acme", "other");
    const inOther = { namespace: other, name: "green" };
    await applyApp(client, inOther);
    const foreign = async (ref: ResourceRef): Promise<KubeObject[]> =>
      (await client.list(ref, { namespace: other })).items.filter(({ metadata }) =>
        metadata.labels?.["cupola.dev/managed-by"]?.match(/^(router-service|gateway-grant)$/),
      );
    const destinations = [{ app: "green", namespace: other }];
    const shared = (sharedSpaces: string[]): Promise<unknown> =>
      client.apply(
        Route,
        {
          metadata: key("wide"),
          spec: { host: "wide", domainRef: { name: "gw.example" }, sharedSpaces, destinations },
        },
        { ...apply, force: true },
      );
    // The admission policy learns of the flag in its own time.
    await eventually(() => shared([other]));
    const grant = await eventually(async () => {
      const [found] = await foreign(ReferenceGrant);
      const [service] = await foreign(Service);
      expect(found?.["spec"]).toMatchObject({
        from: [
          { kind: "HTTPRoute", namespace },
          { kind: "TCPRoute", namespace },
        ],
        to: [{ name: service?.metadata.name }],
      });
      return found ?? expect.fail("no grant");
    });
    await client.delete(ReferenceGrant, grant.metadata);
    await eventually(async () => expect(await foreign(ReferenceGrant)).toHaveLength(1));
    await shared([]);
    await eventually(async () => expect([...(await foreign(ReferenceGrant)), ...(await foreign(Service))]).toEqual([]));
  }, 120_000);

  test("a space's NetworkPolicies come back, follow the operator's settings, and survive wrong ones", async () => {
    const settings = (data: object): Promise<unknown> =>
      client.apply(
        ConfigMap,
        { metadata: { name: "cupola-network", namespace: SYSTEM_NAMESPACE }, data },
        { ...apply, force: true },
      );
    expect((await list(NetworkPolicy)).toSorted()).toEqual(["cupola-apps", "cupola-builds"]);
    await client.delete(NetworkPolicy, key("cupola-apps"));
    await eventually(() => client.get(NetworkPolicy, key("cupola-apps")));
    await client.patch(NetworkPolicy, key("cupola-apps"), { type: "merge", body: { spec: { ingress: [{}] } } });
    await eventually(async () =>
      expect((await client.get(NetworkPolicy, key("cupola-apps"))).spec?.ingress?.[0]?.from).toHaveLength(1),
    );
    await settings({ "same-space": "allow" });
    await eventually(async () =>
      expect((await client.get(NetworkPolicy, key("cupola-apps"))).spec?.ingress?.[0]?.from).toHaveLength(2),
    );
    await settings({ "same-space": "maybe" });
    await untilReady(client, Space, { namespace: "acme", name: "dev" }, not("NetworkSettingsInvalid"));
    expect((await client.get(NetworkPolicy, key("cupola-apps"))).spec?.ingress?.[0]?.from).toHaveLength(2);
    await settings({ isolation: "off" });
    await eventually(async () => expect(await list(NetworkPolicy)).toEqual([]));
    await untilReady(client, Space, { namespace: "acme", name: "dev" });
  });
});

if (reason) test.skip(`routers: skipped, ${reason}`, () => undefined);
