// Claims an App's name, and creates its missing Processes and a Revision at each start and restart.
import { isDeepStrictEqual } from "node:util";
import { Adjustment } from "../../crds/adjustment/adjustment.ts";
import { App } from "../../crds/app/app.ts";
import { BackendClass } from "../../crds/backend-class/backend-class.ts";
import { Build } from "../../crds/build/build.ts";
import { Claim } from "../../crds/claim/claim.ts";
import { appName, claimObjectName } from "../../crds/claim/rules.ts";
import { Droplet } from "../../crds/droplet/droplet.ts";
import { Process } from "../../crds/process/process.ts";
import { Revision } from "../../crds/revision/revision.ts";
import { Rollout } from "../../crds/rollout/rollout.ts";
import { ServiceBinding } from "../../crds/service-binding/service-binding.ts";
import { ServiceInstance } from "../../crds/service-instance/service-instance.ts";
import { Task } from "../../crds/task/task.ts";
import { appNamespaceOf } from "../../crds/route/destinations.ts";
import { Route } from "../../crds/route/route.ts";
import { Secret } from "../../kube/api/builtin.ts";
import type { Draft } from "../../kube/client/client.ts";
import { NotSynced } from "../../kube/cache/errors.ts";
import type { Reader } from "../../kube/cache/reader.ts";
import { resourceId } from "../../kube/api/resource-ref.ts";
import { isForbidden, isNotFound } from "../../kube/client/errors.ts";
import {
  defineController,
  watch,
  type Controller,
  type ReconcileContext,
  type ReconcileResult,
  type WatchRule,
} from "../../kube/controller/controller.ts";
import { OWNING_APP_INDEX, appKey, indexByApp, withoutDeleting } from "../shared/app-owned.ts";
import { snapshotEnv } from "../shared/env-snapshot.ts";
import { snapshotServices } from "../shared/services-snapshot.ts";
import { deleteAll } from "../shared/history-limits.ts";
import { defineGUIDLabelController } from "../shared/guid-controller.ts";
import { correctedGUIDLabel, indexByGUID, GUID_INDEX, resolveGUID } from "../shared/guid.ts";
import { CLAIMED_NAME_INDEX, ensureClaim } from "../shared/claims.ts";
import { findReleaseProblem, RELEASE_TYPE } from "../shared/release-task.ts";
import { createHeldStarts, type HeldStart, type HeldStarts, type StartGate } from "../shared/start-gate.ts";
import { DESTINATION_INDEX, indexByDestination } from "../shared/route-urls.ts";
import { findDropletName, findRolloutWithoutRevision, type AppHistory } from "../shared/rollouts.ts";
import { planDroplet, planMissingProcesses, planOldRevisions, planAppStatus, type AppPlan } from "./plan.ts";
import { planAppReady } from "./ready.ts";
import { planPending } from "./pending.ts";
import { planReleaseTask } from "./release.ts";
import { isSnapshotDue, planSnapshot, type Snapshot } from "./snapshot.ts";

const DROPLET_INDEX = "controllers/droplet";

export const appGUIDController = defineGUIDLabelController("app-guid", App);

const APP_WATCHES: readonly WatchRule[] = [
  watch(Claim, (claim) => ({ [CLAIMED_NAME_INDEX]: claim.metadata.name })),
  watch(Process, (process) => [mapToApp(process)]),
  watch(Revision, (revision) => [mapToApp(revision)], { indexes: { [OWNING_APP_INDEX]: indexByApp } }),
  watch(Rollout, (rollout) => [mapToApp(rollout)]),
  watch(Build, (build) => [mapToApp(build)]),
  watch(Task, (task) => (task.spec.name === RELEASE_TYPE ? [mapToApp(task)] : [])),
  watch(Droplet, (droplet) => ({ [DROPLET_INDEX]: appKey(droplet.metadata.namespace, droplet.metadata.name) })),
  watch(
    Route,
    (route) =>
      route.spec.destinations.map((destination) => ({
        namespace: appNamespaceOf(route, destination),
        name: destination.app,
      })),
    { indexes: { [DESTINATION_INDEX]: indexByDestination } },
  ),
  watch(BackendClass, (backend, read) =>
    backend.spec.role === "runner"
      ? read
          .list(App)
          .filter(isWaitingForRevision)
          .map(({ metadata }) => metadata)
      : [],
  ),
];

export interface AppOptions {
  startGate: StartGate;
}

