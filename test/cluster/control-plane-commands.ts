// The files and command lines of etcd, kube-apiserver and kube-controller-manager: on loopback for control-plane.ts, in a node's network for node/.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { kubeconfigText } from "../../kube/client/kubeconfig-text.ts";
import { issueCertificate, makeAuthority, makeSigningKeys, type KeyPair } from "../../kube/server/pki.ts";
import type { Binaries } from "./binaries.ts";

/** A user that kube-apiserver knows by a static bearer token. */
export interface TokenUser {
  token: string;
  user: string;
  groups?: string[];
}

export interface ControlPlaneOptions {
  /** Known besides `admin`. */
  users?: TokenUser[];
  /** Deployments, garbage collection, namespaces, aggregation …; true unless said. */
  controllers?: boolean;
  /** More flags for kube-apiserver. Any that begins with `--authorization-` is instead of RBAC alone. */
  apiserverFlags?: string[];
  /** More flags for kube-controller-manager. */
  controllerManagerFlags?: string[];
  /** Told about builds, which take minutes; stderr unless said. */
  log?: (line: string) => void;
}

/** A program of the control plane. */
export type ControlPlaneComponent = "etcd" | "kube-apiserver" | "kube-controller-manager";

export interface ControlPlanePlan {
  /** Where its files are: absolute, and short enough for the paths of Unix sockets. */
  dir: string;
  /** IPv4 address that kube-apiserver listens at. */
  address: string;
  port: number;
  binaries: Binaries;
  options: ControlPlaneOptions;
}

/** The token of the user `admin`, who is in system:masters. */
export const adminToken = "admin-token";

export function controlPlaneUrl({ address, port }: ControlPlanePlan): string {
  return `https://${address}:${port}`;
}

/** Writes certificates, keys, tokens and the admin's kubeconfig, and returns the authority that signs the clients' certificates. */
export async function writeControlPlaneFiles(plan: ControlPlanePlan): Promise<KeyPair> {
  const { dir, address, options } = plan;
  const authority = await makeAuthority("cupola-test");
  const server = await issueCertificate(authority, {
    commonName: "kube-apiserver",
    dnsNames: [
      "localhost",
      ...["", ".default", ".default.svc", ".default.svc.cluster.local"].map((s) => `kubernetes${s}`),
    ],
    ipAddresses: [...new Set(["127.0.0.1", address]), "10.96.0.1"],
  });
  const signing = makeSigningKeys();
  const users: TokenUser[] = [
    { token: adminToken, user: "admin", groups: ["system:masters"] },
    ...(options.users ?? []),
  ];
  mkdirSync(join(dir, "etcd"));
  const write = (name: string, text: string) => writeFileSync(join(dir, name), text, { mode: 0o600 });
  write("ca.crt", authority.cert);
  write("ca.key", authority.key);
  write("server.crt", server.cert);
  write("server.key", server.key);
  write("sa.key", signing.privateKey);
  write("sa.pub", signing.publicKey);
  write("tokens.csv", users.map((u) => `${u.token},${u.user},${u.user},"${(u.groups ?? []).join(",")}"\n`).join(""));
  write(
    "kubeconfig",
    kubeconfigText({
      server: controlPlaneUrl(plan),
      ca: authority.cert,
      users: [{ name: "admin", token: adminToken }],
    }),
  );
  return authority;
}

function etcdCommand({ dir, binaries }: ControlPlanePlan): [string, ...string[]] {
  // Unix sockets: no port to lose to another process. The advertised addresses are never dialled by a single member's one client.
  return [
    binaries.etcd,
    "--name=default",
    `--data-dir=${dir}/etcd`,
    `--listen-client-urls=unix://${dir}/etcd.sock`,
    "--advertise-client-urls=http://localhost:2379",
    `--listen-peer-urls=unix://${dir}/peer.sock`,
    "--initial-advertise-peer-urls=http://localhost:2380",
    "--initial-cluster=default=http://localhost:2380",
    "--unsafe-no-fsync",
    "--log-level=warn",
  ];
}

function apiserverCommand({ dir, address, port, binaries, options }: ControlPlanePlan): [string, ...string[]] {
  return [
    binaries["kube-apiserver"],
    `--etcd-servers=unix://${dir}/etcd.sock`,
    `--bind-address=${address}`,
    `--secure-port=${port}`,
    `--advertise-address=${address}`,
    "--endpoint-reconciler-type=none",
    `--cert-dir=${dir}`,
    `--tls-cert-file=${dir}/server.crt`,
    `--tls-private-key-file=${dir}/server.key`,
    `--client-ca-file=${dir}/ca.crt`,
    `--token-auth-file=${dir}/tokens.csv`,
    ...(options.apiserverFlags?.some((flag) => flag.startsWith("--authorization-"))
      ? []
      : ["--authorization-mode=RBAC"]),
    `--service-account-key-file=${dir}/sa.pub`,
    `--service-account-signing-key-file=${dir}/sa.key`,
    "--service-account-issuer=https://kubernetes.default.svc.cluster.local",
    "--service-cluster-ip-range=10.96.0.0/16",
    // stdout and stderr apart in pod logs: alpha in 1.34, and DESIGN 5 uses it where it is.
    "--feature-gates=PodLogsQuerySplitStreams=true",
    "--allow-privileged",
    "--profiling=false",
    "--max-requests-inflight=2000",
    "--max-mutating-requests-inflight=1000",
    ...(options.apiserverFlags ?? []),
  ];
}

function controllerManagerCommand({ dir, binaries, options }: ControlPlanePlan): [string, ...string[]] {
  return [
    binaries["kube-controller-manager"],
    `--kubeconfig=${dir}/kubeconfig`,
    "--secure-port=0",
    "--leader-elect=false",
    // A single identity and a high rate: with the defaults, pods and namespaces take seconds longer.
    "--use-service-account-credentials=false",
    "--kube-api-qps=500",
    "--kube-api-burst=1000",
    "--namespace-sync-period=5s",
    `--service-account-private-key-file=${dir}/sa.key`,
    `--root-ca-file=${dir}/ca.crt`,
    `--cluster-signing-cert-file=${dir}/ca.crt`,
    `--cluster-signing-key-file=${dir}/ca.key`,
    "--allocate-node-cidrs=false",
    "--profiling=false",
    ...(options.controllerManagerFlags ?? []),
  ];
}

const COMMANDS: Record<ControlPlaneComponent, (plan: ControlPlanePlan) => [string, ...string[]]> = {
  etcd: etcdCommand,
  "kube-apiserver": apiserverCommand,
  "kube-controller-manager": controllerManagerCommand,
};

/** The command line of one of its programs. */
export function controlPlaneCommand(part: ControlPlaneComponent, plan: ControlPlanePlan): [string, ...string[]] {
  return COMMANDS[part](plan);
}
