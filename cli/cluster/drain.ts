// `cup clusters drain`, `failover`, `remove` and `forget`: how a cluster is left, in calm and after its loss.
import { setTimeout as delay } from "node:timers/promises";
import { Cluster } from "../../crds/cluster/cluster.ts";
import { isReachable } from "../../controllers/shared/reachable.ts";
import { SYSTEM_NAMESPACE } from "../../crds/groups.ts";
import { IsolationSegment } from "../../crds/isolation-segment/isolation-segment.ts";
import { PlacementDecision } from "../../crds/placement-decision/placement-decision.ts";
import { Process } from "../../crds/process/process.ts";
import { isFinished } from "../../crds/task/sequence.ts";
import { Task } from "../../crds/task/task.ts";
import { clusterNamespace } from "../../crds/work/names.ts";
import { Namespace, Role, RoleBinding, Secret } from "../../kube/api/builtin.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { ignoreNotFound } from "../../kube/client/ignore-gone.ts";
import { confirm } from "../confirm.ts";
import { Failure } from "../failure.ts";
import type { Progress, Result } from "../output.ts";
import { roleName, secretName } from "./add.ts";
import { removePullObjects, revokeAgent } from "./agent-objects.ts";
import { getCluster } from "./clusters.ts";

const POLL_MS = 1_000;
/** A drain that has not got on for so long needs a person. */
const STUCK_MS = 180_000;
/** Longer than the count of LRPs is old. */
const COUNT_DEADLINE_MS = 30_000;
const FORGET_DEADLINE_MS = 60_000;

export interface LeaveOptions {
  wait: boolean;
}

export interface FailoverOptions extends LeaveOptions {
  force?: boolean;
}

/** New first: each instance ends when its successor on another cluster takes requests. */
export async function drain(
  kube: KubeClient,
  name: string,
  { wait, progress }: LeaveOptions & { progress: Progress },
): Promise<Result> {
  if (!isReachable(await getCluster(kube, name)))
    throw new Failure(`cluster ${name} does not answer, so its instances cannot end there`, {
      next: `cup clusters failover ${name} starts them on other clusters`,
    });
  await leave(kube, name);
  return wait ? awaitEmpty(kube, name, progress) : beginning(name, "drained");
}

/** Two instances may share an index until the cluster answers again and ends its own. */
export async function failover(
  kube: KubeClient,
  name: string,
  { wait, force, progress }: FailoverOptions & { progress: Progress },
): Promise<Result> {
  const refusal = judgeFailover(await getCluster(kube, name), force);
  if (refusal) throw refusal;
  await leave(kube, name);
  return wait ? awaitEmpty(kube, name, progress, await listNever(kube)) : beginning(name, "given over");
}

/** Only of a cluster that was seen before and is silent now does the platform know that it is lost; `force` is for a person who knows it. Pure. */
export function judgeFailover(cluster: Cluster, force = false): Failure | undefined {
  const { name } = cluster.metadata;
  if (isReachable(cluster))
    return new Failure(`cluster ${name} answers`, {
      next: `cup clusters drain ${name}, which ends no instance too early`,
    });
  const condition = cluster.status?.conditions?.find(({ type }) => type === "Reachable");
  if (force || condition?.reason === "Silent") return undefined;
  const why = condition ? `${condition.reason}: ${condition.message}` : `cluster ${name} has not been asked yet`;
  return new Failure(`whether the instances on cluster ${name} still run is not known (${why})`, {
    next: `mend that, and see cup clusters; where the cluster is lost: cup clusters failover ${name} -f`,
  });
}

/** Nothing new comes while the last LRPs are counted. */
export async function remove(kube: KubeClient, name: string, progress: Progress): Promise<Result> {
  const { spec } = await getCluster(kube, name);
  if (!spec.cordoned) await patchSpec(kube, name, { cordoned: true });
  await awaitUnused(kube, name, progress);
  // A placement from before the cordon shows in the second look.
  await delay(POLL_MS);
  await awaitUnused(kube, name, progress);
  return forgetObjects(kube, name, `Cluster ${name} is removed. The chart on it can be uninstalled.`);
}

