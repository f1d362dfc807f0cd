// The platform on a real node, installed as an operator would: image and chart, nothing of it outside the cluster.
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { Secret } from "../../../kube/api/builtin.ts";
import type { KubeObject } from "../../../kube/api/object.ts";
import type { KubeClient } from "../../../kube/client/client.ts";
import { createClient } from "../../../kube/client/create-client.ts";
import { kubeconfigText } from "../../../kube/client/kubeconfig-text.ts";
import { issueCertificate, type KeyPair, makeAuthority } from "../../../kube/server/pki.ts";
import { SYSTEM_NAMESPACE } from "../../../crds/groups.ts";
import { Org } from "../../../crds/org/org.ts";
import { systemObject } from "../../../crds/settings-object.ts";
import { DEVELOPER, LOCAL_DOMAIN, LOCAL_ORG } from "../../../local/seed.ts";
import { provideBinary } from "../../cluster/binaries.ts";
import { writeBuilderImage, writeRunImage } from "../../cluster/images/buildpack-images.ts";
import { startNode, type TestNode } from "../../cluster/node/node.ts";
import { INTERNAL_DNS } from "../../cluster/node/settings.ts";
import { TCP_PORTS } from "../../cluster/node/traefik.ts";
import { startNodeFront, type NodeFront } from "./node-front.ts";
import { CHART, createOperator, type Operator } from "./operator.ts";
import { checkOut, keepKnownValues } from "./other-commit.ts";
import { seedPlatform } from "./seed-platform.ts";
import type { TestPlatformBase } from "./test-platform.ts";

const PULL_SECRET = "image-registry";
const AUTHORITY_SECRET = "route-service-authority";
const CUPOLA_IMAGE = "system/cupola";
const TAG = "e2e";
const BUILDER_IMAGE = `builders/test:${TAG}`;
const RUN_IMAGE = `builders/test-run:${TAG}`;
const API_NODE_PORT = 30443;
const SSH_NODE_PORT = 30222;

/** Values of the chart; those that a journey changes have types. */
interface InstalledValues extends Record<string, unknown> {
  image: { repository: string; tag: string; pullSecrets: { name: string }[] };
}

/** An installed platform, and what a journey does to the cluster below it. */
export interface NodePlatform {
  base: TestPlatformBase;
  node: TestNode;
  operator: Operator;
  /** The values of the installation. */
  values: InstalledValues;
}

export interface NodePlatformOptions {
  /** An unless said. */
  nodes?: 1 | 2;
  /** Replicas of each part of the platform, by default 1: ten processes that start at once keep two cores busy for minutes. */
  replicas?: number;
  /** The chart's `resources`, by part; its own unless said. */
  resources?: Record<string, object>;
  /** Replicas of the API and of the controllers, where they differ from those of other parts: all parts three times do not fit on two cores. Smaller requests would, and starve: replicas that get no processor lose their Leases. */
  coreReplicas?: number;
  /** Begins with image and chart of this commit, where git has it. Those of the checkout unless said. */
  from?: string;
  /** Whether metrics-server measures pods. Not unless said. */
  metricsServer?: boolean;
  /** Whether NetworkPolicies are enforced. Not unless said. */
  networkPolicy?: boolean;
  /** Whether names of internal domains are served. Not unless said. */
  internalDNS?: boolean;
  /** Whether the builder image builds Python, Java and Go, too: some 600 MB more. */
  languages?: boolean;
}

/** Where the builder's images are written, and what is in them. */
interface BuilderPlace {
  home: string;
  languages: boolean;
}

