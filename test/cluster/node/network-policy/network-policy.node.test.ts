// Two nodes whose pods reach each other, and NetworkPolicies that an agent enforces on both.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { eventually } from "../../../eventually.ts";
import { startNode, type TestNode } from "../node.ts";
import { whyNoNode } from "../requirements.ts";
import { BASE_IMAGE } from "../settings.ts";
import { kubectlOf, type Kubectl } from "../test-kubectl.ts";

const reason = whyNoNode();
const PORT = 8080;
/** By node and namespace; "server" listens. */
const PODS = [
  { name: "server", namespace: "a", node: "node1" },
  { name: "near", namespace: "a", node: "node1" },
  { name: "far", namespace: "a", node: "node2" },
  { name: "stranger", namespace: "b", node: "node2" },
];

describe.skipIf(reason)("NetworkPolicies on two nodes", () => {
  let node: TestNode;
  let kubectl: Kubectl;
  const addresses = new Map<string, string>();

  beforeAll(async () => {
    node = await startNode({ nodes: 2, networkPolicy: true });
    kubectl = kubectlOf(node);
    const namespaces = ["a", "b"].map((name) => ({ apiVersion: "v1", kind: "Namespace", metadata: { name } }));
    await apply([...namespaces, ...PODS.map(podManifest), service()]);
    for (const { name, namespace } of PODS) {
      await kubectl(["wait", `pod/${name}`, "-n", namespace, "--for=condition=Ready", "--timeout=60s"]);
      addresses.set(name, await kubectl(["get", "pod", name, "-n", namespace, "-o", "jsonpath={.status.podIP}"]));
    }
  }, 1_800_000);
  afterAll(async () => await node?.stop());

  const apply = async (items: object[]) =>
    await kubectl(["apply", "-f", "-"], JSON.stringify({ apiVersion: "v1", kind: "List", items }));
  /** Whether the pod gets an answer from the address, by exec in it. */
  const reaches = async (name: string, host = addresses.get("server")!) => {
    const { namespace } = PODS.find((pod) => pod.name === name)!;
    const get = `timeout 2 wget -q -O /dev/null http://${host}:${PORT}/ && echo yes || echo no`;
    return (await kubectl(["exec", name, "-n", namespace, "--", "sh", "-c", get])).trim() === "yes";
  };
  const whoReaches = async () => {
    const names = ["near", "far", "stranger"];
    const answers = await Promise.all(names.map((name) => reaches(name)));
    return names.filter((_, index) => answers[index]);
  };
  /** Puts the one policy of namespace a in place, and waits until exactly these pods reach the server. */
  const expectReachableBy = async (spec: object | undefined, names: string[]) => {
    await kubectl(["delete", "networkpolicy", "--all", "-n", "a"]);
    if (spec) await apply([policy("a", spec)]);
    await eventually(async () => expect(await whoReaches()).toEqual(names), 20_000);
  };

  test("without a policy pods of all nodes and namespaces reach the server, by address, by Service and by node port", async () => {
    await expectReachableBy(undefined, ["near", "far", "stranger"]);
    expect(await reaches("stranger", "web.a.svc.cluster.local")).toBe(true);
    for (const { address } of node.nodes)
      expect((await fetch(`http://${address}:30080/`, { signal: AbortSignal.timeout(5000) })).status).toBe(200);
  });

  test("ingress: nobody, pods by label, namespaces by label, blocks of addresses, ports", async () => {
    const server = { podSelector: { matchLabels: { name: "server" } } };
    await expectReachableBy(server, []);
    await expectReachableBy({ ...server, ingress: [{ from: [{ podSelector: { matchLabels: { name: "far" } } }] }] }, [
      "far",
    ]);
    const b = { namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": "b" } } };
    await expectReachableBy({ ...server, ingress: [{ from: [b] }] }, ["stranger"]);
    await expectReachableBy({ ...server, ingress: [{ from: [{ ipBlock: { cidr: "10.244.1.0/24" } }] }] }, [
      "far",
      "stranger",
    ]);
    await expectReachableBy({ ...server, ingress: [{ ports: [{ port: 9999 }] }] }, []);
    await expectReachableBy({ ...server, ingress: [{ ports: [{ port: "http" }] }] }, ["near", "far", "stranger"]);
  });

  test("egress: a pod that may only ask for names reaches no other pod", async () => {
    const dns = { namespaceSelector: {}, podSelector: { matchLabels: { "k8s-app": "kube-dns" } } };
    const far = { podSelector: { matchLabels: { name: "far" } }, policyTypes: ["Egress"] };
    const lookUp = ["exec", "far", "-n", "a", "--", "nslookup", "web.a.svc.cluster.local"];
    await expectReachableBy({ ...far, egress: [{ to: [dns] }] }, ["near", "stranger"]);
    expect(await kubectl(lookUp)).toContain("Address: 10.96.");
    await expectReachableBy(far, ["near", "stranger"]);
    await expect(kubectl(lookUp)).rejects.toThrow("failed");
  });

  test("a node without power is seen to be gone", async () => {
    await node.powerOff("node2");
    await kubectl(["wait", "node/node2", "--for=condition=Ready=Unknown", "--timeout=50s"]);
    expect(await reaches("near")).toBe(true);
  });
});

if (reason) test.skip(`NetworkPolicies: skipped, ${reason}`, () => undefined);

function podManifest({ name, namespace, node }: (typeof PODS)[number]): object {
  const serve = `mkdir -p /tmp/www; echo hello >/tmp/www/index.html; exec httpd -f -p ${PORT} -h /tmp/www`;
  const container = {
    name: "main",
    image: BASE_IMAGE,
    command: name === "server" ? ["sh", "-c", serve] : ["sleep", "2147483647"],
    ports: name === "server" ? [{ name: "http", containerPort: PORT }] : [],
  };
  const spec = { nodeName: node, terminationGracePeriodSeconds: 0, containers: [container] };
  return { apiVersion: "v1", kind: "Pod", metadata: { name, namespace, labels: { name } }, spec };
}

function service(): object {
  const ports = [{ port: PORT, nodePort: 30080 }];
  const spec = { type: "NodePort", selector: { name: "server" }, ports };
  return { apiVersion: "v1", kind: "Service", metadata: { name: "web", namespace: "a" }, spec };
}

function policy(namespace: string, spec: object): object {
  return { apiVersion: "networking.k8s.io/v1", kind: "NetworkPolicy", metadata: { name: "only", namespace }, spec };
}
