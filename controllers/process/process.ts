// Maintains a Process's one LRP, at the app's current Revision. The LRP of an earlier start is deleted first; only a Rollout keeps it.
import { App } from "../../crds/app/app.ts";
import { BackendClass } from "../../crds/backend-class/backend-class.ts";
import { Cluster } from "../../crds/cluster/cluster.ts";
import { Domain } from "../../crds/domain/domain.ts";
import { Droplet } from "../../crds/droplet/droplet.ts";
import { EnvironmentGroup } from "../../crds/environment-group/environment-group.ts";
import { IsolationSegment } from "../../crds/isolation-segment/isolation-segment.ts";
import { LRP } from "../../crds/lrp/lrp.ts";
import { PlacementDecision } from "../../crds/placement-decision/placement-decision.ts";
import { Process } from "../../crds/process/process.ts";
import { KNOWN_TO_ALL, type IsKnownToAll } from "../../crds/replica/skew.ts";
import { Revision } from "../../crds/revision/revision.ts";
import { rolloutProcessGUID } from "../../crds/rollout/rules.ts";
import { Rollout } from "../../crds/rollout/rollout.ts";
import { Route } from "../../crds/route/route.ts";
import { LABELS } from "../../crds/labels.ts";
import {
  defineController,
  watch,
  type Controller,
  type FinalizeResult,
  type ReconcileContext,
  type ReconcileResult,
  type RemoteClusters,
  type RepairCount,
  type WatchRule,
} from "../../kube/controller/controller.ts";
import { Namespace, Secret } from "../../kube/api/builtin.ts";
import type { Reader } from "../../kube/cache/reader.ts";
import { listLRPsOfProcess } from "../shared/lrps-of-process.ts";
import {
  OWNING_APP_INDEX,
  appKey,
  toAppOwnership,
  indexByApp,
  getApp,
  mapAppToOwned,
  withoutDeleting,
} from "../shared/app-owned.ts";
import { withSecrets } from "../shared/cluster-secrets.ts";
import { indexByGUID, GUID_INDEX, resolveGUID } from "../shared/guid.ts";
import { isObserved } from "../shared/is-observed.ts";
import {
  findOpenRollout,
  findRolloutVersions,
  findRunningRevision,
  planAdoptedSpec,
  planRolloutStep,
  type AppHistory,
  type RolloutVersions,
} from "../shared/rollouts.ts";
import { hasProcessLimits, QUOTA_KINDS } from "../shared/quotas.ts";
import { TENANCY_KINDS } from "../shared/tenancy.ts";
import { planClusterNamespace } from "../shared/cluster-namespace.ts";
import { listHolders } from "../shared/other-clusters.ts";
import { findPlacement } from "../shared/placement.ts";
import { resolveProcessGUID } from "../shared/process-guid.ts";
import { detachProcess, findHindrance, listDetached, planAttached } from "./detached.ts";
import { CLUSTERS_FINALIZER, endElsewhere, listOnClusters, listUnread, planEnd } from "./end-on-clusters.ts";
import { planFight } from "./fight.ts";
import { lrpName } from "./lrp.ts";
import { makeLRP, type LRPContext } from "./make-lrp.ts";
import { reconcilePlaced } from "./placed.ts";
import {
  desiredInstances,
  planHeldRollout,
  planLRPs,
  planNoInstances,
  planStopped,
  type ProcessQuota,
} from "./plan.ts";
import { planRolloutLRPs } from "./rollout.ts";

/** Index of Processes by the GUID of their app. */
const OWNING_APP_GUID_INDEX = "controllers/owning-app-guid";

export interface ProcessOptions {
  /** The address of the CF API, for VCAP_APPLICATION. */
  apiURL: string;
  /** Whether all live replicas know a feature; all do when left out. */
  isKnownToAll?: IsKnownToAll;
}

