// An installed platform for `cup doctor --cluster`: the chart on a real kube-apiserver, one real process with the webhook, a real server at the API's public address.
// It has no node and no Kubernetes controllers, so what these would write (statuses of Deployments, Pods) is written by hand.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createServer as createHttpsServer, type Server as HttpsServer } from "node:https";
import { createServer, type Server } from "node:tls";
import type { AddressInfo } from "node:net";
import { pino } from "pino";
import { parseAllDocuments, stringify } from "yaml";
import { judgeFacts } from "../../../cli/doctor/judge.ts";
import { readFacts } from "../../../cli/doctor/read-facts.ts";
import type { Finding } from "../../../cli/doctor/finding.ts";
import { Claim } from "../../../crds/claim/claim.ts";
import { domainName, newClaim } from "../../../crds/claim/rules.ts";
import { Domain } from "../../../crds/domain/domain.ts";
import { SYSTEM_NAMESPACE } from "../../../crds/groups.ts";
import { PLATFORM_GROUP } from "../../../crds/platform-role.ts";
import { Replica } from "../../../crds/replica/replica.ts";
import { ConfigMap, Deployment, IngressClass, Lease, Pod } from "../../../kube/api/builtin.ts";
import type { KubeObject, ObjectKey } from "../../../kube/api/object.ts";
import type { ResourceRef } from "../../../kube/api/resource-ref.ts";
import { toMicroTime } from "../../../kube/api/times.ts";
import { createClient } from "../../../kube/client/create-client.ts";
import type { KubeClient } from "../../../kube/client/client.ts";
import { issueCertificate, makeAuthority, type KeyPair } from "../../../kube/server/pki.ts";
import { applyObjects } from "../../../platform/install.ts";
import { startPlatform, type RunningPlatform } from "../../../platform/platform.ts";
import { runCommand } from "../../../scripts/run-command.ts";
import { provideBinary } from "../../cluster/binaries.ts";
import { startControlPlane, type ControlPlane } from "../../cluster/control-plane.ts";
import { REGISTRY_USER } from "../../cluster/registry.ts";
import { eventually } from "../../eventually.ts";
import { playPods, type PlayedPods } from "./played-pods.ts";
import { startProbedRegistry, type ProbedRegistry } from "./probed-registry.ts";

const CHART = join(import.meta.dirname, "..", "..", "..", "deploy", "helm", "cupola");
const SYSTEM = { namespace: SYSTEM_NAMESPACE };
const MINUTE = 60_000;
const NODE = "here";
const Node: ResourceRef = { group: "", version: "v1", kind: "Node", plural: "nodes", namespaced: false };
export const READER_TOKEN = "reader-token";

export interface Outcome {
  /** Each code once. */
  codes: number[];
  findings: Finding[];
  unread: string[];
}

export interface LookOptions {
  /** As if so many minutes had passed. */
  minutesLater?: number;
  /** This machine's clock is behind by so many seconds. */
  behindSeconds?: number;
  pre?: boolean;
  probe?: boolean;
  as?: KubeClient;
}

export interface DoctorRow {
  code: number;
  fault: string;
  break(): Promise<unknown>;
  /** Words of the finding. */
  words: string;
  mend(): Promise<unknown>;
  look?: LookOptions;
}

export class DoctorWorld {
  readonly folder = mkdtempSync(join(tmpdir(), "cupola-doctor-"));
  /** Names that lead elsewhere than to this machine. */
  readonly names = new Map<string, string[]>();
  plane!: ControlPlane;
  admin!: KubeClient;
  /** An identity of the platform, which write Claims and LRPs. */
  platform!: KubeClient;
  reader!: KubeClient;
  authority!: KeyPair;
  /** Answers the log of a container, as a kubelet does. */
  containerLog: (path: string) => string = () => "";
  registry!: ProbedRegistry;
  /** Runs the pods of `--probe`. */
  pods!: PlayedPods;
  #server!: Server;
  #kubelet!: HttpsServer;
  #webhook: RunningPlatform | undefined;

