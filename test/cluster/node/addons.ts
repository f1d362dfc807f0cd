// Programs in the cluster once its API server answers: DNS, and Traefik and metrics-server where a test wants them.
import type { KubeClient } from "../../../kube/client/client.ts";
import { eventually } from "../../eventually.ts";
import { provideBinary } from "../binaries.ts";
import { applyGatewayAPI } from "../gateway-api.ts";
import { clusterDns } from "./cluster-dns.ts";
import { metricsServer } from "./metrics-server.ts";
import { traefik, type TraefikOptions } from "./traefik.ts";

/** A DaemonSet to wait for. */
export interface Addon {
  name: string;
  namespace: string;
}

const READY_DEADLINE_MS = 120_000;

/** Addons besides DNS. */
export interface AddonOptions {
  /** Path of coredns on the machine. */
  coredns: string;
  /** Whether Traefik runs; more flags of its own instead of `true`. */
  traefik: boolean | readonly string[] | undefined;
  metricsServer: boolean | undefined;
  /** Address of node1, as in TraefikOptions. */
  address: string;
  /** Told about builds. */
  log: ((line: string) => void) | undefined;
}

/** Creates their objects. @returns what to wait for */
export async function createAddons(client: KubeClient, options: AddonOptions): Promise<Addon[]> {
  const { coredns, traefik: flags, metricsServer: isMeasured, address, log } = options;
  return await Promise.all([
    createClusterDns(client, coredns),
    ...(flags ? [createTraefik(client, { address, flags: flags === true ? [] : flags }, log)] : []),
    ...(isMeasured ? [createMetricsServer(client, log)] : []),
  ]);
}

async function createClusterDns(client: KubeClient, program: string): Promise<Addon> {
  await create(client, clusterDns(program));
  return { name: "coredns", namespace: "kube-system" };
}

/** With the kinds of the Gateway API. */
async function createTraefik(
  client: KubeClient,
  options: Omit<TraefikOptions, "program">,
  log: AddonOptions["log"],
): Promise<Addon> {
  await applyGatewayAPI(client);
  await create(client, traefik({ ...options, program: await provideBinary("traefik", log) }));
  return { name: "traefik", namespace: "traefik" };
}

/** Ready once it has measured the nodes. */
async function createMetricsServer(client: KubeClient, log: AddonOptions["log"]): Promise<Addon> {
  await create(client, metricsServer(await provideBinary("metrics-server", log)));
  return { name: "metrics-server", namespace: "kube-system" };
}

/** Applies them one after another. Not by kubectl, which spends seconds on discovery. */
async function create(client: KubeClient, objects: readonly object[]): Promise<void> {
  for (const object of objects as readonly NewObject[]) await client.raw("POST", pathOf(object), object);
}

interface NewObject {
  apiVersion: string;
  kind: string;
  metadata: { namespace?: string };
}

function pathOf({ apiVersion, kind, metadata }: NewObject): string {
  const root = apiVersion.includes("/") ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
  const plural = `${kind.toLowerCase()}${kind.endsWith("s") ? "es" : "s"}`;
  return metadata.namespace ? `${root}/namespaces/${metadata.namespace}/${plural}` : `${root}/${plural}`;
}

/** Resolves when the nodes and the add-ons' pods are ready. Throws with what is not after two minutes. */
export async function untilReady(
  client: KubeClient,
  nodes: readonly string[],
  addons: readonly Addon[],
): Promise<void> {
  const isReady = async (path: string, of: (status: Status) => boolean) => {
    const { status } = (await client.raw("GET", path)) as { status?: Status };
    if (!status || !of(status))
      throw new Error(`${path} is not ready: ${JSON.stringify(status?.conditions ?? status)}`);
  };
  const waits = [
    ...nodes.map((name) => () => isReady(`/api/v1/nodes/${name}`, isNodeReady)),
    ...addons.map(({ name, namespace }) => {
      const path = `/apis/apps/v1/namespaces/${namespace}/daemonsets/${name}`;
      return () => isReady(path, ({ numberReady = 0 }) => numberReady > 0);
    }),
  ];
  await Promise.all(waits.map((wait) => eventually(wait, READY_DEADLINE_MS)));
}

/** Status of a Node or a DaemonSet. */
interface Status {
  conditions?: { type: string; status: string; message?: string }[];
  numberReady?: number;
}

function isNodeReady({ conditions = [] }: Status): boolean {
  return conditions.some(({ type, status }) => type === "Ready" && status === "True");
}
