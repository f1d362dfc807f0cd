// A complete Kubernetes on this machine for tests: control plane, kubelets, containerd, pod networks, DNS and a registry, in namespaces of its own.
import { mkdirSync, mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { issueCertificate, type KeyPair, type Subject } from "../../../kube/server/pki.ts";
import { eventually } from "../../eventually.ts";
import {
  adminToken,
  controlPlaneCommand,
  controlPlaneUrl,
  writeControlPlaneFiles,
  type ControlPlaneComponent,
  type ControlPlanePlan,
  type TokenUser,
} from "../control-plane-commands.ts";
import { untilReady } from "../control-plane.ts";
import { REGISTRY_USER } from "../registry.ts";
import { writeBaseImage } from "./base-image.ts";
import { makeCgroups } from "./cgroups.ts";
import { clusterDns } from "./cluster-dns.ts";
import { cleanUpCommand, Namespaces, runProgram, type NodeProcess } from "./namespaces.ts";
import { connectNodes, type NodeAddress } from "./network.ts";
import {
  apiserverFlags,
  CONTROLLER_MANAGER_FLAGS,
  registryCommand,
  schedulerCommand,
  workerCommand,
  writeClusterFiles,
  writeNodeFiles,
  type WorkerPart,
} from "./parts.ts";
import { provideNodePrograms, type NodePrograms } from "./requirements.ts";
import { CONTAINERD_SOCKET, type NodeSettings } from "./settings.ts";

export interface NodeOptions {
  /** "node1" has the control plane and the registry, and runs pods as "node2" does. One unless said. */
  nodes?: 1 | 2;
  /** Known to the API server besides `admin`. */
  users?: TokenUser[];
  /** More flags for kube-apiserver. */
  apiserverFlags?: string[];
  /** More flags for kube-controller-manager. */
  controllerManagerFlags?: string[];
  /** Told about builds, which take minutes; stderr unless said. */
  log?: (line: string) => void;
}

export type NodeName = "node1" | "node2";

/** Programs that a test may kill or pause. Those of the control plane and the registry are on node1. */
export type NodePart = ControlPlaneComponent | "kube-scheduler" | "registry" | WorkerPart;

export interface TestNode {
  /** Of the API server, as this process and pods reach it. */
  url: string;
  /** PEM of the authority that signed the server's certificate, and signs the clients'. */
  ca: string;
  /** Of the user `admin`, who is in system:masters. */
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
  stop(): Promise<void>;
}

interface Member {
  settings: NodeSettings;
  namespaces: Namespaces;
  programs: Map<NodePart, { command: readonly string[]; process: NodeProcess }>;
}

const API_PORT = 6443;
const REGISTRY_PORT = 5000;
const READY_TIMEOUT = "--timeout=60s";

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
  readonly #programs: NodePrograms;
  readonly #options: NodeOptions;
  readonly #cgroups = `${basename(this.dir)}-`;
  #members: Member[] = [];
  #addresses: NodeAddress[] = [];
  #authority: KeyPair = { cert: "", key: "" };

  constructor(programs: NodePrograms, options: NodeOptions) {
    this.#programs = programs;
    this.#options = options;
  }

  get kubectl(): string {
    return this.#programs.binaries.kubectl;
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
    return this.#addresses.map(({ node }, index) => ({ name: nodeName(index), address: node }));
  }

  get registry(): TestNode["registry"] {
    return { host: `${this.#addresses[0]!.node}:${REGISTRY_PORT}`, ...REGISTRY_USER };
  }

  async start(): Promise<void> {
    const image = writeBaseImage(join(this.dir, "image"), this.#programs.packages);
    const namespaces = await Promise.all(
      Array.from({ length: this.#options.nodes ?? 1 }, (_, index) => this.#startNamespaces(index)),
    );
    this.#members = namespaces.map((of) => ({ namespaces: of, settings: this.#settings(of), programs: new Map() }));
    this.#addresses = await connectNodes(namespaces);
    this.#members.forEach((member, index) => (member.settings.address = this.#addresses[index]!));
    await this.#writeFiles();
    this.#startControlPlane();
    for (const member of this.#members) this.#startWorker("containerd", member);
    await Promise.all([this.#loadOnContainerd(await image), this.#untilApi()]);
    this.#startControllers();
    for (const member of this.#members) this.#startWorkers(member);
    await this.#applyClusterDns();
    await this.#untilNodesReady();
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
    const { member, program } = this.#find(part, node);
    program.process.signal("SIGKILL");
    await program.process.exited;
    return () => this.#run(part, member, program.command);
  }

  pause(part: NodePart, node: NodeName = "node1"): () => void {
    const { process } = this.#find(part, node).program;
    process.signal("SIGSTOP");
    return () => process.signal("SIGCONT");
  }

  async stop(): Promise<void> {
    await Promise.all(this.#members.map(({ namespaces }) => namespaces.stop()));
    await runProgram(cleanUpCommand(this.dir, this.#cgroups));
  }

  #plan(): ControlPlanePlan {
    const { apiserverFlags: more = [], controllerManagerFlags = [], users = [] } = this.#options;
    return {
      dir: this.dir,
      address: this.#addresses[0]!.node,
      port: API_PORT,
      binaries: this.#programs.binaries,
      options: {
        users,
        apiserverFlags: [...apiserverFlags(this.dir), ...more],
        controllerManagerFlags: [...CONTROLLER_MANAGER_FLAGS, ...controllerManagerFlags],
      },
    };
  }

  async #startNamespaces(index: number): Promise<Namespaces> {
    const { packages } = this.#programs;
    const name = nodeName(index);
    const dir = join(this.dir, name);
    const onOrphan = cleanUpCommand(this.dir, this.#cgroups)
      .map((word) => `'${word}'`)
      .join(" ");
    makeCgroups(this.#cgroups + name);
    const folders = ["usr/sbin", "usr/bin", "sbin", "bin"].map((folder) => join(packages, folder));
    const libraries = ["usr/lib", "lib"].map((folder) => join(packages, folder, `${gnuArchitecture()}-linux-gnu`));
    const env = {
      PATH: [...folders, process.env["PATH"]].join(":"),
      LD_LIBRARY_PATH: libraries.join(":"),
      TMPDIR: join(dir, "tmp"),
      HOME: join(dir, "tmp"),
    };
    mkdirSync(dir);
    return await Namespaces.start({ name, dir, env, onOrphan });
  }

  /** The address is not known until the wires are there. */
  #settings({ name }: Namespaces): NodeSettings {
    const cluster = this;
    return {
      name,
      dir: join(this.dir, name),
      address: { host: "", node: "", pods: "" },
      packages: this.#programs.packages,
      cgroup: this.#cgroups + name,
      get registry() {
        return cluster.registry.host;
      },
    };
  }

  async #writeFiles(): Promise<void> {
    this.#authority = await writeControlPlaneFiles(this.#plan());
    const access = { url: this.url, authority: this.#authority };
    await writeClusterFiles(this.dir, access, this.registry.host);
    for (const { settings } of this.#members) await writeNodeFiles(settings, access);
  }

  #startControlPlane(): void {
    const first = this.#members[0]!;
    for (const part of ["etcd", "kube-apiserver"] as const)
      this.#run(part, first, controlPlaneCommand(part, this.#plan()));
    this.#run("registry", first, registryCommand(this.dir, this.#programs.packages));
  }

  #startControllers(): void {
    const first = this.#members[0]!;
    const part = "kube-controller-manager";
    this.#run(part, first, controlPlaneCommand(part, this.#plan()));
    this.#run("kube-scheduler", first, schedulerCommand(this.dir, this.#programs.binaries));
  }

  #startWorkers(member: Member): void {
    for (const part of ["kubelet", "kube-proxy"] as const) this.#startWorker(part, member);
  }

  #startWorker(part: WorkerPart, member: Member): void {
    this.#run(part, member, workerCommand(part, member.settings, this.#programs.binaries));
  }

  #run(part: NodePart, member: Member, command: readonly string[]): void {
    member.programs.set(part, { command, process: member.namespaces.start(part, command) });
  }

  #find(part: NodePart, node: NodeName) {
    const member = this.#members.find(({ namespaces }) => namespaces.name === node);
    const program = member?.programs.get(part);
    if (!member || !program) throw new Error(`${node} has no ${part}`);
    return { member, program };
  }

  #processes(): NodeProcess[] {
    return this.#members.flatMap(({ programs }) => [...programs.values()].map(({ process }) => process));
  }

  async #untilApi(): Promise<void> {
    await untilReady(this.url, this.ca, this.#processes());
  }

  async #loadOnContainerd(tar: string): Promise<void> {
    const sockets = this.#members.map(({ namespaces }) =>
      eventually(() => namespaces.run(["test", "-S", CONTAINERD_SOCKET]), 20_000),
    );
    await Promise.all(sockets);
    await this.loadImage(tar);
  }

  async #applyClusterDns(): Promise<void> {
    const items = clusterDns(this.#programs.binaries.coredns);
    await this.#kubectl(["apply", "-f", "-"], JSON.stringify({ apiVersion: "v1", kind: "List", items }));
  }

  async #untilNodesReady(): Promise<void> {
    const names = this.nodes.map(({ name }) => `node/${name}`);
    try {
      await this.#kubectl(["wait", "--for=create", ...names, READY_TIMEOUT]);
      await this.#kubectl(["wait", "--for=condition=Ready", ...names, READY_TIMEOUT]);
      await this.#kubectl(["rollout", "status", "deployment/coredns", "--namespace=kube-system", READY_TIMEOUT]);
    } catch (cause) {
      const dead = this.#processes().filter((process) => !process.running());
      const logs = dead.map((process) => `\n${process.name} stopped by itself:\n${process.log()}`);
      throw new Error(`the nodes did not become ready.${logs.join("")}`, { cause });
    }
  }

  async #kubectl(args: string[], input = ""): Promise<string> {
    return await runProgram([this.kubectl, `--kubeconfig=${this.kubeconfig}`, ...args], input);
  }
}

function nodeName(index: number): NodeName {
  return index === 0 ? "node1" : "node2";
}

function gnuArchitecture(): string {
  return process.arch === "arm64" ? "aarch64" : "x86_64";
}
