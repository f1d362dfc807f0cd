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
import { indexByApp, mapAppToOwned, OWNING_APP_INDEX } from "../shared/app-owned.ts";
import { GUID_INDEX, indexByGUID, resolveGUID } from "../shared/guid.ts";
import { isObserved } from "../shared/is-observed.ts";
import { resolveProcessGUID } from "../shared/process-guid.ts";
import { isReachable } from "../shared/reachable.ts";
import { TENANCY_KINDS } from "../shared/tenancy.ts";
import { createChangeFilter, createRunnerFilter, toKey } from "./clusters.ts";
import { createDrainPace, type DrainPace } from "./drain-pace.ts";
import { mirrorController } from "./mirror.ts";
import { planFor, type SegmentPlan } from "./segment-plan.ts";

export function placementControllers(): Controller[] {
  return [placementController(), mirrorController()];
}

/** Makes, changes and removes the decision of a Process. */
function placementController(): Controller {
  const concerns = createChangeFilter();
  const concernsRunner = createRunnerFilter();
  const pace = createDrainPace();
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
    writesStatus: false,
    writesObject: false,

    reconcile(process, context) {
      const { read } = context;
      const { namespace, name } = process.metadata;
      const app = read.find(App, { namespace, name: process.spec.appRef.name });
      const decision = read.find(PlacementDecision, { namespace, name });
      if (!app || app.spec.state === "Stopped") return decision && hasEnded(decision, read) ? { children: [] } : {};
      // The first decision is about the Revision of this start.
      if (!decision && !hasRevision(app)) return {};
      const planned = planFor(process, app, { read, decision });
      if (planned) return planDecision(process, app, { context, decision, planned, pace });
      // The segment's placement was removed before any cluster took the process: it runs on the platform's own.
      return decision && isEmpty(decision) ? { children: [] } : {};
    },
  });
}

function hasRevision(app: App): boolean {
  return isObserved(app) && app.status?.revision !== undefined;
}

/** A process waits for its turn before it leaves a drained cluster. */
function planDecision(
  process: Process,
  app: App,
  {
    context,
    decision,
    planned,
    pace,
  }: {
    context: ReconcileContext;
    decision: PlacementDecision | undefined;
    planned: SegmentPlan;
    pace: DrainPace;
  },
): ReconcileResult {
  const waitMs = planned.begins ? pace.take(process.metadata.uid ?? "", context.now().getTime()) : 0;
  const waiting = waitMs > 0 ? planFor(process, app, { read: context.read, decision, mayBegin: false }) : undefined;
  return {
    children: [toDecision(process, app, { ...(waiting ?? planned), context })],
    ...(waitMs > 0 && { requeueAfterMs: waitMs }),
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

function toDecision(
  process: Process,
  app: App,
  { segment, revision, assignments, context }: SegmentPlan & { context: ReconcileContext },
): Draft {
  const appGUID = resolveGUID(App, app, context).guid;
  const { guid } = resolveProcessGUID(process, appGUID, context);
  return {
    apiVersion: apiVersionOf(PlacementDecision),
    kind: PlacementDecision.kind,
    metadata: {
      name: process.metadata.name,
      namespace: process.metadata.namespace,
      labels: { [LABELS.app]: appGUID, [LABELS.process]: guid },
    },
    spec: {
      segment,
      ...(revision !== undefined && { revision }),
      app: appGUID,
      processType: process.spec.type,
      assignments,
    },
  };
}
