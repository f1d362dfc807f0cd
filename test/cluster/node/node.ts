// A complete Kubernetes on this machine for tests: control plane, kubelets, containerd, pod networks, DNS and a registry, in namespaces of its own.
// Needs, differences from a production cluster, and measurements: docs/test-node.md.
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { createClient } from "../../../kube/client/create-client.ts";
import { issueCertificate, type KeyPair, type Subject } from "../../../kube/server/pki.ts";
import { eventually } from "../../eventually.ts";
import {
  adminToken,
  controlPlaneCommand,
  controlPlaneUrl,
  writeControlPlaneFiles,
  type ControlPlanePlan,
  type TokenUser,
} from "../control-plane-commands.ts";
import { untilReady as untilServerReady } from "../control-plane.ts";
import { REGISTRY_USER } from "../registry.ts";
import { createAddons, untilReady } from "./addons.ts";
import { writeBaseImage } from "./base-image.ts";
import { Member, type ClusterPlace, type NodeName } from "./member.ts";
import { cleanUpCommand, runProgram, type NodeProcess } from "./namespaces.ts";
import { connectNodes, type NodeAddress } from "./network.ts";
import {
  apiserverFlags,
  CONTROLLER_MANAGER_FLAGS,
  policyAgentCommand,
  registryCommand,
  schedulerCommand,
  writeClusterFiles,
  writeNodeFiles,
  type NodePart,
} from "./parts.ts";
import { provideNodePrograms, type NodePrograms } from "./requirements.ts";
import { CONTAINERD_SOCKET, type NodeSettings } from "./settings.ts";

export interface NodeOptions {
  /** "node1" has the control plane and the registry, and runs pods as "node2" does. One unless said. */
  nodes?: 1 | 2;
  /** Whether NetworkPolicies are enforced, by an agent of the tests on nftables. Not unless said. */
  networkPolicy?: boolean;
  /** Whether Traefik serves Ingresses and HTTPRoutes; see traefik.ts for the names of its classes. Its own flags instead of `true` are added. */
  traefik?: boolean | readonly string[];
  /** Whether metrics-server serves the usage of pods and nodes (`metrics.k8s.io`). Not unless said. */
  metricsServer?: boolean;
  /** Known to the API server besides `admin`. */
  users?: TokenUser[];
  /** More flags for kube-apiserver. */
  apiserverFlags?: string[];
  /** More flags for kube-controller-manager. */
  controllerManagerFlags?: string[];
  /** Told about builds, which take minutes; stderr unless said. */
  log?: (line: string) => void;
}

export interface TestNode {
  /** URL of the API server, as this process and pods reach it. */
  url: string;
  /** PEM of the authority that signed the server's certificate, and signs the clients'. */
  ca: string;
  /** Token of the user `admin`, who is in system:masters. */
  adminToken: string;
  /** Path of a kubeconfig of that user. */
  kubeconfig: string;
  /** Path of kubectl. */
  kubectl: string;
  /** Everything it keeps on disk; removed by stop(). Logs are in <name of node>/log/. */
  dir: string;
  /** Addresses at which this process reaches the nodes, NodePorts included. */
  nodes: { name: NodeName; address: string }[];
  /** Address of this process's machine as pods see it. */
  hostAddress: string;
  /** Where Traefik answers, at ports 80 and 443, for this process and for pods. Empty without it. */
  ingressAddress: string;
  /** A registry over plain http that wants these credentials. `host` ("10.77.3.2:5000") is the same for this process, pods and kubelets. */
  registry: { host: string; username: string; password: string };
  /** A client certificate that the API server accepts. */
  issueClient(subject: Subject): Promise<KeyPair>;
  /** Gives all nodes an image without a pull: a tar as scripts/image/oci-image.ts writes it. Pods name it by its reference. */
  loadImage(tar: string): Promise<void>;
  /** SIGKILL. The returned function starts the program again, on the same data; it does not wait until it is ready. */
  kill(part: NodePart, node?: NodeName): Promise<() => void>;
  /** SIGSTOP. The returned function lets the program go on. */
  pause(part: NodePart, node?: NodeName): () => void;
  /** From now on containerd's events of node1, a line for each, go to `containerLog`. */
  recordContainers(): void;
  /** Path of what `ctr events` writes. */
  containerLog: string;
  /** Everything of a node dies at once, for good; after some 20 s the cluster sees that it is gone. node1 would take the control plane along. */
  powerOff(node: NodeName): Promise<void>;
  stop(): Promise<void>;
}

