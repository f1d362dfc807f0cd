// Runs a Task: gives it its number, creates its TaskRun, and deletes the oldest finished tasks of the app.
import { App } from "../../crds/app/app.ts";
import { BackendClass } from "../../crds/backend-class/backend-class.ts";
import { Cluster } from "../../crds/cluster/cluster.ts";
import { LOCAL_CLUSTER } from "../../crds/cluster/local-cluster.ts";
import { Droplet } from "../../crds/droplet/droplet.ts";
import { toRunnable } from "../../crds/droplet/rules.ts";
import { displayNameOf } from "../../crds/object-names.ts";
import { EnvironmentGroup } from "../../crds/environment-group/environment-group.ts";
import { groupVariables } from "../../crds/environment-group/group-variables.ts";
import { SYSTEM_NAMESPACE } from "../../crds/groups.ts";
import { Process } from "../../crds/process/process.ts";
import { Route } from "../../crds/route/route.ts";
import { ServiceBinding } from "../../crds/service-binding/service-binding.ts";
import { ServiceInstance } from "../../crds/service-instance/service-instance.ts";
import { isFinished, planSequence } from "../../crds/task/sequence.ts";
import { Task } from "../../crds/task/task.ts";
import { TaskRun } from "../../crds/task-run/task-run.ts";
import { Namespace, Secret } from "../../kube/api/builtin.ts";
import type { ResourceRef } from "../../kube/api/resource-ref.ts";
import type { Draft } from "../../kube/client/client.ts";
import {
  defineController,
  NotReady,
  watch,
  type Controller,
  type ReconcileContext,
  type ReconcileResult,
} from "../../kube/controller/controller.ts";
import { appKey, getApp, indexByApp, OWNING_APP_INDEX, toAppOwnership } from "../shared/app-owned.ts";
import { chooseClass } from "../shared/choose-class.ts";
import { planClusterNamespace } from "../shared/cluster-namespace.ts";
import { withSecrets } from "../shared/cluster-secrets.ts";
import { quotaWatches, WAITING_INDEXES } from "../shared/counted-quotas.ts";
import { snapshotEnv } from "../shared/env-snapshot.ts";
import { requireMounts } from "../shared/require-mounts.ts";
import { snapshotServices } from "../shared/services-snapshot.ts";
import { deleteAll, HISTORY_LIMITS, planExcess } from "../shared/history-limits.ts";
import { GUID_INDEX, indexByGUID, resolveGUID } from "../shared/guid.ts";
import { isGivenUp } from "../shared/other-clusters.ts";
import { listRouteURLs } from "../shared/route-urls.ts";
import { placementWatches, UNPLACED_INDEXES } from "../shared/placement.ts";
import { getTenancy, TENANCY_KINDS } from "../shared/tenancy.ts";
import { createHeldStarts, type HeldStarts, type StartGate } from "../shared/start-gate.ts";
import { findTaskQuota } from "./quota.ts";
import { endTask, findTaskPlace, isElsewhere, toUnseen } from "./place.ts";
import { planFailedTask, planTaskRun, planTaskRunUpdate, planTaskStatus, taskRunName, toRemoteRun } from "./plan.ts";

/** Tasks that have not ended, by "any" and by app: only these wait for apps and classes. */
const OPEN_INDEX = "controllers/open";

const CLUSTER_INDEX = "controllers/cluster-of-task";

export interface TaskOptions {
  /** The address of the CF API, for VCAP_APPLICATION. */
  apiURL: string;
  startGate: StartGate;
}

const TASK_READS: readonly ResourceRef[] = [
  ...TENANCY_KINDS,
  Cluster,
  Process,
  Droplet,
  EnvironmentGroup,
  Namespace,
  Route,
  ServiceInstance,
  ServiceBinding,
];

export function taskController({ apiURL, startGate }: TaskOptions): Controller {
  const held = createHeldStarts(startGate);
  return defineController({
    name: "task",
    for: Task,
    owns: [TaskRun],
    reads: TASK_READS,
    remote: {
      owns: [TaskRun, Namespace],
      creates: [Secret],
      mapCluster: (cluster) => ({ [CLUSTER_INDEX]: cluster }),
    },
    finalizer: "cupola.dev/clusters",
    needsFinalizer: isElsewhere,
    finalize: endTask,
    indexes: {
      ...WAITING_INDEXES,
      ...UNPLACED_INDEXES,
      [GUID_INDEX]: indexByGUID,
      [OWNING_APP_INDEX]: indexByApp,
      [CLUSTER_INDEX]: ({ status }: Task) => (status?.cluster === undefined ? [] : [status.cluster]),
      [OPEN_INDEX]: (task: Task) => (isFinished(task) ? [] : ["any", ...indexByApp(task)]),
    },
    watches: [
      ...quotaWatches(Task, Process),
      ...placementWatches(),
      watch(App, (app) => ({ [OPEN_INDEX]: appKey(app.metadata.namespace, app.metadata.name) })),
      watch(BackendClass, () => ({ [OPEN_INDEX]: "any" })),
    ],
    sources: [held.source],

    reconcile: (task, context) => reconcileTask(task, { apiURL, held }, context),
  });
}

