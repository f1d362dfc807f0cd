// The programs of a node: their certificates and settings on disk, and their command lines.
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { kubeconfigText } from "../../../kube/client/kubeconfig-text.ts";
import { issueCertificate, makeAuthority, type KeyPair, type Subject } from "../../../kube/server/pki.ts";
import type { ControlPlaneComponent } from "../control-plane-commands.ts";
import { REGISTRY_HTPASSWD, registryConfig } from "../registry.ts";
import type { NodeBinaries } from "./requirements.ts";
import {
  cniConfig,
  containerdConfig,
  kubeletConfig,
  kubeProxyConfig,
  registryHosts,
  type NodeSettings,
} from "./settings.ts";

/** Programs that every node has. */
export type WorkerPart = "containerd" | "kubelet" | "kube-proxy";

/** Programs that a test may kill or pause. Those of the control plane and the registry are on node1. */
export type NodePart = ControlPlaneComponent | "kube-scheduler" | "registry" | "network-policy" | WorkerPart;

/** The API server as its clients find it. */
export interface Cluster {
  url: string;
  authority: KeyPair;
}

/** Writes what kubelet, containerd, CNI and kube-proxy of one node read. */
export async function writeNodeFiles(settings: NodeSettings, cluster: Cluster): Promise<void> {
  const { name, dir, address, registry } = settings;
  const write = writer(dir);
  const kubelet = await issueCertificate(cluster.authority, {
    commonName: `system:node:${name}`,
    organizations: ["system:nodes"],
    dnsNames: [name],
    ipAddresses: [address.node],
  });
  write("kubelet.crt", kubelet.cert);
  write("kubelet.key", kubelet.key);
  write("kubelet.kubeconfig", kubeconfig(cluster, kubelet));
  write("kube-proxy.kubeconfig", await clientKubeconfig(cluster, { commonName: "system:kube-proxy" }));
  write("kubelet.yaml", kubeletConfig(settings));
  write("kube-proxy.yaml", kubeProxyConfig(settings));
  write("containerd.toml", containerdConfig(settings));
  write("cni/10-pods.conflist", cniConfig(settings));
  write(`certs.d/${registry}/hosts.toml`, registryHosts(registry));
  write("resolv.conf", "nameserver 127.0.0.1\n");
}

/** Writes what the scheduler, kube-apiserver's calls to kubelets and aggregated APIs, and the registry read, below the cluster's folder. */
export async function writeClusterFiles(dir: string, cluster: Cluster, registry: string): Promise<void> {
  const write = writer(dir);
  write("scheduler.kubeconfig", await clientKubeconfig(cluster, { commonName: "system:kube-scheduler" }));
  const caller = await issueCertificate(cluster.authority, {
    commonName: "kube-apiserver-kubelet-client",
    organizations: ["system:masters"],
  });
  write("kubelet-client.crt", caller.cert);
  write("kubelet-client.key", caller.key);
  const proxies = await makeAuthority("cupola-test-front-proxy");
  const proxy = await issueCertificate(proxies, { commonName: FRONT_PROXY });
  write("front-proxy-ca.crt", proxies.cert);
  write("front-proxy.crt", proxy.cert);
  write("front-proxy.key", proxy.key);
  write("registry/htpasswd", REGISTRY_HTPASSWD);
  write("registry/config.yaml", JSON.stringify(registryConfig({ host: registry, dir: join(dir, "registry") })));
}

function writer(dir: string): (name: string, text: string) => void {
  return (name, text) => {
    mkdirSync(dirname(join(dir, name)), { recursive: true });
    writeFileSync(join(dir, name), text, { mode: 0o600 });
  };
}

async function clientKubeconfig(cluster: Cluster, subject: Subject): Promise<string> {
  return kubeconfig(cluster, await issueCertificate(cluster.authority, subject));
}

function kubeconfig({ url, authority }: Cluster, pair: KeyPair): string {
  return kubeconfigText({ server: url, ca: authority.cert, users: [{ name: "user", ...pair }] });
}

/** The command line of a program of one node. */
export function workerCommand(part: WorkerPart, settings: NodeSettings, binaries: NodeBinaries): string[] {
  const { dir, name, address, packages } = settings;
  const commands: Record<WorkerPart, string[]> = {
    containerd: [join(packages, "usr/bin/containerd"), "--config", `${dir}/containerd.toml`],
    kubelet: [
      binaries.kubelet,
      `--config=${dir}/kubelet.yaml`,
      `--kubeconfig=${dir}/kubelet.kubeconfig`,
      `--root-dir=${dir}/kubelet`,
      `--cert-dir=${dir}/kubelet-pki`,
      `--hostname-override=${name}`,
      `--node-ip=${address.node}`,
    ],
    "kube-proxy": [binaries["kube-proxy"], `--config=${dir}/kube-proxy.yaml`],
  };
  return commands[part];
}

/** The command line of the scheduler, on the first node. */
export function schedulerCommand(dir: string, binaries: NodeBinaries): string[] {
  return [
    binaries["kube-scheduler"],
    `--kubeconfig=${dir}/scheduler.kubeconfig`,
    "--leader-elect=false",
    "--kube-api-qps=500",
    "--kube-api-burst=1000",
    "--bind-address=127.0.0.1",
  ];
}

/** The command line of the registry, on the first node. */
export function registryCommand(dir: string, packages: string): string[] {
  return [join(packages, "usr/bin/docker-registry"), "serve", `${dir}/registry/config.yaml`];
}

/** The command line of the agent that enforces NetworkPolicies on a node. */
export function policyAgentCommand(kubeconfigFile: string): string[] {
  const agent = fileURLToPath(new URL("network-policy/agent-process.ts", import.meta.url));
  return ["env", `KUBECONFIG=${kubeconfigFile}`, process.execPath, agent];
}

/** As whom kube-apiserver calls aggregated APIs, with the caller's name in headers. */
const FRONT_PROXY = "front-proxy-client";

/** Further flags of kube-apiserver, to work with kubelets and aggregated APIs, and to be a Service for pods. */
export function apiserverFlags(dir: string): string[] {
  return [
    "--authorization-mode=Node,RBAC",
    "--enable-admission-plugins=NodeRestriction",
    "--endpoint-reconciler-type=lease",
    `--kubelet-client-certificate=${dir}/kubelet-client.crt`,
    `--kubelet-client-key=${dir}/kubelet-client.key`,
    `--kubelet-certificate-authority=${dir}/ca.crt`,
    "--kubelet-preferred-address-types=InternalIP",
    `--proxy-client-cert-file=${dir}/front-proxy.crt`,
    `--proxy-client-key-file=${dir}/front-proxy.key`,
    `--requestheader-client-ca-file=${dir}/front-proxy-ca.crt`,
    `--requestheader-allowed-names=${FRONT_PROXY}`,
    "--requestheader-username-headers=X-Remote-User",
    "--requestheader-group-headers=X-Remote-Group",
    "--requestheader-extra-headers-prefix=X-Remote-Extra-",
    // An ingress controller's Service takes ports 80 and 443 of the nodes.
    "--service-node-port-range=80-32767",
  ];
}

/** A node that does not answer is NotReady after 20 s instead of 50. */
export const CONTROLLER_MANAGER_FLAGS = ["--node-monitor-period=1s", "--node-monitor-grace-period=20s"] as const;