export function appController({ startGate }: AppOptions): Controller {
  const held = createHeldStarts(startGate);
  return defineController({
    name: "app",
    for: App,
    reads: [Adjustment, BackendClass, ServiceInstance, ServiceBinding],
    indexes: {
      [GUID_INDEX]: indexByGUID,
      [CLAIMED_NAME_INDEX]: (app: App) => [claimObjectName(appName(app))],
      [DROPLET_INDEX]: (app: App) => (app.spec.droplet ? [appKey(app.metadata.namespace, app.spec.droplet.name)] : []),
    },
    watches: APP_WATCHES,
    sources: [held.source],
    reconcile: (app, context) => reconcileApp(app, held, context),
  });
}

async function reconcileApp(app: App, held: HeldStarts, context: ReconcileContext): Promise<ReconcileResult> {
  const { read, client } = context;
  const { guid, labels } = resolveGUID(App, app, context);
  await ensureClaim(App.kind, app, appName(app), context);
  const { namespace } = app.metadata;
  const key = appKey(namespace, app.metadata.name);
  const processes = withoutDeleting(read.byIndex(Process, OWNING_APP_INDEX, key, namespace));
  const revisions = listRevisions(app, read);
  const droplet = app.spec.droplet && read.find(Droplet, { namespace, name: app.spec.droplet.name });
  const history = { rollouts: withoutDeleting(read.byIndex(Rollout, OWNING_APP_INDEX, key, namespace)), revisions };
  const due = findDueRollout(app, history, read) ?? { rollout: undefined, droplet };
  const missing = planMissingProcesses(app, guid, { processes, droplet: due.droplet, now: context.now() });
  const isComplete = missing.waitMs === 0 && missing.drafts.length === 0;
  const isDue = isComplete && isSnapshotDue(app, revisions);
  const isSnapshot = isDue || (isComplete && due.rollout !== undefined);
  const sources = isSnapshot ? { app, guid, ...due, processes, revisions } : undefined;
  const { snapshot, release, startProblem } = await snapshotWhenAllowed(sources, held, context);
  const outcome = planAppStatus(app, guid, {
    ...history,
    snapshot,
    isStartDue: isDue,
    routes: read.byIndex(Route, DESTINATION_INDEX, key, namespace),
  });
  // A start waits for its Revision: the clean-up follows.
  if (!outcome.revision) await deleteOldRevisions(app, revisions, client);
  const ready = planAppReady(app, {
    processes,
    builds: withoutDeleting(read.byIndex(Build, OWNING_APP_INDEX, key, namespace)),
    droplet,
    revision: outcome.status.revision,
    isStartDue: isDue,
    startProblem: startProblem.ready,
  });
  return {
    labels: correctedGUIDLabel(app, labels),
    ...planCreations([...missing.drafts, ...release], outcome),
    spec: planDroplet(app, history),
    ...planOwnStatus(app, outcome, revisions),
    ...(isComplete ? { ...startProblem, ready } : planRequeue(missing)),
  };
}

/** The Revision that the status names is in force, once it is there. */
function planOwnStatus(
  app: App,
  { status }: AppPlan,
  revisions: readonly Revision[],
): Pick<ReconcileResult, "status" | "conditions"> {
  const inForce = revisions.find(({ metadata }) => metadata.name === status.revision);
  return { status, conditions: planPending(app, inForce) };
}

interface SnapshotOutcome {
  snapshot: Snapshot | undefined;
  /** The task to create that runs before the version starts. */
  release: Draft[];
  /** Why the version does not start yet, if it does not. */
  startProblem: Partial<HeldStart>;
}

const NO_SNAPSHOT: SnapshotOutcome = { snapshot: undefined, release: [], startProblem: {} };

/** There is a snapshot only where one is due, operator policy allows it, and the droplet's release command, if any, has succeeded. */
async function snapshotWhenAllowed(
  sources: SnapshotSources | undefined,
  held: HeldStarts,
  context: ReconcileContext,
): Promise<SnapshotOutcome> {
  if (!sources) return NO_SNAPSHOT;
  const { droplet, app, processes } = sources;
  const denial = droplet && held.find(app.metadata, [app, ...processes, droplet], context.now());
  if (denial) return { ...NO_SNAPSHOT, startProblem: denial };
  const draft = droplet && planReleaseTask({ ...sources, droplet });
  const task = draft && context.read.find(Task, { namespace: app.metadata.namespace, name: draft.metadata.name ?? "" });
  const problem = draft && findReleaseProblem(task);
  if (problem) return { ...NO_SNAPSHOT, release: task ? [] : [draft], startProblem: { ready: problem } };
  return { ...NO_SNAPSHOT, snapshot: await takeSnapshot(sources, context) };
}