/** @throws Failure, at once for a task, which may take hours */
async function awaitUnused(kube: KubeClient, name: string, progress: Progress): Promise<void> {
  await awaitNoProcess(kube, name, progress);
  const tasks = await countTasks(kube, name);
  if (tasks > 0) throw toUnfinished(await getCluster(kube, name), tasks);
}

/** Counts of LRPs are some seconds old, so an empty cluster is waited for, as are processes that are being deleted. @throws Failure */
async function awaitNoProcess(kube: KubeClient, name: string, progress: Progress): Promise<void> {
  const deadline = Date.now() + COUNT_DEADLINE_MS;
  for (let last = 0; ; await delay(POLL_MS)) {
    const cluster = await getCluster(kube, name);
    const held = await listHeld(kube, name);
    const lrps = cluster.status?.lrps ?? 0;
    if (held.length === 0 && lrps === 0) return;
    if (Date.now() > deadline || !isReachable(cluster) || (await isAnyKept(kube, held))) throw toInUse(cluster);
    if (lrps !== last) progress.step(`Waiting for the end of the last LRPs on cluster ${name}: ${lrps}`);
    last = lrps;
  }
}

/** Whether a process stays: its decision has its name, and outlives it until its instances have ended. */
async function isAnyKept(kube: KubeClient, decisions: readonly PlacementDecision[]): Promise<boolean> {
  for (const { metadata } of decisions) {
    const process = await kube.find(Process, metadata);
    if (process && process.metadata.deletionTimestamp === undefined) return true;
  }
  return false;
}

/** A removed cluster fails its tasks. */
function toUnfinished(cluster: Cluster, tasks: number): Failure {
  const { name } = cluster.metadata;
  const wait = "wait for the end of its tasks and repeat this, or end them: cf terminate-task; ";
  return new Failure(`${describeTasks(tasks)} not ended on cluster ${name}`, {
    next: `${isReachable(cluster) ? wait : ""}cup clusters forget ${name} fails them`,
  });
}

function describeTasks(count: number): string {
  return count === 1 ? "1 task has" : `${count} tasks have`;
}

function toInUse(cluster: Cluster): Failure {
  const { name } = cluster.metadata;
  return new Failure(`cluster ${name} still runs apps of this platform`, {
    next: isReachable(cluster)
      ? `cup clusters drain ${name}`
      : `cup clusters failover ${name}, or cup clusters forget ${name}`,
  });
}

/** For a cluster that never comes back, or what is left of one whose Cluster kubectl has deleted. */
export async function forget(
  kube: KubeClient,
  name: string,
  { force }: { force?: boolean | undefined },
): Promise<Result> {
  if (!(await hasLeftovers(kube, name))) await getCluster(kube, name);
  await confirm(
    `Forget cluster ${name}? What runs there runs on until somebody ends it there, and is started on other clusters.`,
    force,
  );
  return forgetObjects(kube, name, `Cluster ${name} is forgotten.`);
}

/** Whether the credential of a cluster is there, or the namespace of its agent. */
async function hasLeftovers(kube: KubeClient, name: string): Promise<boolean> {
  const secret = await kube.find(Secret, { namespace: SYSTEM_NAMESPACE, name: secretName(name) });
  return (secret ?? (await kube.find(Namespace, { name: clusterNamespace(name) }))) !== undefined;
}

async function leave(kube: KubeClient, name: string): Promise<void> {
  await patchSpec(kube, name, { cordoned: true, drain: true });
}

async function patchSpec(kube: KubeClient, name: string, spec: Partial<Cluster["spec"]>): Promise<void> {
  await kube.patch(Cluster, { namespace: SYSTEM_NAMESPACE, name }, { type: "merge", body: { spec } });
}

function beginning(name: string, what: string): Result {
  return {
    json: { name, done: false },
    text: [`Cluster ${name} is being ${what}. cup clusters shows how many LRPs are left.`],
  };
}

/** The processes that are placed there, or have an LRP there. */
async function listHeld(kube: KubeClient, cluster: string): Promise<PlacementDecision[]> {
  const { items } = await kube.list(PlacementDecision, {});
  return items.filter(
    ({ spec, status }) =>
      spec.assignments.some((one) => one.cluster === cluster && one.indexes.length > 0) ||
      (status?.clusters ?? []).some((one) => one.name === cluster && one.unreachableSince === undefined),
  );
}