/** @throws Error with the output of helm or kubectl when the platform does not become ready */
export async function startNodePlatform({
  nodes = 1,
  replicas = 1,
  coreReplicas,
  from,
  languages = false,
  internalDNS = false,
  resources = {},
  ...parts
}: NodePlatformOptions = {}): Promise<NodePlatform> {
  const helm = await provideBinary("helm");
  const users = [{ token: "developer-token", user: DEVELOPER }];
  const node = await startNode({ nodes, traefik: true, users, ...parts });
  const front = await startNodeFront();
  const operator = createOperator({
    helm,
    kubectl: node.kubectl,
    kubeconfig: node.kubeconfig,
    registry: node.registry,
  });
  const admin = createClient({ server: node.url, ca: node.ca, auth: { kind: "token", token: node.adminToken } });
  const home = mkdtempSync(join(tmpdir(), "cupola-e2e-"));
  const stop = async (): Promise<void> => {
    await front.close();
    await admin.close();
    operator.close();
    await node.stop();
    rmSync(home, { recursive: true, force: true, maxRetries: 5 });
  };
  try {
    const values = {
      ...toValues(node, front.port, { internalDNS, isEnforced: parts.networkPolicy }),
      ...{ replicas, resources },
    };
    const checkout = from === undefined ? undefined : await checkOut(home, from);
    await operator.pushCupola(`${CUPOLA_IMAGE}:${TAG}`, checkout);
    await prepare(operator, node, { home, languages });
    const routeServiceTLS = await trustRouteServices(operator, node);
    if (checkout === undefined) await operator.install(values);
    else await operator.install(keepKnownValues(checkout, CHART, values), join(checkout, CHART));
    await scaleCore(operator, coreReplicas);
    await aim(front, node, admin);
    await seedPlatform(admin, [systemObject(Org, LOCAL_ORG, {})]);
    return { base: toBase({ node, front, operator, home, routeServiceTLS, stop }), node, operator, values };
  } catch (error) {
    await stop();
    throw error;
  }
}

const CORE = ["api", "controllers"] as const;

async function scaleCore(operator: Operator, replicas: number | undefined): Promise<void> {
  if (replicas === undefined) return;
  const deployments = CORE.map((name) => `deployment/cupola-${name}`);
  await operator.kubectl("scale", ...deployments, `--replicas=${replicas}`, "-n", SYSTEM_NAMESPACE);
  for (const each of deployments)
    await operator.kubectl("rollout", "status", each, "--timeout=8m", "-n", SYSTEM_NAMESPACE);
}

/** Images of the builder in the registry, and the Secret with which kubelets pull Cupola's own. */
async function prepare(operator: Operator, { registry }: TestNode, place: BuilderPlace): Promise<void> {
  await pushBuilder(operator, registry.host, place);
  await operator.kubectl("create", "namespace", SYSTEM_NAMESPACE);
  await operator.kubectl(
    ...["create", "secret", "docker-registry", PULL_SECRET, "--namespace", SYSTEM_NAMESPACE],
    `--docker-server=${registry.host}`,
    `--docker-username=${registry.username}`,
    `--docker-password=${registry.password}`,
  );
}

/** An authority that the proxy of route services trusts, and a certificate of it for this machine. */
async function trustRouteServices(operator: Operator, { hostAddress }: TestNode): Promise<KeyPair> {
  const authority = await makeAuthority("route services");
  await operator.kubectl(
    ...["create", "secret", "generic", AUTHORITY_SECRET, "--namespace", SYSTEM_NAMESPACE],
    `--from-literal=ca.crt=${authority.cert}`,
  );
  return issueCertificate(authority, { commonName: "route service", ipAddresses: [hostAddress] });
}

/** A builder image as an operator chooses one: the real lifecycle, and our buildpacks. */
async function pushBuilder(operator: Operator, host: string, { home, languages }: BuilderPlace): Promise<void> {
  const programs = { lifecycle: await provideBinary("lifecycle"), launcher: await provideBinary("launcher") };
  const [run, builder] = [join(home, "run-image"), join(home, "builder-image")];
  const runImage = `${host}/${RUN_IMAGE}`;
  await writeRunImage(run, { reference: runImage, languages });
  await operator.pushImage(run, RUN_IMAGE);
  await writeBuilderImage(builder, { reference: `${host}/${BUILDER_IMAGE}`, languages, runImage, programs });
  await operator.pushImage(builder, BUILDER_IMAGE);
  for (const folder of [run, builder]) rmSync(folder, { recursive: true });
}

/** `isEnforced`: NetworkPolicies are. Then builds need a way to the registry beside the cluster. */
interface NodeValues {
  internalDNS: boolean;
  isEnforced?: boolean | undefined;
}

