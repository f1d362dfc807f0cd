// LRPs and TaskRuns on other clusters, for the removal of content: it counts what they use, and waits while one of the clusters cannot be read.
import { Cluster } from "../../crds/cluster/cluster.ts";
import { LOCAL_CLUSTER } from "../../crds/cluster/local-cluster.ts";
import { LRP } from "../../crds/lrp/lrp.ts";
import { PlacementDecision } from "../../crds/placement-decision/placement-decision.ts";
import { TaskRun } from "../../crds/task-run/task-run.ts";
import type { Reader } from "../../kube/cache/reader.ts";
import type { KubeClient } from "../../kube/client/client.ts";

/** The kinds that name other clusters. */
export const OTHER_CLUSTERS = [Cluster, PlacementDecision];

/** The clusters that answer now. */
export interface ReachableClusters {
  find(name: string): { client: Pick<KubeClient, "list"> } | undefined;
}

/** The part of an LRP or a TaskRun that names content. */
export interface Workload {
  spec: Pick<LRP["spec"], "app" | "droplet">;
}

export interface Workloads {
  lrps: Workload[];
  taskRuns: Workload[];
}

/** Clusters asked at the same time. */
const AT_A_TIME = 4;

/**
 * Asks the API server of every cluster that has a Cluster, or on which a PlacementDecision has instances. On a cluster that the platform calls, objects of other platforms count, too.
 * @throws Error when one of them cannot be read; NotSynced, NotPermitted while it is not known which there are
 */
export async function listElsewhere(read: Reader, clusters: ReachableClusters | undefined): Promise<Workloads> {
  const names = listNames(read);
  requireNoOrphans(read);
  const found: Workloads = { lrps: [], taskRuns: [] };
  for (let first = 0; first < names.length; first += AT_A_TIME) {
    const some = await Promise.all(names.slice(first, first + AT_A_TIME).map((name) => listOn(name, clusters)));
    for (const { lrps, taskRuns } of some) {
      found.lrps.push(...lrps);
      found.taskRuns.push(...taskRuns);
    }
  }
  return found;
}

/** The agent of a pull cluster counts objects of which the platform knows nothing else. */
function requireNoOrphans(read: Reader): void {
  for (const { metadata, status } of read.list(Cluster)) {
    if (status?.agent?.orphans) throw toUnread(metadata.name, "objects there have no Work");
    if (status?.agent?.uncounted) throw toUnread(metadata.name, "its agent has not counted the objects without a Work");
  }
}

function listNames(read: Reader): string[] {
  const known = read.list(Cluster).map(({ metadata }) => metadata.name);
  const placed = read
    .list(PlacementDecision)
    .flatMap(({ spec }) => spec.assignments.filter(({ indexes }) => indexes.length > 0).map(({ cluster }) => cluster));
  const names = new Set([...known, ...placed]);
  names.delete(LOCAL_CLUSTER);
  return [...names].toSorted();
}

async function listOn(name: string, clusters: ReachableClusters | undefined): Promise<Workloads> {
  const client = clusters?.find(name)?.client;
  if (!client) throw toUnread(name, "it does not answer, or refuses the platform");
  try {
    const [lrps, taskRuns] = [await client.list(LRP), await client.list(TaskRun)];
    return { lrps: lrps.items.map(toWorkload), taskRuns: taskRuns.items.map(toWorkload) };
  } catch (error) {
    throw toUnread(name, error instanceof Error ? error.message : String(error), error);
  }
}

/** Without the rest, of which there may be much. */
function toWorkload({ spec: { app, droplet } }: Workload): Workload {
  return { spec: { app, droplet } };
}

function toUnread(name: string, why: string, cause?: unknown): Error {
  return new Error(
    `cluster ${name} cannot be read (${why}), and apps there may use any content: unused content stays until it can. Where the cluster is lost for good: cup clusters forget ${name}`,
    { cause },
  );
}