const PROCESS_WATCHES: readonly WatchRule[] = [
  watch(App, mapAppToOwned),
  // A released LRP has no owner.
  watch(LRP, mapDetached),
  // A decision has the name of its Process.
  watch(PlacementDecision, ({ metadata }) => [metadata]),
  watch(Revision, (revision) => ({ [OWNING_APP_INDEX]: indexByApp(revision)[0] ?? "" })),
  watch(Rollout, (rollout) => ({ [OWNING_APP_INDEX]: indexByApp(rollout)[0] ?? "" })),
];

export function processController(options: ProcessOptions): Controller {
  return defineController({
    name: "process",
    for: Process,
    owns: [LRP],
    reads: [
      ...TENANCY_KINDS,
      ...QUOTA_KINDS,
      BackendClass,
      Cluster,
      Domain,
      Droplet,
      EnvironmentGroup,
      IsolationSegment,
      Route,
    ],
    remote: {
      owns: [LRP, Namespace],
      reads: [BackendClass],
      creates: [Secret],
      mapCluster: (_cluster, read) => listOnClusters(read),
    },
    finalizer: CLUSTERS_FINALIZER,
    dropsFinalizer: true,
    needsFinalizer,
    indexes: {
      [GUID_INDEX]: indexByGUID,
      [OWNING_APP_INDEX]: indexByApp,
      [OWNING_APP_GUID_INDEX]: ({ metadata }: Process) => [metadata.labels?.[LABELS.app] ?? ""],
    },
    permissions: [{ resource: Secret, verbs: ["get", "patch"] }],
    watches: PROCESS_WATCHES,

    reconcile: (process, context) => reconcileProcess(process, options, context),
    finalize: finalizeProcess,
  });
}

/** A process of a started app whose decision was lost keeps the finalizer while a cluster that may have its instances cannot be read. */
function needsFinalizer(process: Process, { read, clusters }: Pick<ReconcileContext, "read" | "clusters">): boolean {
  if (findDecision(process, read)) return true;
  if (clusters.names().length > 0 && listHolders(clusters, LRP, findGUID(process, read)).length > 0) return true;
  const { namespace, finalizers = [] } = process.metadata;
  if (!finalizers.includes(CLUSTERS_FINALIZER) || listUnread(read, clusters).length === 0) return false;
  // The decision of a stopped app went because its instances had ended.
  return read.find(App, { namespace, name: process.spec.appRef.name })?.spec.state === "Started";
}

/** The Process of a released LRP, by its GUID. The web process has its app's. */
function mapDetached({ metadata, spec }: LRP): Record<string, string> | [] {
  if (spec.detached !== true) return [];
  return { [OWNING_APP_GUID_INDEX]: metadata.labels?.[LABELS.app] ?? "" };
}

/** A decision has the name of its Process. */
function findDecision({ metadata: { namespace, name } }: Process, read: Reader): PlacementDecision | undefined {
  return read.find(PlacementDecision, { namespace, name });
}

async function reconcileProcess(
  process: Process,
  { apiURL, isKnownToAll = KNOWN_TO_ALL }: ProcessOptions,
  context: ReconcileContext,
): Promise<ReconcileResult> {
  const { read, clusters } = context;
  const app = getApp(read, process);
  const appGUID = resolveGUID(App, app, context).guid;
  const { guid, labels } = resolveProcessGUID(process, appGUID, context);
  const history = readHistory(app, read);
  const adopted = findAdoptedSpec(process, history);
  const planned = await planProcess(process, app, { guid, appGUID, apiURL, isKnownToAll, history, context });
  return {
    ...planFight(process, countRepairs(clusters, guid), context.now()),
    ...(await withSecrets(planned, LRP, context)),
    ...toAppOwnership(app, appGUID, labels),
    ...(adopted && { spec: adopted }),
  };
}

type ProcessContext = Omit<LRPContext, "read" | "clusters"> & { context: ReconcileContext };

