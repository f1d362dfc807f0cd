// Maintains a Process's one LRP, at the app's current Revision. The LRP of an earlier start is deleted first; only a Rollout keeps it.
import { App } from "../../crds/app/app.ts";
import { BackendClass } from "../../crds/backend-class/backend-class.ts";
import { Domain } from "../../crds/domain/domain.ts";
import { Droplet } from "../../crds/droplet/droplet.ts";
import { EnvironmentGroup } from "../../crds/environment-group/environment-group.ts";
import { groupVariables } from "../../crds/environment-group/group-variables.ts";
import { SYSTEM_NAMESPACE } from "../../crds/groups.ts";
import { displayNameOf } from "../../crds/object-names.ts";
import { LRP } from "../../crds/lrp/lrp.ts";
import { Process } from "../../crds/process/process.ts";
import { Revision } from "../../crds/revision/revision.ts";
import { rolloutProcessGUID } from "../../crds/rollout/rules.ts";
import { Rollout } from "../../crds/rollout/rollout.ts";
import { Route } from "../../crds/route/route.ts";
import { LABELS } from "../../crds/labels.ts";
import {
  defineController,
  NotReady,
  watch,
  type Controller,
  type ReconcileContext,
  type ReconcileResult,
} from "../../kube/controller/controller.ts";
import type { Draft } from "../../kube/client/client.ts";
import type { Reader } from "../../kube/cache/reader.ts";
import {
  OWNING_APP_INDEX,
  appKey,
  toAppOwnership,
  indexByApp,
  getApp,
  mapAppToOwned,
  withoutDeleting,
} from "../shared/app-owned.ts";
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
import { listRouteURLs } from "../shared/route-urls.ts";
import { hasProcessLimits, QUOTA_KINDS } from "../shared/quotas.ts";
import { getTenancy, TENANCY_KINDS } from "../shared/tenancy.ts";
import { lrpName, planLRP } from "./lrp.ts";
import {
  desiredInstances,
  planHeldRollout,
  planLRPs,
  planNoInstances,
  planStopped,
  type ProcessQuota,
} from "./plan.ts";
import { planRolloutLRPs } from "./rollout.ts";

export interface ProcessOptions {
  /** The address of the CF API, for VCAP_APPLICATION. */
  apiURL: string;
}

export function processController({ apiURL }: ProcessOptions): Controller {
  return defineController({
    name: "process",
    for: Process,
    owns: [LRP],
    reads: [...TENANCY_KINDS, ...QUOTA_KINDS, BackendClass, Domain, Droplet, EnvironmentGroup, Route],
    indexes: { [GUID_INDEX]: indexByGUID, [OWNING_APP_INDEX]: indexByApp },
    watches: [
      watch(App, mapAppToOwned),
      watch(Revision, (revision) => ({ [OWNING_APP_INDEX]: indexByApp(revision)[0] ?? "" })),
      watch(Rollout, (rollout) => ({ [OWNING_APP_INDEX]: indexByApp(rollout)[0] ?? "" })),
    ],

    async reconcile(process, context) {
      const { read } = context;
      const app = getApp(read, process);
      const appGUID = resolveGUID(App, app, context).guid;
      const { guid, labels } = resolveProcessGUID(process, appGUID, context);
      const history = readHistory(app, read);
      const adopted = findAdoptedSpec(process, history);
      return {
        ...reconcileLRPs(process, app, { guid, appGUID, apiURL, read, history }),
        ...toAppOwnership(app, appGUID, labels),
        ...(adopted && { spec: adopted }),
      };
    },
  });
}

/** The web process presents its app's GUID and has no label. Any other process must not have an app's GUID, so App shares the check. */
function resolveProcessGUID(
  process: Process,
  appGUID: string,
  context: ReconcileContext,
): { guid: string; labels: Record<string, string> } {
  return process.spec.type === "web" ? { guid: appGUID, labels: {} } : resolveGUID(Process, process, context, [App]);
}

interface LRPContext {
  guid: string;
  appGUID: string;
  apiURL: string;
  read: Reader;
  history: AppHistory;
}

function reconcileLRPs(process: Process, app: App, context: LRPContext): ReconcileResult {
  if (app.spec.state === "Stopped") return planStopped(process);
  const { read, history } = context;
  if (app.status?.revision === undefined) return planWithoutRevision(app);
  const existing = listOwnedLRPs(process, read);
  const versions = process.spec.type === "web" ? findRolloutVersions(app, history, existing) : undefined;
  if (versions) return reconcileRollout(process, app, { ...context, versions, existing });
  if (desiredInstances(process) === 0) return planNoInstances("NoInstances");
  const revision = findRunningRevision(app, history);
  // Usually the cache only lags behind; the app controller creates a missing Revision again.
  if (!revision) return { keepStatus: true };
  readRolloutsOf(existing, revision, context);
  return planLRPs(process, {
    quota: findQuota(process, revision, context.read),
    name: lrpName(process, revision),
    revision: revision.metadata.name,
    existing,
    makeLRP: (instances) => makeLRP(process, app, { ...context, revision, instances }),
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
        instances,
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

function listOwnedLRPs(process: Process, read: Reader): LRP[] {
  return read.list(LRP, {
    namespace: process.metadata.namespace,
    labels: { [LABELS.ownerUid]: process.metadata.uid ?? "" },
  });
}

/** @throws NotReady while an input of the LRP is missing */
function makeLRP(
  process: Process,
  app: App,
  { guid, appGUID, apiURL, read, revision, instances }: LRPContext & { revision: Revision; instances: number },
): Draft {
  const { namespace } = process.metadata;
  const snapshot = revision.spec.processes.find((candidate) => candidate.type === process.spec.type);
  if (!snapshot)
    throw new NotReady(
      "NotInRevision",
      `revision ${revision.spec.version} has no process ${process.spec.type}; it starts with the app's next restart`,
      { isFailure: true },
    );
  const droplet = read.find(Droplet, { namespace, name: revision.spec.dropletRef.name });
  if (!droplet)
    throw new NotReady(
      "DropletMissing",
      `droplet ${revision.spec.dropletRef.name} of revision ${revision.spec.version} does not exist; push the app, or restart it with another droplet`,
      { isFailure: true },
    );
  const tenancy = getTenancy(read, namespace ?? "");
  const capabilities = read.find(BackendClass, { name: snapshot.runner })?.status?.capabilities ?? {};
  const named = { guid: appGUID, name: displayNameOf(app), object: app.metadata.name };
  return planLRP(
    {
      process,
      processGUID: guid,
      app: named,
      tenancy,
      revision,
      snapshot,
      droplet,
      apiURL,
      uris: listRouteURLs(read, { namespace, name: app.metadata.name, processType: process.spec.type }, tenancy),
      groupEnv: groupVariables(read.find(EnvironmentGroup, { namespace: SYSTEM_NAMESPACE, name: "running" })),
      capabilities,
    },
    instances,
  );
}