function toValues({ registry, nodes, hostAddress }: TestNode, port: number, values: NodeValues): InstalledValues {
  const { host, username, password } = registry;
  return {
    image: { repository: `${host}/${CUPOLA_IMAGE}`, tag: TAG, pullSecrets: [{ name: PULL_SECRET }] },
    api: {
      publicUrl: `http://localhost:${port}`,
      service: { type: "NodePort", nodePort: API_NODE_PORT },
      tokenLogin: { hosts: ["127.0.0.1"] },
    },
    ssh: {
      enabled: true,
      address: `${nodes[0]!.address}:${SSH_NODE_PORT}`,
      service: { type: "NodePort", nodePort: SSH_NODE_PORT },
    },
    routeServices: { enabled: true, caSecretName: AUTHORITY_SECRET },
    apps: { domain: LOCAL_DOMAIN },
    // As a laptop's, so that what journeys say of it is true here, too.
    stacks: [
      { name: "host", description: "This machine, as it is" },
      { name: "cflinuxfs4", description: "Named by manifests of other platforms", substitute: "host" },
    ],
    admins: { users: ["admin"] },
    // Brokers of spaces and log drains of users beside the tests.
    spaceNetwork: {
      "broker-egress-cidrs": `${hostAddress}/32`,
      ...(values.isEnforced && {
        "same-space": "allow",
        "build-egress-cidrs": `${host.replace(/:\d+$/, "")}/32`,
      }),
    },
    routers: {
      "internal-dns": { enabled: values.internalDNS, clusterIP: values.internalDNS ? INTERNAL_DNS : "" },
      gateway: {
        enabled: true,
        name: "public",
        namespace: "traefik",
        tcpPorts: `${TCP_PORTS.first}-${TCP_PORTS.last}`,
        tcpGroup: "default-tcp",
      },
    },
    builders: { cnb: { builderImage: `${host}/${BUILDER_IMAGE}` } },
    registry: { prefix: `${host}/apps`, username, password, insecure: true, pull: { username, password } },
  };
}

async function aim(front: NodeFront, node: TestNode, admin: KubeClient): Promise<void> {
  const secret = await admin.get(Secret, { namespace: SYSTEM_NAMESPACE, name: "cupola-api-tls" });
  const ca = Buffer.from(String((secret as KubeObject & { data: Record<string, string> }).data["tls.crt"]), "base64");
  const host = node.nodes[0]!.address;
  front.setTargets({
    api: { host, port: API_NODE_PORT, ca: ca.toString() },
    ingress: { host: node.ingressAddress, port: 80 },
  });
}
interface Parts {
  node: TestNode;
  front: NodeFront;
  operator: Operator;
  home: string;
  routeServiceTLS: KeyPair;
  stop: () => Promise<void>;
}

function toBase({ node, front, operator, home, routeServiceTLS, stop }: Parts): TestPlatformBase {
  const kubeconfig = join(home, "kubeconfig");
  const users = [
    { name: "admin", token: node.adminToken },
    { name: DEVELOPER, token: "developer-token" },
  ];
  writeFileSync(kubeconfig, kubeconfigText({ server: node.url, ca: node.ca, users }));
  return {
    on: "node",
    home,
    url: `http://localhost:${front.port}`,
    port: front.port,
    rawPort: front.port,
    hostAddress: node.hostAddress,
    routeServiceTLS,
    tcpHost: node.ingressAddress,
    kubeconfig,
    pids: () => listPlatformPids(node),
    async kill(which) {
      const pids = listPlatformPids(node);
      const victim = pids[Math.floor(which * pids.length)];
      if (victim !== undefined) process.kill(victim, "SIGKILL");
    },
    start: async () =>
      void (await operator.kubectl(
        ...["wait", "deployments", "--all", "--for=condition=Available", "--timeout=120s", "-n", SYSTEM_NAMESPACE],
      )),
    stop,
  };
}

/** The processes of Cupola's pods on this cluster, as this machine sees them. */
function listPlatformPids({ dir }: TestNode): number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => readProc(pid, "cmdline").includes("platform/cupola.ts\0--operation="))
    .filter((pid) => readProc(pid, "cgroup").includes(`/${basename(dir)}-`))
    .map(Number);
}

function readProc(pid: string, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, "utf8");
  } catch {
    return "";
  }
}