/** A process that is to be detached is planned as ever until nothing hinders that. */
async function planProcess(
  process: Process,
  app: App,
  { context, ...given }: ProcessContext,
): Promise<ReconcileResult> {
  const { read, clusters, client } = context;
  const owned = listLRPsOfProcess(read, process.metadata);
  const detached = listDetached(read, process, given.appGUID);
  const { history } = given;
  const hindrance = findHindrance(
    process,
    { owned, detached },
    { app, history, decision: findDecision(process, read) },
  );
  if (process.spec.detached && !hindrance) return await detachProcess(process, { owned, detached }, client);
  const returning = process.spec.detached ? [] : detached;
  const planned =
    planAttached(process, { owned, detached: returning }, context) ??
    reconcileLRPs(process, app, { ...given, read, clusters });
  return hindrance ? { ...planned, ready: hindrance } : planned;
}

/** By cluster, without those that are silent. */
function countRepairs(clusters: RemoteClusters, guid: string): Map<string, RepairCount> {
  return new Map(
    clusters.names().flatMap((name) => {
      const count = clusters.find(name)?.countRepairs(guid);
      return count ? [[name, count]] : [];
    }),
  );
}

function finalizeProcess(process: Process, context: ReconcileContext): FinalizeResult {
  return planEnd(process, findGUID(process, context.read), context);
}

/** Also for a process whose app is gone. */
function findGUID(process: Process, read: Reader): string {
  const { metadata, spec } = process;
  const app = read.find(App, { namespace: metadata.namespace, name: spec.appRef.name });
  const appGUID = app ? resolveGUID(App, app, { read }).guid : (metadata.labels?.[LABELS.app] ?? "");
  return resolveProcessGUID(process, appGUID, { read }).guid;
}

function reconcileLRPs(process: Process, app: App, context: LRPContext): ReconcileResult {
  const { read } = context;
  const decision = findDecision(process, read);
  if (decision) return reconcileOnClusters(process, app, { ...context, decision });
  if (app.spec.state === "Stopped") return endElsewhere(planStopped(process), context);
  if (app.status?.revision === undefined) return planWithoutRevision(app);
  return reconcileHere(process, app, context);
}

function reconcileHere(process: Process, app: App, context: LRPContext): ReconcileResult {
  const { read, history, guid, clusters } = context;
  // Its decision was lost: what runs elsewhere must not be started here, too.
  if (listHolders(clusters, LRP, guid).length > 0) return PLACING;
  const existing = listLRPsOfProcess(read, process.metadata);
  const versions = process.spec.type === "web" ? findRolloutVersions(app, history, existing) : undefined;
  if (versions) return reconcileRollout(process, app, { ...context, versions, existing });
  if (desiredInstances(process) === 0) return planNoInstances("NoInstances");
  const revision = findRunningRevision(app, history);
  // Usually the cache only lags behind; the app controller creates a missing Revision again.
  if (!revision) return { keepStatus: true };
  readRolloutsOf(existing, revision, context);
  if (existing.length === 0 && findPlacement(read, process.metadata.namespace)) return PLACING;
  return planLRPs(process, {
    quota: findQuota(process, revision, context.read),
    name: lrpName(process, revision),
    revision: revision.metadata.name,
    existing,
    makeLRP: (instances) => makeLRP(process, app, { ...context, revision, share: { instances } }),
  });
}

function reconcileRollout(
  process: Process,
  app: App,
  { versions, existing, ...context }: LRPContext & { versions: RolloutVersions; existing: readonly LRP[] },
): ReconcileResult {
  const { rollout, running, target } = versions;
  const held = target && planHeldRollout(process, findQuota(process, target, context.read), rollout);
  if (held) return held;
  const step = planRolloutStep(versions, context.history, { lrps: existing, wanted: desiredInstances(process) });
  const isFormer = (revision: Revision): boolean => revision.metadata.name === running.metadata.name;
  return planRolloutLRPs(process, {
    versions,
    step,
    existing,
    makeLRP: (revision, instances) =>
      makeLRP(process, app, {
        ...context,
        ...(!isFormer(revision) && { guid: rolloutProcessGUID(rollout) }),
        revision,
        share: { instances },
      }),
  });
}

