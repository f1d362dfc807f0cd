// A process on the clusters of its PlacementDecision: the same plan as on one, for each of them.
import { cutDetails } from "../../crds/details.ts";
import { BackendClass } from "../../crds/backend-class/backend-class.ts";
import { LOCAL_CLUSTER } from "../../crds/cluster/local-cluster.ts";
import { LRP } from "../../crds/lrp/lrp.ts";
import { mergeLRPs, toPlacedLRP, type RunningLRP } from "../../crds/placement-decision/merged-lrps.ts";
import type { PlacementDecision } from "../../crds/placement-decision/placement-decision.ts";
import type { App } from "../../crds/app/app.ts";
import type { Process } from "../../crds/process/process.ts";
import type { Revision } from "../../crds/revision/revision.ts";
import type { Draft } from "../../kube/client/client.ts";
import type { ReconcileResult, RemoteClusters } from "../../kube/controller/controller.ts";
import { planStageSteps, type StageStep } from "../shared/rollout-stages.ts";
import {
  findLRPOf,
  findRolloutVersions,
  findRunningRevision,
  type AppHistory,
  type RolloutVersions,
} from "../shared/rollouts.ts";
import { RefusedElsewhere } from "../shared/refuse-elsewhere.ts";
import { countInstances } from "../shared/rollout-counts.ts";
import type { LRPPlace } from "./lrp.ts";
import {
  allowedInstances,
  desiredInstances,
  planHeld,
  planHeldRollout,
  planNoInstances,
  planStopped,
  startableInstances,
  toProcessReady,
  type ProcessQuota,
} from "./plan.ts";
import { planCluster, planClusterRollout, shareOf, type ClusterView, type MakeLRP, type Share } from "./placed-plan.ts";
import { toReady } from "./rollout.ts";

export interface PlacedInput {
  process: Process;
  app: App;
  decision: PlacementDecision;
  history: AppHistory;
  /** GUID of the process: the id by which children on other clusters name it. */
  guid: string;
  /** LRPs on the platform's own cluster. */
  local: readonly LRP[];
  clusters: RemoteClusters;
  findQuota: (revision: Revision) => ProcessQuota | undefined;
  makeLRP: (revision: Revision, share: Share, place: LRPPlace) => Draft;
  /** The space's namespace, as other clusters have it. */
  planNamespace: () => Draft | undefined;
}

/** The Process of a stopped app, and one that waits for its Revision, are planned as elsewhere, without children on any cluster. */
export function reconcilePlaced(input: PlacedInput): ReconcileResult {
  const { process, app } = input;
  const views = listViews(input);
  if (app.spec.state === "Stopped") return endEverywhere(planStopped(process), input, views);
  const merged = mergeLRPs(process.metadata.namespace, listPlaced(input, views));
  const versions = process.spec.type === "web" ? findRolloutVersions(app, input.history, merged) : undefined;
  if (versions) return planRollout(input, views, { versions, merged });
  if (desiredInstances(process) === 0) return endEverywhere(planNoInstances("NoInstances"), input, views);
  const revision = findRunningRevision(app, input.history);
  if (!revision) return { keepStatus: true };
  return planStart(input, views, { revision, merged });
}

function planStart(
  input: PlacedInput,
  views: readonly ClusterView[],
  { revision, merged }: { revision: Revision; merged: readonly RunningLRP[] },
): ReconcileResult {
  const { process, decision } = input;
  const quota = input.findQuota(revision);
  const current = findLRPOf(revision, merged);
  const allowed = current ? allowedInstances(process, current, quota) : startableInstances(process, quota);
  if (!current && allowed === 0) return endEverywhere(planHeld(quota, revision.metadata.name), input, views);
  const share = (cluster: string): Share => shareOf(cluster, decision.spec.assignments, allowed);
  const { plans, refusals } = planEach(views, (view) =>
    planCluster(view, { process, revision, share: share(view.name), makeLRP: placeLRP(input) }),
  );
  const running = current ? countInstances(current).routable.size : 0;
  return {
    ...toResult(input, plans),
    status: {
      runningInstances: running,
      lrp: current?.metadata.name,
      revision: revision.metadata.name,
      refused: undefined,
    },
    ready: toRefusedReady(refusals, { running, allowed }) ?? toPlacedReady(decision, current, { running, allowed }),
  };
}

interface ClusterPlan {
  name: string;
  drafts: Draft[];
}

/** Why clusters cannot start the version, by their names. */
type Refusals = ReadonlyMap<string, RefusedElsewhere>;

/** A cluster that cannot start the version is left alone, with what it has, and holds up no other. */
function planEach(
  views: readonly ClusterView[],
  plan: (view: ClusterView) => Draft[],
): { plans: ClusterPlan[]; refusals: Refusals } {
  const refusals = new Map<string, RefusedElsewhere>();
  const plans = views.flatMap((view) => {
    try {
      return [{ name: view.name, drafts: plan(view) }];
    } catch (error) {
      if (!(error instanceof RefusedElsewhere)) throw error;
      refusals.set(view.name, error);
      return [];
    }
  });
  return { plans, refusals };
}

function toRefusedReady(
  refusals: Refusals,
  { running, allowed }: { running: number; allowed: number },
): ReconcileResult["ready"] {
  const [first] = refusals.values();
  if (!first) return undefined;
  const names = [...refusals.keys()].join(", ");
  const message = `${running} of ${allowed} instances run; on ${names} it does not start: ${first.message}`;
  return { status: "False", reason: first.reason, message, isFailure: true };
}

