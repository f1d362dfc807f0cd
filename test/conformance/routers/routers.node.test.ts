// The router classes with Traefik on a real node, and the network of spaces with an agent that enforces it.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { BackendClass } from "../../../crds/backend-class/backend-class.ts";
import { Domain } from "../../../crds/domain/domain.ts";
import { FeatureFlag } from "../../../crds/feature-flag/feature-flag.ts";
import { SYSTEM_NAMESPACE } from "../../../crds/groups.ts";
import { LABELS } from "../../../crds/labels.ts";
import type { LRP } from "../../../crds/lrp/lrp.ts";
import { Route } from "../../../crds/route/route.ts";
import { SecurityGroup } from "../../../crds/security-group/security-group.ts";
import { systemObject } from "../../../crds/settings-object.ts";
import { App } from "../../../crds/app/app.ts";
import { Space } from "../../../crds/space/space.ts";
import { ConfigMap } from "../../../kube/api/builtin.ts";
import type { KubeClient } from "../../../kube/client/client.ts";
import { issueCertificate, makeAuthority } from "../../../kube/server/pki.ts";
import { startNode, type TestNode } from "../../cluster/node/node.ts";
import { whyNoNode } from "../../cluster/node/requirements.ts";
import { kubectlOf, type Kubectl } from "../../cluster/node/test-kubectl.ts";
import { eventually } from "../../eventually.ts";
import { applyApp, currentLRP, makeSpace, setRunning, untilReady, type TestEnv } from "../controllers/test-env.ts";
import { applyObjects } from "../../../platform/install.ts";
import { APP_PORT, idlePod, probeDeployment, stableLabels } from "./probe-pods.ts";
import { startRouterEnv, type RouterEnv } from "./router-env.ts";
import { echoThroughWebSocket, get, startLoad, whoAnswers } from "./requests.ts";

const reason = whyNoNode();
const apply = { fieldManager: "kubectl" };
/** Ingress paths by whole segments, as Kubernetes says; Traefik matches by characters unless told so. */
const TRAEFIK_FLAGS = ["--providers.kubernetesIngress.strictPrefixMatching=true"];
const APPS = ["shop", "cart", "blue", "two"] as const;