/** The decision enqueues its Process. */
const PLACING: ReconcileResult = {
  ready: { status: "False", reason: "Placing", message: "the clusters on which it runs are being chosen" },
};

function reconcileOnClusters(
  process: Process,
  app: App,
  context: LRPContext & { decision: PlacementDecision },
): ReconcileResult {
  const { read, history, decision, guid, clusters } = context;
  if (app.spec.state !== "Stopped" && app.status?.revision === undefined) return planWithoutRevision(app);
  const rollout = findOpenRollout(history.rollouts);
  const local = listLRPsOfProcess(read, process.metadata);
  const running = findRunningRevision(app, history);
  const remote = clusters.names().flatMap((name) => clusters.find(name)?.listOwned(LRP, guid) ?? []);
  if (running) readRolloutsOf([...local, ...remote], running, context);
  return reconcilePlaced({
    process,
    app,
    decision,
    history,
    guid,
    clusters,
    local,
    findQuota: (revision) => findQuota(process, revision, read),
    planNamespace: () => planClusterNamespace(read, process.metadata.namespace ?? "", clusters.markers),
    makeLRP: (revision, share, place) =>
      makeLRP(process, app, {
        ...context,
        ...(rollout && revision.spec.rollout === rollout.metadata.name && { guid: rolloutProcessGUID(rollout) }),
        revision,
        share,
        place,
      }),
  });
}

function readHistory(app: App, read: Reader): AppHistory {
  const key = appKey(app.metadata.namespace, app.metadata.name);
  return {
    rollouts: withoutDeleting(read.byIndex(Rollout, OWNING_APP_INDEX, key, app.metadata.namespace)),
    revisions: read.byIndex(Revision, OWNING_APP_INDEX, key, app.metadata.namespace),
  };
}

/** Published fields of the spec: what the Rollout that is about to end sets. */
function findAdoptedSpec(process: Process, { rollouts, revisions }: AppHistory): ReconcileResult["spec"] {
  const open = findOpenRollout(rollouts);
  return open?.status?.state === "Finishing" ? planAdoptedSpec(process, open, revisions) : undefined;
}

/**
 * An LRP newer than the app's Revision belongs to a Rollout that is over, or that this cache has not seen yet. Reading the Rollout by key makes the runtime
 * look at it live before it deletes that LRP.
 */
function readRolloutsOf(existing: readonly LRP[], running: Revision, { read, history }: LRPContext): void {
  const newer = new Set(existing.map(({ spec }) => Number(spec.revision)).filter((at) => at > running.spec.version));
  for (const { spec, metadata } of history.revisions)
    if (spec.rollout !== undefined && newer.has(spec.version))
      read.find(Rollout, { namespace: metadata.namespace, name: spec.rollout });
}

/** Grant of the quotas to this process; undefined where none limits processes. */
function findQuota(process: Process, revision: Revision, read: Reader): ProcessQuota | undefined {
  if (!hasProcessLimits(read, process.metadata.namespace ?? "")) return undefined;
  const size = revision.spec.processes.find(({ type }) => type === process.spec.type);
  return { grant: process.status?.quota, size };
}

/** Leaves the LRPs alone. Until the app's status is about its current spec, the process's status does not change. */
function planWithoutRevision(app: App): ReconcileResult {
  if (!isObserved(app)) return { keepStatus: true };
  const ready = app.status?.conditions?.find(({ type, status }) => type === "Ready" && status === "False");
  const why = ready ? `${ready.reason}: ${ready.message}` : "it has no Revision";
  return {
    ready: { status: "False", reason: "NoRevision", message: `app ${app.metadata.name} has not started: ${why}` },
  };
}