function toPlacedReady(
  { spec, status }: PlacementDecision,
  current: RunningLRP | undefined,
  { running, allowed }: { running: number; allowed: number },
): ReconcileResult["ready"] {
  const problem = status?.conditions?.find(({ type, status: is }) => type === "Ready" && is === "False");
  if (spec.assignments.length === 0)
    return {
      status: "False",
      reason: "NoCluster",
      message: problem?.message ?? "no cluster takes the process",
      isFailure: true,
    };
  if (current) return toProcessReady(current, running, allowed);
  return { status: "False", reason: "Starting", message: `0 of ${allowed} instances run` };
}

/** Each stage of clusters has its own step; each cluster runs its part of every version. */
function planRollout(
  input: PlacedInput,
  views: readonly ClusterView[],
  { versions, merged }: { versions: RolloutVersions; merged: readonly RunningLRP[] },
): ReconcileResult {
  const { process, decision, history } = input;
  const { rollout, running, target } = versions;
  const held = target && planHeldRollout(process, input.findQuota(target), rollout);
  if (held) return held;
  const { assignments } = decision.spec;
  const wanted = desiredInstances(process);
  const known = new Set(views.map(({ name }) => name));
  const stages = planStageSteps(versions, history, {
    namespace: process.metadata.namespace,
    placed: listPlaced(input, views),
    assignments,
    wanted,
    silent: new Set(assignments.map(({ cluster }) => cluster).filter((name) => !known.has(name))),
  });
  const { plans, refusals } = planEach(views, (view) =>
    planClusterRollout(view, {
      process,
      versions,
      stage: stages.find(({ clusters }) => clusters.includes(view.name)),
      share: shareOf(view.name, assignments, wanted),
      makeLRP: placeLRP(input),
    }),
  );
  const routable = merged.reduce((sum, lrp) => sum + countInstances(lrp).routable.size, 0);
  return {
    ...toResult(input, plans),
    status: {
      runningInstances: routable,
      lrp: findLRPOf(running, merged)?.metadata.name,
      revision: running.metadata.name,
      refused: target && toRefused(target, refusals, stages),
    },
    ready: toRefusedReady(refusals, { running: routable, allowed: wanted }) ?? toReady(rollout, routable, wanted),
  };
}

function toRefused(
  { spec }: Revision,
  refusals: Refusals,
  stages: readonly StageStep[],
): NonNullable<Process["status"]>["refused"] {
  const underWay = new Set(stages.filter(({ isUnderWay }) => isUnderWay).flatMap(({ clusters }) => clusters));
  const first = [...refusals].find(([name]) => underWay.has(name));
  if (!first) return undefined;
  const [cluster, { message }] = first;
  return { revision: String(spec.version), message: cutDetails(`cluster ${cluster} cannot start it: ${message}`) };
}

/** The LRP of a cluster: rendered for its class there, and named so that a restored platform finds it. */
function placeLRP({ makeLRP, clusters, guid }: PlacedInput): MakeLRP {
  return (revision, share, name) => {
    if (name === LOCAL_CLUSTER) return makeLRP(revision, share, {});
    const runner = (className: string): BackendClass | undefined =>
      clusters.find(name)?.read.find(BackendClass, { name: className });
    return makeLRP(revision, share, { owner: `${clusters.markers?.hub}/${guid}`, findRunner: runner });
  };
}

function toResult({ guid, planNamespace }: PlacedInput, plans: readonly ClusterPlan[]): ReconcileResult {
  const remote = plans.filter(({ name }) => name !== LOCAL_CLUSTER);
  const namespace = remote.some(({ drafts }) => drafts.length > 0) ? planNamespace() : undefined;
  return {
    children: plans.find(({ name }) => name === LOCAL_CLUSTER)?.drafts ?? [],
    remote: {
      owner: guid,
      children: Object.fromEntries(remote.map(({ name, drafts }) => [name, drafts])),
      ...(namespace && {
        ensured: Object.fromEntries(
          remote.filter(({ drafts }) => drafts.length > 0).map(({ name }) => [name, [namespace]]),
        ),
      }),
    },
  };
}

function endEverywhere(result: ReconcileResult, input: PlacedInput, views: readonly ClusterView[]): ReconcileResult {
  return {
    ...result,
    ...toResult(
      input,
      views.map(({ name }) => ({ name, drafts: [] })),
    ),
  };
}

/** The clusters whose LRPs are known now; each other one is left alone. */
function listViews({ clusters, guid, local }: PlacedInput): ClusterView[] {
  const remote = clusters.names().flatMap((name) => {
    const existing = clusters.find(name)?.listOwned(LRP, guid);
    return existing ? [{ name, existing }] : [];
  });
  return [{ name: LOCAL_CLUSTER, existing: local }, ...remote];
}

/** All LRPs as their clusters say, or as a cluster that cannot be asked said last. */
function listPlaced({ decision }: PlacedInput, views: readonly ClusterView[]): ReturnType<typeof toPlacedLRP>[] {
  const seen = new Set(views.map(({ name }) => name));
  return [
    ...views.flatMap(({ name, existing }) => existing.map((lrp) => toPlacedLRP(name, lrp))),
    ...(decision.status?.clusters ?? []).filter(({ name }) => !seen.has(name)),
  ];
}
