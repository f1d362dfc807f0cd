// `cup clusters` and its subcommands: Clusters are Kubernetes objects that the CF API does not show.
import { setTimeout as delay } from "node:timers/promises";
import { Cluster } from "../../crds/cluster/cluster.ts";
import { HERE_LABEL } from "../../crds/cluster/local-cluster.ts";
import { SYSTEM_NAMESPACE } from "../../crds/groups.ts";
import { systemObject } from "../../crds/settings-object.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { isAlreadyExists } from "../../kube/client/errors.ts";
import { Failure } from "../failure.ts";
import { requireNoLeftovers, writeAgentObjects } from "./agent-objects.ts";
import { table, type Progress, type Result } from "../output.ts";

/** How long a command waits for a cluster. */
const START_DEADLINE_MS = 60_000;
const POLL_MS = 200;

export async function listClusters(kube: KubeClient): Promise<Result> {
  const { items } = await kube.list(Cluster, { namespace: SYSTEM_NAMESPACE });
  return presentClusters(items);
}

/** Pure. */
export function presentClusters(clusters: readonly Cluster[]): Result {
  const sorted = clusters.toSorted((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1));
  return {
    json: sorted.map(toJSON),
    text:
      sorted.length === 0
        ? ["No clusters besides the platform's own. Next: cup clusters add west --here"]
        : table(["name", "mode", "ready", "lrps", "free", "kubernetes", "cupola", "problem"], sorted.map(toRow)),
  };
}

function toJSON(cluster: Cluster): object {
  const { metadata, spec, status = {} } = cluster;
  return {
    name: metadata.name,
    mode: spec.mode,
    ready: isReady(cluster),
    lrps: status.lrps ?? null,
    cordoned: spec.cordoned,
    drain: spec.drain,
    freePercent: status.capacity?.freePercent ?? null,
    kubernetes: status.versions?.kubernetes ?? null,
    cupola: status.versions?.cupola ?? null,
    problem: problemOf(cluster) ?? null,
  };
}

function toRow(cluster: Cluster): string[] {
  const { metadata, spec, status = {} } = cluster;
  return [
    metadata.name,
    spec.mode,
    isReady(cluster) ? "yes" : "no",
    String(status.lrps ?? "-"),
    presentFree(cluster),
    status.versions?.kubernetes ?? "-",
    status.versions?.cupola ?? "-",
    problemOf(cluster) ?? describeSpec(cluster),
  ];
}

/** Memory there that no pod has asked for. */
function presentFree({ status }: Cluster): string {
  return status?.capacity ? `${status.capacity.freePercent} %` : "-";
}

function describeSpec({ spec }: Cluster): string {
  if (spec.drain) return "drained: its instances move to other clusters";
  return spec.cordoned ? "cordoned: takes nothing new" : "";
}

function isReady({ status }: Cluster): boolean {
  return status?.conditions?.some(({ type, status: is }) => type === "Ready" && is === "True") ?? false;
}

function problemOf({ status }: Cluster): string | undefined {
  const find = (type: string, is: string): string | undefined =>
    status?.conditions?.find((one) => one.type === type && one.status === is)?.message;
  return (
    find("Ready", "False") ?? find("DeletesHeld", "True") ?? find("Orphans", "True") ?? find("LogsReadable", "False")
  );
}

/** Starts a cluster on this machine. The laptop's platform follows the label. */
export async function addHere(
  kube: KubeClient,
  name: string,
  { pull, progress }: { pull: boolean; progress: Progress },
): Promise<Result> {
  const object = systemObject(Cluster, name, { mode: pull ? "pull" : "push" });
  const exists = { next: `cup clusters, or cup clusters start ${name}` };
  if (await kube.find(Cluster, object.metadata)) throw new Failure(`cluster ${name} exists already`, exists);
  if (pull) {
    await requireNoLeftovers(kube, name);
    await writeAgentObjects(kube, name);
  }
  try {
    await kube.create(Cluster, { ...object, metadata: { ...object.metadata, labels: { [HERE_LABEL]: "running" } } });
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
    throw new Failure(`cluster ${name} exists already`, { ...exists, cause: error });
  }
  return awaitReady(kube, name, startingHere(name, progress));
}

export async function startHere(kube: KubeClient, name: string, progress: Progress): Promise<Result> {
  await setHere(kube, name, "running");
  return awaitReady(kube, name, startingHere(name, progress));
}

export async function stopHere(kube: KubeClient, name: string): Promise<Result> {
  await setHere(kube, name, "stopped");
  return {
    json: { name, here: "stopped" },
    text: [`Cluster ${name} stops, as if it were lost. cup clusters start ${name} brings it back.`],
  };
}

async function setHere(kube: KubeClient, name: string, value: string): Promise<void> {
  const cluster = await getCluster(kube, name);
  if (cluster.metadata.labels?.[HERE_LABEL] === undefined)
    throw new Failure(`cluster ${name} does not run on this machine`, { next: "cup clusters" });
  await kube.patch(Cluster, cluster.metadata, {
    type: "merge",
    body: { metadata: { labels: { [HERE_LABEL]: value } } },
  });
}

export async function cordon(kube: KubeClient, name: string, cordoned: boolean): Promise<Result> {
  const { metadata } = await getCluster(kube, name);
  const spec = cordoned ? { cordoned } : { cordoned, drain: false };
  await kube.patch(Cluster, metadata, { type: "merge", body: { spec } });
  const text = cordoned
    ? `Cluster ${name} takes no new process; those that it has stay.`
    : `Cluster ${name} takes new processes.`;
  return { json: { name, cordoned }, text: [text] };
}

/** @throws Failure */
export async function getCluster(kube: KubeClient, name: string): Promise<Cluster> {
  const found = await kube.find(Cluster, { namespace: SYSTEM_NAMESPACE, name });
  if (!found) throw new Failure(`cluster ${name} does not exist`, { next: "cup clusters" });
  return found;
}

interface Waiting {
  progress: Progress;
  step: string;
  /** The next step of a person when the cluster does not get ready. */
  next: string;
}

function startingHere(name: string, progress: Progress): Waiting {
  return {
    progress,
    step: `Starting cluster ${name} on this machine`,
    next: "a cluster on this machine needs a running cup local start; cup clusters shows the reason",
  };
}

/** @throws Failure with the cluster's problem after a minute */
export async function awaitReady(kube: KubeClient, name: string, { progress, step, next }: Waiting): Promise<Result> {
  progress.step(step);
  const deadline = Date.now() + START_DEADLINE_MS;
  for (;;) {
    const cluster = await getCluster(kube, name);
    if (isReady(cluster))
      return {
        json: { name, ready: true },
        text: [`Cluster ${name} is ready. Next: cup segments place shared --clusters all`],
      };
    if (Date.now() > deadline)
      throw new Failure(problemOf(cluster) ?? `cluster ${name} was not ready in ${START_DEADLINE_MS / 1000} s`, {
        next,
      });
    await delay(POLL_MS);
  }
}
