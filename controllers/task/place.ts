// Where a Task runs, and the end of its run on another cluster.
import { LOCAL_CLUSTER } from "../../crds/cluster/local-cluster.ts";
import { guidOf } from "../../crds/guid.ts";
import type { Task } from "../../crds/task/task.ts";
import { TaskRun } from "../../crds/task-run/task-run.ts";
import type { Reader } from "../../kube/cache/reader.ts";
import type {
  FinalizeResult,
  ReadyDraft,
  ReconcileContext,
  RemoteCluster,
  RemoteMarkers,
} from "../../kube/controller/controller.ts";
import { isGivenUp } from "../shared/other-clusters.ts";
import { findPlacement, TASK_PLACED } from "../shared/placement.ts";

const LIST_MS = 5_000;

/** The cluster of a task, or why it has none yet. */
export type TaskPlace = { cluster: string } | { waits: ReadyDraft };

export function findTaskPlace({ metadata, status }: Task, read: Reader): TaskPlace {
  if (status?.cluster !== undefined) return { cluster: status.cluster };
  // A task that began before its segment had a placement stays where it is.
  if (status?.state === "Running" || !findPlacement(read, metadata.namespace)) return { cluster: LOCAL_CLUSTER };
  const problem = status?.conditions?.find(({ type, status: is }) => type === TASK_PLACED && is === "False");
  if (problem) return { waits: { status: "False", reason: problem.reason, message: problem.message, isFailure: true } };
  return { waits: { status: "False", reason: "Placing", message: "its cluster is being chosen" } };
}

export function isElsewhere({ status }: Task): boolean {
  return status?.cluster !== undefined && status.cluster !== LOCAL_CLUSTER;
}

/** A run that cannot be seen now may still go on. */
export function toUnseen(cluster: string): ReadyDraft {
  return {
    status: "False",
    reason: "ClusterUnreachable",
    message: `cluster ${cluster} cannot be read, so the task is shown as it was last seen; cup clusters says why. If it says that the cluster is ready, its chart is of a release without tasks: run helm upgrade there`,
    isFailure: true,
  };
}

export async function endTask(
  task: Task,
  { read, clusters }: Pick<ReconcileContext, "read" | "clusters">,
): Promise<FinalizeResult> {
  const cluster = task.status?.cluster ?? LOCAL_CLUSTER;
  if (cluster === LOCAL_CLUSTER || isGivenUp(cluster, read)) return undefined;
  const owner = guidOf(task);
  const remote = clusters.find(cluster);
  if (!remote) return { children: [], ready: toUnseen(cluster) };
  const isEnded = remote.listOwned(TaskRun, owner).length === 0 && !(await hasRun(task, remote, clusters.markers));
  if (isEnded) return undefined;
  return {
    children: [],
    remote: { owner, children: { [cluster]: [] } },
    ready: { status: "False", reason: "Stopping", message: `its run on ${cluster} must end first` },
  };
}

/** Asks the server: the cache may not have a run yet that was made just now, and nobody would end it once the Task has gone. */
async function hasRun(task: Task, { client }: RemoteCluster, markers: RemoteMarkers | undefined): Promise<boolean> {
  if (!markers) return false;
  const labelSelector = `${markers.hubLabel}=${markers.hub},${markers.ownerLabel}=${guidOf(task)}`;
  const { items } = await client.list(TaskRun, {
    namespace: task.metadata.namespace ?? "",
    labelSelector,
    deadlineMs: LIST_MS,
  });
  return items.length > 0;
}