async function reconcileTask(
  task: Task,
  { apiURL, held }: Pick<OpenTask, "apiURL" | "held">,
  context: ReconcileContext,
): Promise<ReconcileResult> {
  const app = getApp(context.read, task);
  const appGUID = resolveGUID(App, app, context).guid;
  const { guid, labels } = resolveGUID(Task, task, context);
  const base = toAppOwnership(app, appGUID, labels);
  if (isFinished(task)) {
    await deleteExcessTasks(task, context);
    return { ...base, ...planFinished(task) };
  }
  return { ...(await reconcileOpenTask({ task, guid, app, appGUID, apiURL, held }, context)), ...base };
}

function planFinished({ status }: Task): ReconcileResult {
  if (status?.state === "Succeeded") return { ready: { status: "True", reason: "Succeeded", message: "" } };
  return { ready: { status: "False", reason: "Failed", message: status?.failureReason ?? "", isFailure: true } };
}

interface OpenTask {
  task: Task;
  guid: string;
  app: App;
  appGUID: string;
  apiURL: string;
  held: HeldStarts;
}

async function reconcileOpenTask(open: OpenTask, context: ReconcileContext): Promise<ReconcileResult> {
  const { task } = open;
  const { read } = context;
  const sequenceID = planSequence(task, listTasksOfApp(task, context));
  const run = read.find(TaskRun, { namespace: task.metadata.namespace, name: taskRunName(task) });
  // The inputs of a run may have changed since, so it is not planned again.
  if (run) return { children: [planTaskRunUpdate(run, task.spec)], ...planRunStatus(task, sequenceID, run) };
  const place = findTaskPlace(task, read);
  if ("waits" in place) {
    const cancelled = task.spec.cancelled && findObstacle(task, sequenceID, context);
    return cancelled || { ...planWaiting(task, sequenceID), ready: place.waits };
  }
  if (place.cluster !== LOCAL_CLUSTER) return reconcileElsewhere(open, { cluster: place.cluster, sequenceID }, context);
  const started = await planStart(open, sequenceID, context, (droplet) => startTask(open, droplet, context));
  return "draft" in started ? { children: [started.draft], ...started.status } : started;
}

function planRunStatus(task: Task, sequenceID: number, run: TaskRun): ReturnType<typeof planTaskStatus> {
  return planTaskStatus(task, { sequenceID, droplet: task.status?.droplet ?? task.spec.dropletRef?.name, run });
}

/** The draft of its run with its status, or why there is none. */
async function planStart(
  { task, app, held }: OpenTask,
  sequenceID: number,
  context: ReconcileContext,
  start: (droplet: Droplet) => Promise<Draft>,
): Promise<ReconcileResult | { draft: Draft; status: ReturnType<typeof planTaskStatus> }> {
  const obstacle = findObstacle(task, sequenceID, context);
  if (obstacle) return obstacle;
  const droplet = getDroplet({ task, app }, context);
  const denial = held.find(task.metadata, [task, droplet], context.now());
  if (denial) return { ...denial, ...planWaiting(task, sequenceID) };
  const draft = await start(droplet);
  return { draft, status: planTaskStatus(task, { sequenceID, droplet: droplet.metadata.name, run: undefined }) };
}