/** The tasks that are placed there and have not ended. */
async function countTasks(kube: KubeClient, cluster: string): Promise<number> {
  const { items } = await kube.list(Task, {});
  return items.filter((task) => task.status?.cluster === cluster && !isFinished(task)).length;
}

/** Names of the segments whose instances stay with a silent cluster. */
async function listNever(kube: KubeClient): Promise<ReadonlySet<string>> {
  const { items } = await kube.list(IsolationSegment, { namespace: SYSTEM_NAMESPACE });
  return new Set(items.filter(({ spec }) => spec.failover?.mode === "never").map(({ metadata }) => metadata.name));
}

/** `staying`: segments whose processes stay. */
async function awaitEmpty(
  kube: KubeClient,
  name: string,
  progress: Progress,
  staying: ReadonlySet<string> = new Set(),
): Promise<Result> {
  let last = -1;
  let changedAt = Date.now();
  for (;;) {
    const all = await listHeld(kube, name);
    const held = all.filter(({ spec }) => !staying.has(spec.segment));
    if (held.length === 0 && all.length > 0) return presentStaying(name, all);
    if (held.length === 0) return presentEmpty(name, await countTasks(kube, name));
    if (held.length !== last) {
      progress.step(`${held.length} ${held.length === 1 ? "process is" : "processes are"} left on cluster ${name}`);
      [last, changedAt] = [held.length, Date.now()];
    }
    if (Date.now() - changedAt > STUCK_MS) throw toStuck(name, held);
    await delay(POLL_MS);
  }
}

function presentEmpty(name: string, tasks: number): Result {
  const next = `cup clusters remove ${name}`;
  if (tasks === 0)
    return { json: { name, done: true }, text: [`Nothing is placed on cluster ${name} any more. Next: ${next}`] };
  return {
    json: { name, done: true, tasks },
    text: [
      `No process is placed on cluster ${name} any more. ${describeTasks(tasks)} not ended there, and no other cluster takes a task over. Next, when all have ended: ${next}`,
    ],
  };
}

function presentStaying(name: string, staying: readonly PlacementDecision[]): Result {
  const count = staying.length === 1 ? "1 process stays" : `${staying.length} processes stay`;
  return {
    json: { name, done: true, staying: staying.length },
    text: [
      `${count} on cluster ${name}, since their segments never fail over: cup segments. Nothing else is placed there any more.`,
    ],
  };
}

function toStuck(name: string, held: readonly PlacementDecision[]): Failure {
  const some = held.slice(0, 5).map(({ metadata }) => `${metadata.namespace}/${metadata.name}`);
  const more = held.length > some.length ? ` and ${held.length - some.length} more` : "";
  return new Failure(
    `${some.join(", ")}${more} did not leave cluster ${name} in the last ${STUCK_MS / 60_000} minutes`,
    {
      next: "cup placement explain APP says which clusters take it; the drain goes on without this command",
    },
  );
}

/** Removes the Cluster and all that the platform has of it. Waits until its instances are placed elsewhere. */
export async function forgetObjects(kube: KubeClient, name: string, text: string): Promise<Result> {
  const key = { namespace: SYSTEM_NAMESPACE, name };
  const isPull = (await kube.find(Namespace, { name: clusterNamespace(name) })) !== undefined;
  if (isPull) await revokeAgent(kube, name);
  await ignoreNotFound(kube.delete(Cluster, key));
  const deadline = Date.now() + FORGET_DEADLINE_MS;
  while (await kube.find(Cluster, key)) {
    if (Date.now() > deadline)
      throw new Failure(`cluster ${name} is still there after ${FORGET_DEADLINE_MS / 1000} s`, {
        next: "cup clusters",
      });
    await delay(POLL_MS);
  }
  await ignoreNotFound(kube.delete(RoleBinding, { namespace: SYSTEM_NAMESPACE, name: roleName(name) }));
  await ignoreNotFound(kube.delete(Role, { namespace: SYSTEM_NAMESPACE, name: roleName(name) }));
  await ignoreNotFound(kube.delete(Secret, { namespace: SYSTEM_NAMESPACE, name: secretName(name) }));
  if (isPull) await removePullObjects(kube, name);
  return { json: { name, removed: true }, text: [text] };
}