  async start(): Promise<void> {
    this.plane = await startControlPlane({
      controllers: false,
      users: [
        { token: "platform-token", user: "platform", groups: ["system:masters", PLATFORM_GROUP] },
        { token: READER_TOKEN, user: "reader" },
      ],
    });
    this.admin = this.#client(this.plane.adminToken);
    this.platform = this.#client("platform-token");
    this.reader = this.#client(READER_TOKEN);
    this.authority = await makeAuthority("doctor-test");
    this.registry = await startProbedRegistry();
    await this.#serveApi();
    await this.#startKubelet();
    await this.#install();
    await this.#writeStatuses();
    await this.#claimDomains();
    await this.startWebhook();
    this.pods = playPods(this.admin, this.folder);
  }

  async stop(): Promise<void> {
    await this.pods?.stop();
    await this.stopWebhook();
    await this.registry?.stop();
    this.#server?.close();
    this.#kubelet?.closeAllConnections();
    this.#kubelet?.close();
    await Promise.all([this.admin, this.platform, this.reader].map((client) => client?.close()));
    await this.plane?.stop();
    rmSync(this.folder, { recursive: true, force: true });
  }

  #client(token: string): KubeClient {
    return createClient({ server: this.plane.url, ca: this.plane.ca, auth: { kind: "token", token } });
  }

  /** Serves the public address with a certificate of this authority. */
  async serveCertificate(authority = this.authority): Promise<void> {
    const { cert, key } = await issueCertificate(authority, { commonName: "api", dnsNames: ["localhost"] });
    this.#server.setSecureContext({ cert, key });
  }

  async #serveApi(): Promise<void> {
    this.#server = createServer({}, (socket) => socket.on("error", () => undefined).end());
    await this.serveCertificate();
    await new Promise<void>((resolve) => this.#server.listen(0, "localhost", resolve));
  }

  /** A Node whose kubelet has logs and nothing else. */
  async #startKubelet(): Promise<void> {
    const pair = await issueCertificate(this.authority, { commonName: "kubelet", ipAddresses: ["127.0.0.1"] });
    this.#kubelet = createHttpsServer(pair, (request, response) => response.end(this.containerLog(request.url ?? "")));
    await new Promise<void>((resolve) => this.#kubelet.listen(0, "127.0.0.1", resolve));
    const { port: Port } = this.#kubelet.address() as AddressInfo;
    await this.admin.create(Node, { metadata: { name: NODE } });
    await this.setStatus(
      Node,
      { name: NODE },
      { addresses: [{ type: "InternalIP", address: "127.0.0.1" }], daemonEndpoints: { kubeletEndpoint: { Port } } },
    );
  }

  get publicUrl(): string {
    return `https://localhost:${(this.#server.address() as AddressInfo).port}`;
  }

  async kubectl(...args: string[]): Promise<string> {
    return this.#run([this.plane.kubectl, ...args]);
  }

  /** A command line as a finding prints it. */
  async shell(line: string): Promise<string> {
    return this.#run(["sh", "-c", line.replaceAll("kubectl", this.plane.kubectl)]);
  }

  async #run(command: [string, ...string[]]): Promise<string> {
    const { code, output } = await runCommand(command, {
      cwd: this.folder,
      deadlineMs: 2 * MINUTE,
      env: {
        KUBECONFIG: this.plane.kubeconfig,
        HELM_CACHE_HOME: this.folder,
        HELM_CONFIG_HOME: this.folder,
        HELM_DATA_HOME: this.folder,
      },
    });
    if (code !== 0) throw new Error(`${command.join(" ")}: ${output.slice(-2000)}`);
    return output;
  }

  async #install(): Promise<void> {
    const values = join(this.folder, "values.yaml");
    writeFileSync(
      values,
      stringify({
        image: { repository: "registry.example.org/cupola" },
        api: { publicUrl: this.publicUrl, tls: { secretName: "api-tls" } },
        apps: { domain: "apps.example.org" },
        registry: {
          prefix: `${this.registry.host}/apps`,
          ...REGISTRY_USER,
          insecure: true,
          pull: { username: "reader", password: "secret" },
        },
        builders: { cnb: { builderImage: this.registry.builderImage } },
        metrics: { enabled: true },
      }),
    );
    const helm = await provideBinary("helm");
    await this.#run([
      helm,
      "install",
      "cupola",
      CHART,
      "-n",
      SYSTEM_NAMESPACE,
      "--create-namespace",
      "--no-hooks",
      "-f",
      values,
    ]);
    await this.writeTlsSecret(365);
    const { data = {} } = await this.admin.get(ConfigMap, { ...SYSTEM, name: "cupola-settings" });
    const settings = Object.values(data).flatMap((text) =>
      parseAllDocuments(text).map((document) => document.toJS() as KubeObject | null),
    );
    // kube-apiserver is slow to serve new kinds, and its policies to find the kind of their parameters.
    await eventually(
      () =>
        applyObjects(
          this.admin,
          settings.filter((object) => object !== null),
        ),
      2 * MINUTE,
    );
  }

  async writeTlsSecret(days: number): Promise<void> {
    const pair = await issueCertificate(this.authority, { commonName: "api", dnsNames: ["localhost"] }, { days });
    const text = { "tls.crt": pair.cert, "tls.key": pair.key, "ca.crt": this.authority.cert };
    const data = Object.fromEntries(
      Object.entries(text).map(([key, pem]) => [key, Buffer.from(pem).toString("base64")]),
    );
    const secret = {
      apiVersion: "v1",
      kind: "Secret",
      metadata: { ...SYSTEM, name: "api-tls" },
      type: "kubernetes.io/tls",
      data,
    };
    await applyObjects(this.admin, [secret]);
  }

  /** As Kubernetes' controllers, kubelets and the platform's other processes would. */
  async #writeStatuses(): Promise<void> {
    const { items } = await this.admin.list(Deployment, SYSTEM);
    for (const deployment of items) {
      const { name } = deployment.metadata;
      await this.setStatus(Deployment, { ...SYSTEM, name }, { replicas: 2, availableReplicas: 2, readyReplicas: 2 });
      await this.createPod(name, deployment.spec?.template);
    }
    await this.admin.create(IngressClass, {
      metadata: { name: "nginx", annotations: { "ingressclass.kubernetes.io/is-default-class": "true" } },
      spec: { controller: "example.org/ingress" },
    });
    await this.admin.create(Replica, { metadata: { ...SYSTEM, name: "cupola-api-1" }, spec: { operations: ["api"] } });
    await this.admin.create(Lease, {
      metadata: { ...SYSTEM, name: "leader-controllers" },
      spec: { holderIdentity: "one", leaseDurationSeconds: 86_400, renewTime: toMicroTime(new Date()) },
    });
    await this.installMetrics();
  }

  /** A pod of the chart whose port of the metrics leads to a process of this machine. */
  async createScrapedPod(name: string, { host, port }: { host: string; port: number }): Promise<void> {
    const { spec } = await this.admin.get(Deployment, { ...SYSTEM, name: "cupola-webhook" });
    const template = structuredClone(spec?.template) as { spec: { containers: { ports: object[] }[] } };
    for (const container of template.spec.containers) container.ports = [{ name: "metrics", containerPort: port }];
    await this.createPod(name, template);
    await this.setStatus(Pod, { ...SYSTEM, name }, { podIP: host, podIPs: [{ ip: host }] });
  }

  async createPod(name: string, template: unknown, image?: string): Promise<void> {
    const { metadata, spec } = structuredClone(template) as {
      metadata: object;
      spec: { containers: { image: string }[] };
    };
    for (const container of spec.containers) container.image = image ?? container.image;
    await this.admin.create(Pod, { metadata: { ...metadata, ...SYSTEM, name }, spec: { ...spec, nodeName: NODE } });
    await this.setStatus(Pod, { ...SYSTEM, name }, { phase: "Running" });
  }

  /** The group metrics.k8s.io, by a kind of its own in place of a metrics-server. */
  async installMetrics(): Promise<void> {
    const containers = { type: "array", items: { type: "object", "x-kubernetes-preserve-unknown-fields": true } };
    await applyObjects(this.admin, [
      {
        apiVersion: "apiextensions.k8s.io/v1",
        kind: "CustomResourceDefinition",
        metadata: { name: "pods.metrics.k8s.io", annotations: { "api-approved.kubernetes.io": "unapproved, a test" } },
        spec: {
          group: "metrics.k8s.io",
          scope: "Namespaced",
          names: { kind: "PodMetrics", plural: "pods" },
          versions: [
            {
              name: "v1beta1",
              served: true,
              storage: true,
              schema: { openAPIV3Schema: { type: "object", properties: { containers } } },
            },
          ],
        },
      },
    ]);
  }

  /** The webhook refuses names that are claimed. */
  async #claimDomains(): Promise<void> {
    const { items } = await this.admin.list(Domain, SYSTEM);
    for (const domain of items)
      await this.platform.create(
        Claim,
        newClaim(domainName(domain), { kind: "Domain", ...SYSTEM, name: domain.metadata.name }, new Date()),
      );
  }

  async startWebhook(metrics?: { host: string; port: number }): Promise<void> {
    this.#webhook = await startPlatform({
      ...(metrics && { metrics }),
      access: { server: this.plane.url, ca: this.plane.ca, auth: { kind: "token", token: "platform-token" } },
      operations: ["webhook"],
      data: join(this.folder, "webhook"),
      listen: { host: "127.0.0.1", port: 0 },
      publicURL: this.publicUrl,
      log: pino({ level: process.env["TEST_LOG"] ?? "silent" }),
      shutdown: { drainMs: 0 },
    });
  }

  async stopWebhook(): Promise<void> {
    await this.#webhook?.stop({ instances: "keep" });
    this.#webhook = undefined;
  }

  async setStatus(ref: ResourceRef, key: ObjectKey, status: Record<string, unknown>): Promise<void> {
    await this.admin.patch(ref, key, { type: "merge", body: { status } }, { subresource: "status" });
  }

  /** Runs the doctor in this process, with the clock and the resolver of the world. */
  async look({
    minutesLater = 0,
    behindSeconds = 0,
    pre = false,
    probe = false,
    as = this.admin,
  }: LookOptions = {}): Promise<Outcome> {
    const laterMs = minutesLater * MINUTE;
    const kube: KubeClient = { ...as, stream: (...args) => shiftDate(as.stream(...args), laterMs) };
    const readings = await readFacts(kube, {
      isBeforeInstallation: pre,
      probe,
      signal: AbortSignal.timeout(MINUTE),
      now: () => Date.now() + laterMs - behindSeconds * 1000,
      resolve: (name) => Promise.resolve(this.names.get(name) ?? ["127.0.0.1"]),
    });
    const judged = judgeFacts(readings).flatMap((group) => group.judged);
    const findings = judged.flatMap((one) => one.findings);
    return {
      findings,
      codes: [...new Set(findings.map(({ code }) => code))],
      unread: judged.flatMap(({ check, unread }) => (unread === undefined ? [] : [`${check.code}: ${unread}`])),
    };
  }
}

/** kube-apiserver's clock is the machine's, so a later time is told in its place. */
async function shiftDate(answer: ReturnType<KubeClient["stream"]>, laterMs: number): ReturnType<KubeClient["stream"]> {
  const { headers, ...rest } = await answer;
  const date = new Date(Date.parse(String(headers["date"])) + laterMs).toUTCString();
  return { ...rest, headers: { ...headers, date } };
}
