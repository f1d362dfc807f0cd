// Where the segment of a space places its processes.
import { SYSTEM_NAMESPACE } from "../../crds/groups.ts";
import {
  IsolationSegment,
  type Failover,
  type Placement,
  type StagedRollout,
} from "../../crds/isolation-segment/isolation-segment.ts";
import { chosenSegment } from "../../crds/isolation-segment/segment-of-space.ts";
import { SHARED_SEGMENT } from "../../crds/isolation-segment/shared-segment.ts";
import { Org } from "../../crds/org/org.ts";
import { Space } from "../../crds/space/space.ts";
import { isFinished } from "../../crds/task/sequence.ts";
import type { Task } from "../../crds/task/task.ts";
import type { Reader } from "../../kube/cache/reader.ts";
import { watch, type MapResult, type WatchRule } from "../../kube/controller/controller.ts";
import { findSpaceOfNamespace } from "./quotas.ts";
import { findOrgOfNamespace } from "./tenancy.ts";

export interface SegmentPlacement {
  /** Object name of the segment. */
  segment: string;
  placement: Placement;
  failover?: Failover | undefined;
  /** Stages of its Rollouts. */
  rollout?: StagedRollout | undefined;
}

/** Undefined where everything runs on the platform's own cluster. Reads the segment besides TENANCY_KINDS. */
export function findPlacement(read: Reader, namespace: string | undefined): SegmentPlacement | undefined {
  const space = findSpaceOfNamespace(read, namespace ?? "");
  const org = space && findOrgOfNamespace(read, space.metadata.namespace ?? "");
  const segment = chosenSegment(space, org) ?? SHARED_SEGMENT;
  const { placement, failover, rollout } =
    read.find(IsolationSegment, { namespace: SYSTEM_NAMESPACE, name: segment })?.spec ?? {};
  return placement && { segment, placement, failover, rollout };
}

/** Condition of a Task whose segment has a placement: whether a cluster was chosen for it. */
export const TASK_PLACED = "Placed";

const UNPLACED_INDEX = "controllers/task-without-cluster";

/** All tasks that have no cluster and have not begun. */
export const UNPLACED_TASKS = { [UNPLACED_INDEX]: "any" };

/** For a controller of tasks. */
export const UNPLACED_INDEXES = { [UNPLACED_INDEX]: (task: Task) => (isUnplaced(task) ? ["any"] : []) };

export function isUnplaced(task: Task): boolean {
  return !isFinished(task) && task.status?.state !== "Running" && task.status?.cluster === undefined;
}

/** For a controller of tasks: what changes the placement that `findPlacement` finds for them. */
export function placementWatches(): WatchRule[] {
  const wakeAll = (): MapResult => UNPLACED_TASKS;
  return [watch(IsolationSegment, wakeAll), watch(Org, wakeAll), watch(Space, wakeAll)];
}
