// Tells whether a route has an instance that answers, from the LRPs of its destinations. Pure.
import type { LRP } from "../../../crds/lrp/lrp.ts";
import type { ReadyDraft } from "../../../kube/controller/controller.ts";
import type { RouteDestination } from "./plan.ts";

/** An instance may take this long to start before its route is said to be without one. CF's default for a start. */
const START_MS = 60_000;

/** A router's report on the instances of a route. `requeueAfterMs`: when to look again, since no event may come. */
export interface InstanceVerdict {
  ready?: ReadyDraft;
  requeueAfterMs?: number;
}

interface InstanceInput {
  destinations: readonly RouteDestination[];
  /** LRPs of the destinations' apps. */
  lrps: readonly LRP[];
  now: Date;
}

/**
 * Not served: instances are wanted, none is ready, and none is within the time of its start. A route of a stopped app is as its owner wishes, so its
 * RouteBinding stays Ready, as the App does; and a start writes no status.
 */
export function judgeInstances({ destinations, lrps, now }: InstanceInput): InstanceVerdict {
  const wanted = lrps.filter(
    ({ metadata, spec }) =>
      !metadata.deletionTimestamp &&
      spec.instances > 0 &&
      destinations.some(({ appGUID, processType }) => appGUID === spec.app.guid && processType === spec.processType),
  );
  if (wanted.length === 0 || wanted.some(({ status }) => (status?.runningInstances ?? 0) > 0)) return {};
  const waitMs = Math.max(...wanted.map((lrp) => remainingStartMs(lrp, now)));
  if (waitMs > 0) return { requeueAfterMs: waitMs };
  const names = [...new Set(destinations.map(({ app, processType }) => `${app} (${processType})`))].join(", ");
  return {
    ready: {
      status: "False",
      reason: "NoReadyInstance",
      message: `no instance of ${names} is ready, so requests to this route fail; the instances' state says why: cf app, or kubectl get cflrp -o yaml`,
      isFailure: true,
    },
  };
}

/** Milliseconds in which an instance of this LRP may still become ready; 0 when all have failed. */
function remainingStartMs({ metadata, status }: LRP, now: Date): number {
  const starts = (status?.instances ?? []).filter(({ state }) => state === "Starting" || state === "Running");
  const isUnknown = (status?.instances ?? []).length === 0;
  const since = [
    ...(isUnknown && metadata.creationTimestamp ? [metadata.creationTimestamp] : []),
    ...starts.map((instance) => instance.since ?? metadata.creationTimestamp ?? ""),
  ].map((time) => Date.parse(time) || 0);
  return Math.max(0, ...since.map((time) => time + START_MS - now.getTime()));
}
