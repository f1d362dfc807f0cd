// Traefik on a node serves an Ingress and an HTTPRoute, to this process and to pods.
import { request } from "undici";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { eventually } from "../../eventually.ts";
import { startNode, type TestNode } from "./node.ts";
import { whyNoNode } from "./requirements.ts";
import { BASE_IMAGE } from "./settings.ts";
import { kubectlOf, type Kubectl } from "./test-kubectl.ts";

const reason = whyNoNode();
const labels = { app: "hello" };
const serve = "mkdir -p /tmp/www; echo hello >/tmp/www/index.html; exec httpd -f -p 8080 -h /tmp/www";
const MANIFESTS = [
  {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "hello", labels },
    spec: { containers: [{ name: "hello", image: BASE_IMAGE, command: ["sh", "-c", serve] }] },
  },
  {
    apiVersion: "v1",
    kind: "Service",
    metadata: { name: "hello" },
    spec: { selector: labels, ports: [{ port: 8080 }] },
  },
  {
    apiVersion: "networking.k8s.io/v1",
    kind: "Ingress",
    metadata: { name: "hello" },
    spec: {
      rules: [
        {
          host: "ingress.example.org",
          http: {
            paths: [{ path: "/", pathType: "Prefix", backend: { service: { name: "hello", port: { number: 8080 } } } }],
          },
        },
      ],
    },
  },
  {
    apiVersion: "gateway.networking.k8s.io/v1",
    kind: "HTTPRoute",
    metadata: { name: "hello" },
    spec: {
      parentRefs: [{ name: "public", namespace: "traefik" }],
      hostnames: ["gateway.example.org"],
      rules: [{ backendRefs: [{ name: "hello", port: 8080 }] }],
    },
  },
];

describe.skipIf(reason)("Traefik on a node", () => {
  let node: TestNode;
  let kubectl: Kubectl;
  beforeAll(async () => {
    node = await startNode({ traefik: true });
    kubectl = kubectlOf(node);
    await kubectl(["wait", "--for=create", "serviceaccount/default", "--timeout=20s"]);
    await kubectl(["apply", "-f", "-"], JSON.stringify({ apiVersion: "v1", kind: "List", items: MANIFESTS }));
  }, 1_800_000);
  afterAll(async () => await node?.stop());

  const get = async (host: string, scheme = "http") => {
    const { statusCode, body } = await request(`${scheme}://${node.ingressAddress}/`, {
      headers: { host },
      signal: AbortSignal.timeout(5000),
    });
    return { statusCode, text: await body.text() };
  };

  test.each(["ingress.example.org", "gateway.example.org"])("%s answers, and an unknown host is 404", async (host) => {
    await eventually(async () => expect(await get(host)).toEqual({ statusCode: 200, text: "hello\n" }));
    expect(await get(`no-${host}`)).toMatchObject({ statusCode: 404 });
  });

  test("Ingress and Gateway carry the address, which pods reach, too", async () => {
    const address = async (...of: string[]) => await kubectl(["get", ...of]);
    await eventually(async () => {
      const ingress = await address("ingress", "hello", "-o", "jsonpath={.status.loadBalancer.ingress[0].ip}");
      expect(ingress).toBe(node.ingressAddress);
      const gateway = await address(
        "gateway",
        "public",
        "-n",
        "traefik",
        "-o",
        "jsonpath={.status.addresses[0].value}",
      );
      expect(gateway).toBe(node.ingressAddress);
    });
    const ask = `timeout 5 wget -q -O - --header 'Host: ingress.example.org' http://${node.ingressAddress}:80/`;
    expect(await kubectl(["exec", "hello", "--", "sh", "-c", ask])).toBe("hello\n");
  });
});

if (reason) test.skip(`Traefik: skipped, ${reason}`, () => undefined);