describe.skipIf(reason)("routers and networks on a node", () => {
  let node: TestNode;
  let kubectl: Kubectl;
  let testEnv: TestEnv;
  let client: KubeClient;
  let namespace: string;
  let key: RouterEnv["key"];
  let otherNamespace: string;
  const lrps = new Map<string, LRP>();
  const applyAll = (items: object[]): Promise<string> =>
    kubectl(["apply", "-f", "-"], JSON.stringify({ apiVersion: "v1", kind: "List", items }));
  const lrpOf = (name: string): LRP => lrps.get(name) ?? expect.fail(`no LRP of ${name}`);
  const ask = (host: string, path?: string): Promise<string> => whoAnswers(node.ingressAddress, host, path);
  const answers = (host: string, expected: string, path?: string): Promise<void> =>
    eventually(async () => expect(await ask(host, path)).toBe(expected), 60_000);
  const mapRoute = async (
    name: string,
    spec: { host: string; domain?: string; path?: string; sharedSpaces?: string[]; sharedWildcard?: boolean },
    destinations: object[],
  ): Promise<void> => {
    const { domain = "apps.example", path = "", ...rest } = spec;
    await client.apply(
      Route,
      { metadata: key(name), spec: { ...rest, path, domainRef: { name: domain }, destinations } },
      { ...apply, force: true },
    );
    await untilReady(client, Route, key(name));
  };

  beforeAll(async () => {
    node = await startNode({ traefik: TRAEFIK_FLAGS, networkPolicy: true });
    kubectl = kubectlOf(node);
    ({ testEnv, client, namespace, key } = await startRouterEnv(node, APPS, {
      gatewayName: "public",
      gatewayNamespace: "traefik",
    }));
    await applyObjects(client, [
      systemObject(BackendClass, "none", { role: "router" }),
      systemObject(Domain, "any.example", { name: "any.example" }),
      systemObject(Domain, "own.example", { name: "own.example", router: "none" }),
    ]);
    ({ namespace: otherNamespace } = await makeSpace(client, "other", "dev"));
    for (const name of APPS) {
      lrps.set(name, await eventually(() => currentLRP(client, key(name))));
      await setRunning(client, lrpOf(name));
    }
    await applyAll([
      ...APPS.map((name) => probeDeployment({ name, lrp: lrpOf(name), isHTTP2: name === "two" })),
      idlePod("app", namespace, { [LABELS.sourceType]: "APP" }),
      idlePod("build", namespace, { [LABELS.sourceType]: "STG" }),
      idlePod("stranger", otherNamespace, { [LABELS.sourceType]: "APP" }),
    ]);
    const pods = ["pod/app", "pod/build", ...APPS.map((name) => `deployment/${name}`)];
    await Promise.all([
      ...pods.map((one) =>
        kubectl([
          "wait",
          one,
          "-n",
          namespace,
          `--for=condition=${one.startsWith("pod") ? "Ready" : "Available"}`,
          "--timeout=60s",
        ]),
      ),
      kubectl(["wait", "pod/stranger", "-n", otherNamespace, "--for=condition=Ready", "--timeout=60s"]),
    ]);
  }, 1_800_000);
  afterAll(async () => {
    await testEnv?.stop();
    await node?.stop();
  }, 60_000);

  test.each([
    ["ingress", "apps.example"],
    ["gateway", "gw.example"],
  ])("class %s: host, longest path by segments, 404 for an unknown host, WebSocket", async (_name, domain) => {
    const prefix = domain.split(".")[0];
    await mapRoute(`${prefix}-shop`, { host: "shop", domain }, [{ app: "shop" }]);
    await mapRoute(`${prefix}-cart`, { host: "shop", domain, path: "/cart" }, [{ app: "cart" }]);
    await answers(`shop.${domain}`, "shop");
    await answers(`shop.${domain}`, "cart", "/cart");
    await answers(`shop.${domain}`, "cart", "/cart/1?x=y");
    expect(await ask(`shop.${domain}`, "/cartoon")).toBe("shop");
    expect(JSON.parse((await get(node.ingressAddress, `shop.${domain}`, "/cart/1")).body)).toMatchObject({
      path: "/cart/1",
    });
    expect(await ask(`nobody.${domain}`)).toBe("404");
    expect(await echoThroughWebSocket(node.ingressAddress, `shop.${domain}`, "hello")).toBe("hello");
  });

  test("class gateway: weights, a wildcard over several labels, HTTP/2 to the app", async () => {
    await mapRoute("weighted", { host: "weighted", domain: "gw.example" }, [
      { app: "shop", weight: 80 },
      { app: "blue", weight: 20 },
    ]);
    await answers("weighted.gw.example", "blue");
    const names = await Promise.all(Array.from({ length: 100 }, () => ask("weighted.gw.example")));
    const share = names.filter((name) => name === "blue").length;
    expect(names.filter((name) => name !== "blue" && name !== "shop")).toEqual([]);
    expect(share).toBeGreaterThanOrEqual(10);
    expect(share).toBeLessThanOrEqual(30);
    await mapRoute("wild", { host: "*", sharedWildcard: true, domain: "gw.example" }, [{ app: "cart" }]);
    await answers("a.b.gw.example", "cart");
    expect(await ask("shop.gw.example")).toBe("shop");
    await mapRoute("two", { host: "two", domain: "gw.example" }, [{ app: "two", protocol: "http2" }]);
    await answers("two.gw.example", "two");
  });

  test("class gateway: TLS with the domain's certificate, which a listener of the Gateway holds", async () => {
    const authority = await makeAuthority("domains");
    const domain = await issueCertificate(authority, { commonName: "gw.example", dnsNames: ["*.gw.example"] });
    const name = "gw-example";
    await applyAll([
      {
        apiVersion: "v1",
        kind: "Secret",
        type: "kubernetes.io/tls",
        metadata: { name, namespace: "traefik" },
        stringData: { "tls.crt": domain.cert, "tls.key": domain.key },
      },
    ]);
    const listener = {
      name: "gw-example",
      protocol: "HTTPS",
      port: 443,
      hostname: "*.gw.example",
      tls: { certificateRefs: [{ name }] },
      allowedRoutes: { namespaces: { from: "All" } },
    };
    const patch = JSON.stringify([{ op: "add", path: "/spec/listeners/-", value: listener }]);
    await kubectl(["patch", "gateway", "public", "-n", "traefik", "--type=json", `--patch=${patch}`]);
    await eventually(
      async () =>
        expect(await whoAnswers(node.ingressAddress, "shop.gw.example", "/", { ca: authority.cert })).toBe("shop"),
      60_000,
    );
    await expect(whoAnswers(node.ingressAddress, "shop.apps.example", "/", { ca: authority.cert })).rejects.toThrow();
  });

  test("class gateway: a route leads to an app of another space while it is shared with that space", async () => {
    const flag = systemObject(FeatureFlag, "route-sharing", { enabled: true });
    await client.apply(FeatureFlag, flag, { ...apply, force: true });
    const green = { namespace: otherNamespace, name: "green" };
    await applyApp(client, green);
    const lrp = await eventually(() => currentLRP(client, green));
    await setRunning(client, lrp);
    await applyAll([probeDeployment({ name: "green", lrp })]);
    const spec = { host: "shared", domain: "gw.example", sharedSpaces: [otherNamespace] };
    // The admission policy learns of the flag in its own time.
    await eventually(() => mapRoute("shared", spec, [{ app: "green", namespace: otherNamespace }]), 60_000);
    await answers("shared.gw.example", "green");
    await client.patch(Route, key("shared"), { type: "merge", body: { spec: { sharedSpaces: [] } } });
    await eventually(async () => expect(await ask("shared.gw.example")).not.toBe("green"), 60_000);
  });

  test("class ingress: a wildcard for one label, TLS with the controller's certificate", async () => {
    // A domain without other routes: Traefik's Ingresses prefer a wildcard to an exact host, its HTTPRoutes do not.
    await mapRoute("any", { host: "*", sharedWildcard: true, domain: "any.example" }, [{ app: "blue" }]);
    await answers("other.any.example", "blue");
    expect(await ask("a.b.any.example")).toBe("404");
    await eventually(async () =>
      expect(await whoAnswers(node.ingressAddress, "shop.apps.example", "/", "any")).toBe("shop"),
    );
  });

  test("10 changes of other routes and a rolling change of the app fail no request", async () => {
    const load = startLoad(() => ask("shop.apps.example"), "shop");
    for (let at = 0; at < 10; at++) {
      await mapRoute("moving", { host: "moving" }, [{ app: at % 2 === 0 ? "cart" : "blue" }]);
      await answers("moving.apps.example", at % 2 === 0 ? "cart" : "blue");
    }
    await kubectl(["rollout", "restart", "deployment/shop", "-n", namespace]);
    await kubectl(["rollout", "status", "deployment/shop", "-n", namespace, "--timeout=60s"]);
    const { count, failures } = await load.stop();
    expect(failures).toEqual([]);
    expect(count).toBeGreaterThan(50);
  });

  test("class none: an Ingress of one's own on the stable labels serves over restage, rename and scale", async () => {
    const { [LABELS.app]: app, [LABELS.processType]: type } = stableLabels(lrpOf("blue"));
    const backend = { service: { name: "mine", port: { number: 80 } } };
    await applyAll([
      {
        apiVersion: "v1",
        kind: "Service",
        metadata: { name: "mine", namespace },
        spec: {
          selector: { [LABELS.app]: app, [LABELS.processType]: type },
          ports: [{ port: 80, targetPort: APP_PORT }],
        },
      },
      {
        apiVersion: "networking.k8s.io/v1",
        kind: "Ingress",
        metadata: { name: "mine", namespace },
        spec: { rules: [{ host: "mine.own.example", http: { paths: [{ path: "/", pathType: "Prefix", backend }] } }] },
      },
    ]);
    await mapRoute("own", { host: "mine", domain: "own.example" }, [{ app: "blue" }]);
    await answers("mine.own.example", "blue");
    await client.patch(App, key("blue"), { type: "merge", body: { spec: { name: "Navy", restart: "again" } } });
    const restaged = await eventually(async () => {
      const lrp = await currentLRP(client, key("blue"));
      expect(lrp.metadata.name).not.toBe(lrpOf("blue").metadata.name);
      return lrp;
    }, 60_000);
    await applyAll([probeDeployment({ name: "navy", lrp: restaged, replicas: 2, revision: restaged.spec.revision })]);
    await kubectl(["rollout", "status", "deployment/navy", "-n", namespace, "--timeout=60s"]);
    await kubectl(["delete", "deployment/blue", "-n", namespace]);
    await answers("mine.own.example", "navy");
  });

  test.each([
    { reason: "DomainMissing", spec: { host: "lost", domainRef: { name: "none.example" } } },
    { reason: "HostTaken", spec: { host: "taken", domainRef: { name: "apps.example" } } },
  ])("a Route that is not served says $reason in Ready, and answers 404", async ({ reason: expected, spec }) => {
    const domainRef = { name: "apps.example" };
    const theirs = { namespace: otherNamespace, name: "theirs" };
    await client.apply(
      Route,
      { metadata: theirs, spec: { host: "taken", path: "", domainRef, destinations: [] } },
      apply,
    );
    await untilReady(client, Route, theirs);
    const name = key(expected.toLowerCase());
    await client.apply(Route, { metadata: name, spec: { ...spec, path: "", destinations: [{ app: "shop" }] } }, apply);
    await untilReady(client, Route, name, { status: "False", reason: expected });
    await answers(`${spec.host}.${spec.domainRef.name}`, "404");
    await client.delete(Route, name);
  });

  describe("the network of a space", () => {
    /** Whether a shell command ends well in a pod. */
    const run = async (pod: string, command: string): Promise<string> =>
      (
        await kubectl([
          "exec",
          pod,
          "-n",
          pod === "stranger" ? otherNamespace : namespace,
          "--",
          "sh",
          "-c",
          `${command} >/dev/null 2>&1 && echo yes || echo no`,
        ])
      ).trim();
    const reaches = (pod: string, host: string, port: number): Promise<string> =>
      run(pod, `nc -w 2 ${host} ${port} </dev/null`);
    const addressOf = (selector: string[]): Promise<string> =>
      kubectl(["get", "pods", "-n", namespace, ...selector, "-o", "jsonpath={.items[0].status.podIP}"]);
    const verdicts = async (pod: string, shop: string): Promise<Record<string, string>> => ({
      "another app": await reaches(pod, shop, APP_PORT),
      DNS: await run(pod, "nslookup kubernetes.default.svc.cluster.local"),
      "the API server": await reaches(pod, "10.96.0.1", 443),
    });

    test("apps and builds reach routers and DNS; not apps of their own or another space, nor the API server", async () => {
      const shop = await addressOf(["-l", "probe=shop"]);
      const closed = { "another app": "no", DNS: "yes", "the API server": "no" };
      for (const pod of ["app", "stranger", "build"])
        await eventually(async () => expect([pod, await verdicts(pod, shop)]).toEqual([pod, closed]), 60_000);
      // The router is another namespace's pod; its host address is in a private range.
      const traefik = await kubectl(["get", "pods", "-n", "traefik", "-o", "jsonpath={.items[0].status.podIP}"]);
      for (const pod of ["app", "build"])
        await eventually(async () => expect([pod, await reaches(pod, traefik, 80)]).toEqual([pod, "yes"]), 60_000);
      await answers("shop.apps.example", "shop");
    }, 300_000);

    test("the operator opens a space's own network, and an address for builds alone", async () => {
      const shop = await addressOf(["-l", "probe=shop"]);
      const [registryHost = "", registryPort = ""] = node.registry.host.split(":");
      expect(await reaches("build", registryHost, Number(registryPort))).toBe("no");
      const data = { "same-space": "allow", "build-egress-cidrs": `${registryHost}/32` };
      await client.apply(ConfigMap, { metadata: { name: "cupola-network", namespace: SYSTEM_NAMESPACE }, data }, apply);
      await eventually(async () => expect(await reaches("app", shop, APP_PORT)).toBe("yes"), 60_000);
      await eventually(
        async () => expect(await reaches("build", registryHost, Number(registryPort))).toBe("yes"),
        60_000,
      );
      expect([
        await reaches("stranger", shop, APP_PORT),
        await reaches("app", registryHost, Number(registryPort)),
      ]).toEqual(["no", "no"]);
    });

    test("a security group of a space opens an address to its apps that run already, and taking it away closes it", async () => {
      const [host = "", port = ""] = node.registry.host.split(":");
      const reachRegistry = (pod: string): Promise<string> => reaches(pod, host, Number(port));
      const rules = [{ protocol: "tcp" as const, destination: host, ports: port }];
      await applyObjects(client, [systemObject(SecurityGroup, "registry", { name: "registry", rules })]);
      const space = (await client.list(Space)).items.find(({ status }) => status?.namespace === namespace);
      const bind = async (running: string[]): Promise<unknown> =>
        client.patch(Space, space!.metadata, { type: "merge", body: { spec: { securityGroups: { running } } } });
      await bind(["registry"]);
      await eventually(async () => expect(await reachRegistry("app")).toBe("yes"), 60_000);
      expect(await reachRegistry("stranger")).toBe("no");
      await bind([]);
      await eventually(async () => expect(await reachRegistry("app")).toBe("no"), 60_000);
    });
  });
});

if (reason) test.skip(`routers on a node: skipped, ${reason}`, () => undefined);