const API_PORT = 6443;
const REGISTRY_PORT = 5000;
const CONTAINER_EVENTS = "container-events";

/** Starts a cluster and waits until its nodes and its DNS are ready. Throws with the end of a program's log when one does not come up. */
export async function startNode(options: NodeOptions = {}): Promise<TestNode> {
  const programs = await provideNodePrograms(options.log);
  const cluster = new NodeCluster(programs, options);
  try {
    await cluster.start();
    return cluster;
  } catch (error) {
    await cluster.stop();
    throw error;
  }
}

class NodeCluster implements TestNode {
  readonly dir = mkdtempSync(join(tmpdir(), "cupola-node-"));
  readonly adminToken = adminToken;
  readonly #place: ClusterPlace;
  readonly #options: NodeOptions;
  #members: Member[] = [];
  #addresses: NodeAddress[] = [];
  #authority: KeyPair = { cert: "", key: "" };

  constructor(programs: NodePrograms, options: NodeOptions) {
    this.#place = { dir: this.dir, cgroups: `${basename(this.dir)}-`, programs };
    this.#options = options;
  }

  get kubectl(): string {
    return this.#place.programs.binaries.kubectl;
  }

  get kubeconfig(): string {
    return join(this.dir, "kubeconfig");
  }

  get url(): string {
    return controlPlaneUrl(this.#plan());
  }

  get ca(): string {
    return this.#authority.cert;
  }

  get hostAddress(): string {
    return this.#addresses[0]!.host;
  }

  get nodes(): { name: NodeName; address: string }[] {
    return this.#members.map(({ name }, index) => ({ name, address: this.#addresses[index]!.node }));
  }

  get ingressAddress(): string {
    return this.#options.traefik ? this.#addresses[0]!.node : "";
  }

  get registry(): TestNode["registry"] {
    return { host: `${this.#addresses[0]!.node}:${REGISTRY_PORT}`, ...REGISTRY_USER };
  }

  async start(): Promise<void> {
    const { packages } = this.#place.programs;
    const image = writeBaseImage(join(this.dir, "image"), packages);
    const names: NodeName[] = this.#options.nodes === 2 ? ["node1", "node2"] : ["node1"];
    for (const name of names) this.#members.push(await Member.start(name, this.#place));
    this.#addresses = await connectNodes(this.#members.map(({ namespaces }) => namespaces));
    const settings = await this.#writeFiles();
    this.#startControlPlane();
    this.#members.forEach((member, index) => member.runWorker("containerd", settings[index]!));
    await Promise.all([this.#loadOnContainerd(await image), this.#untilApi()]);
    this.#startControllers();
    this.#members.forEach((member, index) => this.#startWorkers(member, settings[index]!));
    await this.#untilComplete();
  }

  async issueClient(subject: Subject): Promise<KeyPair> {
    return await issueCertificate(this.#authority, subject);
  }

  async loadImage(tar: string): Promise<void> {
    const importing = this.#members.map(({ namespaces }) =>
      namespaces.run(["ctr", "--namespace", "k8s.io", "images", "import", tar]),
    );
    await Promise.all(importing);
  }

  async kill(part: NodePart, node: NodeName = "node1"): Promise<() => void> {
    const member = this.#find(node);
    const { process, command } = member.find(part);
    process.signal("SIGKILL");
    await process.exited;
    return () => member.run(part, command);
  }

  pause(part: NodePart, node: NodeName = "node1"): () => void {
    const { process } = this.#find(node).find(part);
    process.signal("SIGSTOP");
    return () => process.signal("SIGCONT");
  }

  recordContainers(): void {
    this.#find("node1").namespaces.start(CONTAINER_EVENTS, ["ctr", "--namespace", "k8s.io", "events"]);
  }

  get containerLog(): string {
    return join(this.dir, "node1", "log", `${CONTAINER_EVENTS}.log`);
  }

  async powerOff(node: NodeName): Promise<void> {
    await this.#find(node).namespaces.stop();
  }

  async stop(): Promise<void> {
    await Promise.all(this.#members.map(({ namespaces }) => namespaces.stop()));
    await runProgram(cleanUpCommand(this.dir, this.#place.cgroups));
  }

  #plan(): ControlPlanePlan {
    const { apiserverFlags: more = [], controllerManagerFlags = [], users = [] } = this.#options;
    return {
      dir: this.dir,
      address: this.#addresses[0]!.node,
      port: API_PORT,
      binaries: this.#place.programs.binaries,
      options: {
        users,
        apiserverFlags: [...apiserverFlags(this.dir), ...more],
        controllerManagerFlags: [...CONTROLLER_MANAGER_FLAGS, ...controllerManagerFlags],
      },
    };
  }

  /** @returns the settings of each node */
  async #writeFiles(): Promise<NodeSettings[]> {
    const { host } = this.registry;
    this.#authority = await writeControlPlaneFiles(this.#plan());
    const access = { url: this.url, authority: this.#authority };
    await writeClusterFiles(this.dir, access, host);
    const settings = this.#members.map((member, index) => member.settings(this.#addresses[index]!, host));
    for (const each of settings) await writeNodeFiles(each, access);
    return settings;
  }

  #startControlPlane(): void {
    const first = this.#find("node1");
    for (const part of ["etcd", "kube-apiserver"] as const) first.run(part, controlPlaneCommand(part, this.#plan()));
    first.run("registry", registryCommand(this.dir, this.#place.programs.packages));
  }

  #startControllers(): void {
    const first = this.#find("node1");
    const part = "kube-controller-manager";
    first.run(part, controlPlaneCommand(part, this.#plan()));
    first.run("kube-scheduler", schedulerCommand(this.dir, this.#place.programs.binaries));
  }

  #startWorkers(member: Member, settings: NodeSettings): void {
    member.runWorker("kubelet", settings);
    member.runWorker("kube-proxy", settings);
    if (this.#options.networkPolicy) member.run("network-policy", policyAgentCommand(this.kubeconfig));
  }

  #find(node: NodeName): Member {
    const member = this.#members.find(({ name }) => name === node);
    if (!member) throw new Error(`this cluster has no ${node}: start it with nodes: 2`);
    return member;
  }

  #processes(): NodeProcess[] {
    return this.#members.flatMap((member) => member.processes());
  }

  async #untilApi(): Promise<void> {
    await untilServerReady(this.url, this.ca, this.#processes());
  }

  async #loadOnContainerd(tar: string): Promise<void> {
    const sockets = this.#members.map(({ namespaces }) =>
      eventually(() => namespaces.run(["test", "-S", CONTAINERD_SOCKET]), 20_000),
    );
    await Promise.all(sockets);
    await this.loadImage(tar);
  }

  async #untilComplete(): Promise<void> {
    const client = createClient({ server: this.url, ca: this.ca, auth: { kind: "token", token: adminToken } });
    try {
      const { traefik, metricsServer, log } = this.#options;
      const { coredns } = this.#place.programs.binaries;
      const addons = await createAddons(client, { coredns, traefik, metricsServer, address: this.ingressAddress, log });
      const names = this.#members.map(({ name }) => name);
      await untilReady(client, names, addons);
    } catch (cause) {
      const dead = this.#processes().filter((process) => !process.running());
      const logs = dead.map((process) => `\n${process.name} stopped by itself:\n${process.log()}`);
      throw new Error(`the nodes did not become ready.${logs.join("")}`, { cause });
    } finally {
      await client.close();
    }
  }
}
