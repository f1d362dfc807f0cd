// A real Kubernetes control plane on loopback for tests: etcd, kube-apiserver and kube-controller-manager, without a node.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { request } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { issueCertificate, makeAuthority, makeSigningKeys, type KeyPair, type Subject } from "../../kube/server/pki.ts";
import { provideBinaries, type Binaries } from "./binaries.ts";
import { freePort } from "./free-port.ts";
import { startGuarded, type GuardedProcess } from "./guarded-process.ts";
import { kubeconfigText } from "../../kube/client/kubeconfig-text.ts";

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

export interface ControlPlane {
  url: string;
  /** PEM of the authority that signed the server's certificate, and signs the clients'. */
  ca: string;
  /** Path of a kubeconfig whose user is in system:masters. */
  kubeconfig: string;
  adminToken: string;
  kubectl: string;
  /** Everything it keeps on disk; removed by stop(). */
  dir: string;
  /** A client certificate that this API server accepts. */
  issueClient(subject: Subject): Promise<KeyPair>;
  /** SIGKILL to one of its programs, and after `downMs` a new one on the same data. Resolves when kube-apiserver is ready again. */
  restart(part: ControlPlaneComponent, downMs?: number): Promise<void>;
  stop(): Promise<void>;
}

interface Plan {
  dir: string;
  port: number;
  binaries: Binaries;
  options: ControlPlaneOptions;
}

const readyDeadlineMs = 90_000;
const adminToken = "admin-token";

/** Starts a control plane and waits until it is ready. Throws with the end of the program's log when one does not come up. */
export async function startControlPlane(options: ControlPlaneOptions = {}): Promise<ControlPlane> {
  const binaries = await provideBinaries(options.log);
  for (let attempt = 1; ; attempt++) {
    try {
      return await startOnce(binaries, options);
    } catch (error) {
      // Only the port can be a matter of luck.
      if (attempt === 3 || !String(error).includes("address already in use")) throw error;
    }
  }
}

async function startOnce(binaries: Binaries, options: ControlPlaneOptions): Promise<ControlPlane> {
  const plan: Plan = { dir: mkdtempSync(join(tmpdir(), "cupola-kube-")), port: await freePort(), binaries, options };
  const running = new Map<ControlPlaneComponent, GuardedProcess>();
  const start = (part: ControlPlaneComponent): unknown =>
    running.set(
      part,
      startGuarded(COMMANDS[part](plan), {
        name: part,
        logFile: join(plan.dir, `${part}.log`),
        ...(part === "etcd" && { removeOnOrphan: plan.dir }),
      }),
    );
  const stop = async () => {
    await Promise.all([...running.values()].map((child) => child.kill()));
    rmSync(plan.dir, { recursive: true, force: true, maxRetries: 5 });
  };
  try {
    const authority = await writeFiles(plan);
    const url = `https://127.0.0.1:${plan.port}`;
    start("etcd");
    start("kube-apiserver");
    await untilReady(url, authority.cert, [...running.values()]);
    if (options.controllers !== false) start("kube-controller-manager");
    return {
      url,
      adminToken,
      stop,
      ca: authority.cert,
      kubeconfig: join(plan.dir, "kubeconfig"),
      kubectl: binaries.kubectl,
      dir: plan.dir,
      issueClient: (subject) => issueCertificate(authority, subject),
      async restart(part, downMs = 0) {
        await running.get(part)?.kill();
        await delay(downMs);
        start(part);
        await untilReady(url, authority.cert, [...running.values()]);
      },
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function writeFiles({ dir, port, options }: Plan): Promise<KeyPair> {
  const authority = await makeAuthority("cupola-test");
  const server = await issueCertificate(authority, {
    commonName: "kube-apiserver",
    dnsNames: ["localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc"],
    ipAddresses: ["127.0.0.1", "10.96.0.1"],
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
      server: `https://127.0.0.1:${port}`,
      ca: authority.cert,
      users: [{ name: "admin", token: adminToken }],
    }),
  );
  return authority;
}

function etcdCommand({ dir, binaries }: Plan): [string, ...string[]] {
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

function apiserverCommand({ dir, port, binaries, options }: Plan): [string, ...string[]] {
  return [
    binaries["kube-apiserver"],
    `--etcd-servers=unix://${dir}/etcd.sock`,
    "--bind-address=127.0.0.1",
    `--secure-port=${port}`,
    "--advertise-address=127.0.0.1",
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

function controllerManagerCommand({ dir, binaries, options }: Plan): [string, ...string[]] {
  return [
    binaries["kube-controller-manager"],
    `--kubeconfig=${dir}/kubeconfig`,
    "--secure-port=0",
    "--leader-elect=false",
    // One identity and a high rate: with the defaults, pods and namespaces take seconds longer.
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

const COMMANDS: Record<ControlPlaneComponent, (plan: Plan) => [string, ...string[]]> = {
  etcd: etcdCommand,
  "kube-apiserver": apiserverCommand,
  "kube-controller-manager": controllerManagerCommand,
};

async function untilReady(url: string, ca: string, children: GuardedProcess[]): Promise<void> {
  const deadline = Date.now() + readyDeadlineMs;
  while (!(await answersOk(`${url}/readyz`, ca))) {
    const dead = children.find((child) => !child.running());
    if (dead) throw new Error(`${dead.name} stopped by itself:\n${dead.log()}`);
    if (Date.now() > deadline)
      throw new Error(`kube-apiserver was not ready within ${readyDeadlineMs / 1000} s:\n${children.at(-1)!.log()}`);
    await delay(100);
  }
}

function answersOk(url: string, ca: string): Promise<boolean> {
  return new Promise((resolve) => {
    const call = request(
      url,
      { ca, agent: false, timeout: 5000, headers: { authorization: `Bearer ${adminToken}` } },
      (response) => {
        response.resume();
        resolve(response.statusCode === 200);
      },
    );
    call
      .on("timeout", () => call.destroy())
      .on("error", () => resolve(false))
      .end();
  });
}