/** The same on another cluster, which keeps the TaskRun for as long as the Task exists. */
async function reconcileElsewhere(
  open: OpenTask,
  { cluster, sequenceID }: { cluster: string; sequenceID: number },
  context: ReconcileContext,
): Promise<ReconcileResult> {
  const { task, guid } = open;
  const { read, clusters, now } = context;
  if (isGivenUp(cluster, read))
    return planFailedTask(
      sequenceID,
      `cluster ${cluster} was given up; whether the command has ended is not known`,
      now(),
    );
  const remote = clusters.find(cluster);
  if (!remote) return { ...planUnseen(task, sequenceID), ready: toUnseen(cluster) };
  const place = (draft: Draft): Pick<ReconcileResult, "remote"> => ({
    remote: { owner: guid, children: { [cluster]: [draft] }, ensured: planEnsured(task, cluster, context) },
  });
  const [run] = remote.listOwned(TaskRun, guid);
  if (run) return { ...place(planTaskRunUpdate(run, task.spec)), ...planRunStatus(task, sequenceID, run) };
  const started = await planStart(open, sequenceID, context, async (droplet) =>
    toRemoteRun(await startTask(open, droplet, context), {
      name: task.metadata.name,
      guid,
      hub: clusters.markers?.hub,
    }),
  );
  return "draft" in started ? withSecrets({ ...place(started.draft), ...started.status }, TaskRun, context) : started;
}

/** The state that was last seen stays. */
function planUnseen(task: Task, sequenceID: number): Pick<ReconcileResult, "status"> {
  return task.status?.state === "Running" ? {} : planWaiting(task, sequenceID);
}

function planEnsured(task: Task, cluster: string, { read, clusters }: ReconcileContext): Record<string, Draft[]> {
  const namespace = planClusterNamespace(read, task.metadata.namespace ?? "", clusters.markers);
  return namespace ? { [cluster]: [namespace] } : {};
}

/** Why a task without a run gets none, or not yet. */
function findObstacle(task: Task, sequenceID: number, { read, now }: ReconcileContext): ReconcileResult | undefined {
  // Another run would be a second one: a command runs at most once.
  if (task.status?.state === "Running")
    return planFailedTask(sequenceID, "its TaskRun was deleted; whether the command has ended is not known", now());
  if (task.spec.cancelled) return planFailedTask(sequenceID, "task was cancelled", now());
  const full = findTaskQuota(task, read);
  return full && { ...planWaiting(task, sequenceID), ready: full };
}

/** The status of a task that may not start yet. */
function planWaiting(task: Task, sequenceID: number): Pick<ReconcileResult, "status"> {
  const { status } = planTaskStatus(task, { sequenceID, droplet: task.spec.dropletRef?.name, run: undefined });
  return status ? { status } : {};
}

/** @throws NotReady without a droplet; with one, the task starts by itself */
function getDroplet({ task, app }: Pick<OpenTask, "task" | "app">, { read }: ReconcileContext): Droplet {
  const name = task.spec.dropletRef?.name ?? task.status?.droplet ?? app.spec.droplet?.name;
  const droplet = name === undefined ? undefined : read.find(Droplet, { namespace: task.metadata.namespace, name });
  if (droplet) return droplet;
  const what =
    name === undefined ? `app ${app.metadata.name} has no current droplet` : `droplet ${name} does not exist`;
  throw new NotReady("DropletMissing", `${what}; push the app, or name a droplet that exists`, { isFailure: true });
}

async function startTask(
  { task, guid, app, appGUID, apiURL }: OpenTask,
  droplet: Droplet,
  { read, client }: ReconcileContext,
): Promise<ReturnType<typeof planTaskRun>> {
  const tenancy = getTenancy(read, task.metadata.namespace ?? "");
  const backend = chooseClass(read.list(BackendClass), {
    role: "task-runner",
    className: task.spec.runner,
    requires: { capability: "dropletKinds", word: toRunnable(droplet).kind },
  });
  const [{ env }, services] = await Promise.all([
    snapshotEnv(app, appGUID, client, task),
    snapshotServices({ app, guid: appGUID, task }, { read, client }),
  ]);
  requireMounts(backend, services);
  return planTaskRun({
    task,
    taskGUID: guid,
    app: { guid: appGUID, name: displayNameOf(app) },
    tenancy,
    droplet,
    groupEnv: groupVariables(read.find(EnvironmentGroup, { namespace: SYSTEM_NAMESPACE, name: "running" })),
    env,
    services,
    apiURL,
    uris: listRouteURLs(read, app.metadata, tenancy),
    className: backend.metadata.name,
  });
}

function listTasksOfApp(task: Task, { read }: ReconcileContext): Task[] {
  return read.byIndex(Task, OWNING_APP_INDEX, indexByApp(task)[0] ?? "", task.metadata.namespace);
}

async function deleteExcessTasks(task: Task, context: ReconcileContext): Promise<void> {
  const finished = listTasksOfApp(task, context).filter(isFinished);
  if (finished.length <= HISTORY_LIMITS.tasks) return;
  await deleteAll(
    context.client,
    Task,
    planExcess(finished, HISTORY_LIMITS.tasks, () => false),
  );
}
