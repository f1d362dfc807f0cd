// Decides on which clusters processes run: makes, changes and removes the decision of each. One replica does.
import { App } from "../../crds/app/app.ts";
import { BackendClass } from "../../crds/backend-class/backend-class.ts";
import { Cluster } from "../../crds/cluster/cluster.ts";
import { SYSTEM_NAMESPACE } from "../../crds/groups.ts";
import { IsolationSegment } from "../../crds/isolation-segment/isolation-segment.ts";
import { LABELS } from "../../crds/labels.ts";
import { LRP } from "../../crds/lrp/lrp.ts";
import { PlacementDecision } from "../../crds/placement-decision/placement-decision.ts";
import { Process } from "../../crds/process/process.ts";
import { Revision } from "../../crds/revision/revision.ts";
import { Rollout } from "../../crds/rollout/rollout.ts";
import { apiVersionOf } from "../../kube/api/resource-ref.ts";
import type { Reader } from "../../kube/cache/reader.ts";
import type { Draft } from "../../kube/client/client.ts";
import {
  defineController,
  watch,
  type Controller,
  type ReconcileContext,
  type ReconcileResult,
} from "../../kube/controller/controller.ts";
import type { EventDraft } from "../../kube/controller/event-recorder.ts";
import { indexByApp, mapAppToOwned, OWNING_APP_INDEX } from "../shared/app-owned.ts";
import { GUID_INDEX, indexByGUID, resolveGUID } from "../shared/guid.ts";
import { isObserved } from "../shared/is-observed.ts";
import { findPlacement } from "../shared/placement.ts";
import { resolveProcessGUID } from "../shared/process-guid.ts";
import { isReachable } from "../shared/reachable.ts";
import { TENANCY_KINDS } from "../shared/tenancy.ts";
import { createChangeFilter, createRunnerFilter, hasUnread, toKey } from "./clusters.ts";
import { createDrainPace, type DrainPace } from "./drain-pace.ts";
import { createLeaveGuard, type LeaveGuard } from "./leave-guard.ts";
import { mirrorController } from "./mirror.ts";
import { findInstances, planFor, type PlanForOptions, type SegmentPlan } from "./segment-plan.ts";
import { taskPlacementController } from "./task-placement.ts";

/** Between two looks whether all clusters have been read. */
const UNREAD_MS = 500;

export function placementControllers(): Controller[] {
  return [placementController(), mirrorController(), taskPlacementController()];
}

/** Makes, changes and removes the decision of a Process. */
function placementController(): Controller {
  const concerns = createChangeFilter();
  const concernsRunner = createRunnerFilter();
  const limits = { pace: createDrainPace(), guard: createLeaveGuard() };
  return defineController({
    name: "placement",
    kind: "singleton",
    for: Process,
    owns: [PlacementDecision],
    reads: [...TENANCY_KINDS, LRP, Revision],
    indexes: { [GUID_INDEX]: indexByGUID, [OWNING_APP_INDEX]: indexByApp },
    watches: [
      watch(App, mapAppToOwned),
      watch(Rollout, (rollout) => ({ [OWNING_APP_INDEX]: indexByApp(rollout)[0] ?? "" })),
      watch(IsolationSegment, (_segment, read) => read.list(Process).map(({ metadata }) => metadata)),
      watch(Cluster, (cluster, read) => (concerns(cluster) ? read.list(PlacementDecision).map(toKey) : [])),
      watch(BackendClass, (one, read) => (concernsRunner(one) ? read.list(PlacementDecision).map(toKey) : [])),
    ],
    // The LRPs that a new decision finds enqueue their processes.
    remote: { owns: [LRP], mapCluster: () => [] },
    writesStatus: false,
    writesObject: false,

    reconcile(process, context) {
      const { read } = context;
      const { namespace, name } = process.metadata;
      const app = read.find(App, { namespace, name: process.spec.appRef.name });
      const decision = read.find(PlacementDecision, { namespace, name });
      if (!app || app.spec.state === "Stopped") return decision && hasEnded(decision, read) ? { children: [] } : {};
      return decision
        ? decideAgain(process, app, { decision, limits, context })
        : decide(process, app, limits, context);
    },
  });
}

/** The first decision is about the Revision of this start, and about what runs already: it waits for a cluster that answers and has not been read yet. */
function decide(process: Process, app: App, limits: Limits, context: ReconcileContext): ReconcileResult {
  const { read, clusters } = context;
  // Its instances are people's, and stay where they are.
  if (!hasRevision(app) || process.spec.detached) return {};
  // Most processes run where the platform has no other clusters.
  if (clusters.names().length === 0 && !findPlacement(read, process.metadata.namespace)) return {};
  if (hasUnread(context)) return { requeueAfterMs: UNREAD_MS };
  const ids = resolveIds(process, app, context);
  const found = findInstances(process, ids.guid, context);
  const plan = (more: Partial<PlanForOptions>): SegmentPlan | undefined =>
    planFor(process, app, { read, now: context.now(), decision: undefined, found, ...more });
  const draft = planWithin(limits, { process, decision: undefined, plan, context });
  return draft ? { children: [toDecision(process, ids, draft)], ...draft.requeue } : {};
}

