// Where the segment of a space places its processes.
import { SYSTEM_NAMESPACE } from "../../crds/groups.ts";
import { IsolationSegment, type Failover, type Placement } from "../../crds/isolation-segment/isolation-segment.ts";
import { chosenSegment } from "../../crds/isolation-segment/segment-of-space.ts";
import { SHARED_SEGMENT } from "../../crds/isolation-segment/shared-segment.ts";
import type { Reader } from "../../kube/cache/reader.ts";
import { findSpaceOfNamespace } from "./quotas.ts";
import { findOrgOfNamespace } from "./tenancy.ts";

export interface SegmentPlacement {
  /** Object name of the segment. */
  segment: string;
  placement: Placement;
  failover?: Failover | undefined;
}

/** Undefined where everything runs on the platform's own cluster. Reads the segment besides TENANCY_KINDS. */
export function findPlacement(read: Reader, namespace: string | undefined): SegmentPlacement | undefined {
  const space = findSpaceOfNamespace(read, namespace ?? "");
  const org = space && findOrgOfNamespace(read, space.metadata.namespace ?? "");
  const segment = chosenSegment(space, org) ?? SHARED_SEGMENT;
  const { placement, failover } =
    read.find(IsolationSegment, { namespace: SYSTEM_NAMESPACE, name: segment })?.spec ?? {};
  return placement && { segment, placement, failover };
}

/** Condition of a Task whose segment has a placement: whether a cluster was chosen for it. */
export const TASK_PLACED = "Placed";