/** Whoever applies a process or task later owns the fields that are left out here; a Revision is nobody else's. */
function planCreations(
  drafts: readonly Draft[],
  { revision }: AppPlan,
): Pick<ReconcileResult, "createOnce" | "create"> {
  return { createOnce: drafts, create: revision ? [revision] : [] };
}

/** The Rollout of a started app that needs a Revision, and its droplet. Undefined while what it names does not exist: the Rollout says so. */
function findDueRollout(
  app: App,
  history: AppHistory,
  read: Reader,
): { rollout: Rollout; droplet: Droplet } | undefined {
  const rollout = app.spec.state === "Started" ? findRolloutWithoutRevision(history) : undefined;
  const name = rollout && findDropletName(rollout, app, history);
  const droplet = name === undefined ? undefined : read.find(Droplet, { namespace: app.metadata.namespace, name });
  return rollout && droplet && { rollout, droplet };
}

/** Reconciles an app with missing processes again when they appear or their grace ends. */
function planRequeue({ drafts, waitMs }: ReturnType<typeof planMissingProcesses>): ReconcileResult {
  if (drafts.length > 0) return { keepStatus: true };
  return waitMs > 0 ? { keepStatus: true, requeueAfterMs: waitMs } : {};
}

function mapToApp(part: Process | Revision | Build | Rollout | Task): { namespace?: string; name: string } {
  return { namespace: part.metadata.namespace, name: part.spec.appRef.name };
}

/** Started without a Revision: a change of a BackendClass may let it start. */
function isWaitingForRevision(app: App): boolean {
  return app.spec.state === "Started" && app.status?.revision === undefined;
}

interface SnapshotSources {
  app: App;
  guid: string;
  droplet: Droplet | undefined;
  processes: readonly Process[];
  revisions: readonly Revision[];
  rollout: Rollout | undefined;
}

/**
 * Reads the processes live: a Revision is permanent, and the cache may miss a size change just before the start. A Rollout does not change the App, so
 * that is read live, too.
 */
async function takeSnapshot(
  { guid, droplet, ...cached }: SnapshotSources,
  { read, client }: ReconcileContext,
): Promise<Snapshot | undefined> {
  if (!droplet) return undefined;
  const findApp = async (): Promise<App> =>
    cached.rollout ? ((await client.find(App, cached.app.metadata)) ?? cached.app) : cached.app;
  const found = findApp();
  const [live, app, { env }, services] = await Promise.all([
    Promise.all(cached.processes.map(({ metadata }) => client.find(Process, metadata))),
    found,
    found.then((one) => snapshotEnv(one, guid, client)),
    snapshotServices({ app: cached.app, guid }, { read, client }),
  ]);
  // A Build that has appeared meanwhile may belong to an earlier restart: it must not count as this one's.
  if (!isDeepStrictEqual(namesOf(listRevisions(cached.app, read)), namesOf(cached.revisions)))
    throw new NotSynced(resourceId(Revision), cached.app.metadata.namespace);
  const sources = {
    ...cached,
    app,
    droplet,
    processes: withoutDeleting(live.filter((process) => process !== undefined)),
  };
  return planSnapshot({
    ...sources,
    env,
    services,
    classes: read.list(BackendClass),
    adjustments: read.list(Adjustment, { namespace: app.metadata.namespace }),
  });
}

function listRevisions({ metadata: { name, namespace } }: App, read: Reader): Revision[] {
  return withoutDeleting(read.byIndex(Revision, OWNING_APP_INDEX, appKey(namespace, name), namespace));
}

function namesOf(objects: readonly Revision[]): string[] {
  return objects.map(({ metadata }) => metadata.name).toSorted();
}

async function deleteOldRevisions(
  app: App,
  revisions: readonly Revision[],
  client: ReconcileContext["client"],
): Promise<void> {
  const old = planOldRevisions(app, revisions);
  await deleteAll(client, Revision, old.revisions);
  for (const name of old.secrets) {
    try {
      await client.delete(Secret, { namespace: app.metadata.namespace, name });
    } catch (error) {
      // In a namespace that is being deleted the platform's RoleBinding may go first; the Secrets follow by themselves.
      if (!isNotFound(error) && !isForbidden(error)) throw error;
    }
  }
}