function decideAgain(
  process: Process,
  app: App,
  { decision, limits, context }: { decision: PlacementDecision; limits: Limits; context: ReconcileContext },
): ReconcileResult {
  const plan = (more: Partial<PlanForOptions>): SegmentPlan | undefined =>
    planFor(process, app, { read: context.read, now: context.now(), decision, ...more });
  const draft = planWithin(limits, { process, decision, plan, context });
  if (draft) return { children: [toDecision(process, resolveIds(process, app, context), draft)], ...draft.requeue };
  // The segment's placement was removed before any cluster took the process: it runs on the platform's own.
  return isEmpty(decision) ? { children: [] } : {};
}

function hasRevision(app: App): boolean {
  return isObserved(app) && app.status?.revision !== undefined;
}

interface Limits {
  pace: DrainPace;
  guard: LeaveGuard;
}

interface Planning {
  process: Process;
  decision: PlacementDecision | undefined;
  plan: (more: Partial<PlanForOptions>) => SegmentPlan | undefined;
  context: ReconcileContext;
}

/** A process waits for its turn before it leaves a drained cluster, and keeps one that too many others have just left. */
function planWithin(
  { pace, guard }: Limits,
  { process, decision, plan, context }: Planning,
): (SegmentPlan & { requeue?: { requeueAfterMs: number } }) | undefined {
  const first = plan({});
  if (!first) return undefined;
  const now = context.now().getTime();
  const uid = process.metadata.uid ?? "";
  const kept = listKept(guard, { decision, first, uid, context });
  const planned = (kept.size > 0 && plan({ kept })) || first;
  const waits = new Map(
    planned.begins.map(({ cluster, state }) => [cluster, pace.take(`${cluster} ${state}`, uid, now)]),
  );
  const mayBegin = (cluster: string): boolean => (waits.get(cluster) ?? 0) === 0;
  const waiting = [...waits.values()].filter((ms) => ms > 0);
  const next = (waiting.length > 0 && plan({ kept, mayBegin })) || planned;
  return { ...next, ...toRequeue([...waiting, next.failsOverIn ?? Infinity]) };
}

function toRequeue(delays: readonly number[]): { requeue?: { requeueAfterMs: number } } {
  const requeueAfterMs = Math.min(...delays);
  return requeueAfterMs < Infinity ? { requeue: { requeueAfterMs } } : {};
}

/** Names of clusters that the process would leave, and stays on. */
function listKept(
  guard: LeaveGuard,
  { decision, first, uid, context }: Pick<Planning, "decision" | "context"> & { first: SegmentPlan; uid: string },
): Set<string> {
  const now = context.now().getTime();
  const kept = listLeft(decision, first, context.read).filter((cluster) => !guard.mayLeave(cluster, uid, now));
  for (const cluster of kept) context.recordEvent(cluster, movesHeld(cluster));
  return new Set(kept.map(({ metadata }) => metadata.name));
}

/** Clusters that the process leaves although nobody drains them or gives them up. */
function listLeft(decision: PlacementDecision | undefined, { assignments }: SegmentPlan, read: Reader): Cluster[] {
  const next = new Set(assignments.map(({ cluster }) => cluster));
  return (decision?.spec.assignments ?? [])
    .filter(({ cluster, indexes, state }) => state === "Active" && indexes.length > 0 && !next.has(cluster))
    .flatMap(({ cluster }) => read.find(Cluster, { namespace: SYSTEM_NAMESPACE, name: cluster }) ?? [])
    .filter(({ metadata, spec }) => !spec.drain && !metadata.deletionTimestamp);
}

function movesHeld({ metadata: { name } }: Cluster): EventDraft {
  return {
    type: "Warning",
    reason: "MovesHeld",
    message: `too many apps leave cluster ${name} at once, since its labels or the placement of a segment changed: further ones stay there when they restart. Where that is meant: cup clusters allow-deletes ${name}, or cup clusters drain ${name}`,
  };
}

/** A cluster that does not answer may have an LRP that nobody has seen yet. */
function hasEnded({ spec, status }: PlacementDecision, read: Reader): boolean {
  const isUnknown = (name: string): boolean => {
    const cluster = read.find(Cluster, { namespace: SYSTEM_NAMESPACE, name });
    return cluster !== undefined && !cluster.metadata.deletionTimestamp && !isReachable(cluster);
  };
  return (status?.clusters ?? []).length === 0 && !spec.assignments.some(({ cluster }) => isUnknown(cluster));
}

function isEmpty({ spec, status }: PlacementDecision): boolean {
  return spec.assignments.length === 0 && (status?.clusters ?? []).length === 0;
}

interface Ids {
  app: string;
  /** The process's GUID. */
  guid: string;
}

function resolveIds(process: Process, app: App, context: ReconcileContext): Ids {
  const appGUID = resolveGUID(App, app, context).guid;
  return { app: appGUID, guid: resolveProcessGUID(process, appGUID, context).guid };
}

function toDecision(process: Process, { app, guid }: Ids, { segment, revision, assignments }: SegmentPlan): Draft {
  return {
    apiVersion: apiVersionOf(PlacementDecision),
    kind: PlacementDecision.kind,
    metadata: {
      name: process.metadata.name,
      namespace: process.metadata.namespace,
      labels: { [LABELS.app]: app, [LABELS.process]: guid },
    },
    spec: {
      segment,
      ...(revision !== undefined && { revision }),
      app,
      processType: process.spec.type,
      assignments,
    },
  };
}
