// Chooses the cluster of each task whose segment has a placement, before anything of it runs: its status says which, once and for all. One replica does.
import { App } from "../../crds/app/app.ts";
import { BackendClass } from "../../crds/backend-class/backend-class.ts";
import { Cluster } from "../../crds/cluster/cluster.ts";
import { DEFAULT_FAILOVER } from "../../crds/isolation-segment/isolation-segment.ts";
import { Revision } from "../../crds/revision/revision.ts";
import { Task } from "../../crds/task/task.ts";
import { TaskRun } from "../../crds/task-run/task-run.ts";
import type { Reader } from "../../kube/cache/reader.ts";
import { defineController, watch, type Controller, type ReconcileResult } from "../../kube/controller/controller.ts";
import { chooseClass } from "../shared/choose-class.ts";
import {
  findPlacement,
  isUnplaced,
  placementWatches,
  TASK_PLACED,
  UNPLACED_INDEXES,
  UNPLACED_TASKS,
  type SegmentPlacement,
} from "../shared/placement.ts";
import { TENANCY_KINDS } from "../shared/tenancy.ts";
import { createChangeFilter, createRunnerFilter, listTaskClusterFacts } from "./clusters.ts";
import { place, type PlacementRequest } from "./plan.ts";

export function taskPlacementController(): Controller {
  const concerns = createChangeFilter();
  const concernsRunner = createRunnerFilter();
  return defineController({
    name: "task-placement",
    kind: "singleton",
    for: Task,
    reads: [...TENANCY_KINDS, App, Revision, TaskRun],
    indexes: UNPLACED_INDEXES,
    watches: [
      ...placementWatches(),
      watch(Cluster, (cluster) => (concerns(cluster) ? UNPLACED_TASKS : [])),
      watch(BackendClass, (one) => (concernsRunner(one) ? UNPLACED_TASKS : [])),
    ],
    condition: TASK_PLACED,
    writesObject: false,

    reconcile(task, { read, now }) {
      const { namespace } = task.metadata;
      const segment = isUnplaced(task) ? findPlacement(read, namespace) : undefined;
      // A task that has begun on the platform's own cluster stays there.
      if (!segment || hasBegun(task, read)) return { keepStatus: true };
      return planPlacement(task, segment, { read, now: now() });
    },
  });
}

/** The status may not tell yet. */
function hasBegun({ metadata: { namespace, uid } }: Task, read: Reader): boolean {
  return read
    .list(TaskRun, { namespace })
    .some(({ metadata }) => metadata.ownerReferences?.some((one) => one.uid === uid));
}

function planPlacement(
  task: Task,
  { segment, placement }: SegmentPlacement,
  { read, now }: { read: Reader; now: Date },
): ReconcileResult {
  const request: PlacementRequest = {
    guid: task.metadata.uid ?? "",
    instances: 1,
    runner: chooseClass(read.list(BackendClass), { role: "task-runner", className: task.spec.runner }).metadata.name,
    memoryMB: task.spec.memoryMB,
    hasVolumes: hasVolumes(task, read),
    placement: { ...placement, count: 1 },
    failover: DEFAULT_FAILOVER,
    now: now.getTime(),
    previous: [],
    isNewStart: false,
    kept: new Set(),
    mayBegin: () => false,
    isServing: () => false,
  };
  const { assignments, rejected } = place(request, listTaskClusterFacts(read));
  const cluster = assignments[0]?.cluster;
  if (cluster !== undefined)
    return { status: { cluster }, ready: { status: "True", reason: "Placed", message: `it runs on ${cluster}` } };
  const reasons = rejected.map(({ reason, clusters, example }) =>
    clusters === 1 ? `${example}: ${reason}` : `${example} and ${clusters - 1} more: ${reason}`,
  );
  return {
    ready: {
      status: "False",
      reason: "NoCluster",
      message: `no cluster takes the task (${reasons.join("; ")}); change the placement of segment ${segment} or its clusters`,
      isFailure: true,
    },
  };
}

/** As the Revision says that the app runs. */
function hasVolumes({ metadata: { namespace }, spec }: Task, read: Reader): boolean {
  const name = read.find(App, { namespace, name: spec.appRef.name })?.status?.revision;
  const revision = name === undefined ? undefined : read.find(Revision, { namespace, name });
  return (revision?.spec.volumes ?? []).length > 0;
}
