// The class `job`: runs a TaskRun as a Job.
import { LABELS } from "../../../crds/labels.ts";
import { TaskRun } from "../../../crds/task-run/task-run.ts";
import { Job, Pod } from "../../../kube/api/builtin.ts";
import {
  defineController,
  watch,
  type Controller,
  type ReconcileContext,
  type ReconcileResult,
} from "../../../kube/controller/controller.ts";
import { classController } from "../../class-controller.ts";
import { endWorkload } from "../../pods/end-workload.ts";
import { slimPod, type PodObject } from "../../pods/slim-pod.ts";
import { CANCELLED, failed, isEnded, reportTask, toReady } from "../../task-status.ts";
import { planJob } from "./plan.ts";
import { observeTask } from "./task-status.ts";

const JOB_CLASS = "job";

const jobCapabilities: Readonly<Record<string, string>> = {
  dropletKinds: "docker,cnb",
  memoryLimit: "enforced",
  serviceFiles: "true",
  volumes: "persistentvolumeclaim",
  diskLimit: "evicts",
};

/** How long a Job and its pod stay after the end, for whoever looks at them with kubectl. */
const KEEP_MS = 60 * 60_000;

/** The controllers of the class: one runs TaskRuns, one publishes the capabilities. */
export function jobRunner(): Controller[] {
  return [taskController, classController({ name: JOB_CLASS, role: "task-runner", capabilities: jobCapabilities })];
}

const taskController = defineController({
  name: "job-runner",
  for: TaskRun,
  owns: [Job],
  watches: [
    watch(
      Pod,
      ({ metadata }: PodObject) => [
        { namespace: metadata.namespace ?? "", name: metadata.labels?.[LABELS.taskRun] ?? "" },
      ],
      { labelSelector: LABELS.taskRun, transform: slimPod },
    ),
  ],
  selects: (task) => task.spec.class === JOB_CLASS,
  reconcile: runTask,
  // A TaskRun exists until its pod has ended.
  finalizer: "cupola.dev/runner-job",
  finalize: (task, context) => endWorkload(Job, task, context),
});

async function runTask(task: TaskRun, context: ReconcileContext): Promise<ReconcileResult> {
  if (isEnded(task)) return await keepForAWhile(task, context);
  if (task.spec.cancelled) return await cancel(task, context);
  const { droplet } = task.spec;
  if (droplet.kind === "host")
    return reportTask(failed(task, "class job runs images; this droplet was built for the host", context.now()));
  const { read } = context;
  const job = read.find(Job, task.metadata);
  if (job) return reportTask(observeTask(task, job, findPod(task, context)));
  return task.status?.state === undefined
    ? { children: [planJob(task)], ...reportTask({ state: "Pending" }) }
    : await missJob(task, context);
}

function findPod({ metadata: { namespace = "", name } }: TaskRun, { read }: ReconcileContext): PodObject | undefined {
  return read.list(Pod, { namespace, labels: { [LABELS.taskRun]: name } })[0];
}

/** The cache has no Job although one was made. Another one would run the command twice. */
async function missJob(task: TaskRun, { client, now }: ReconcileContext): Promise<ReconcileResult> {
  const live = await client.find(Job, task.metadata);
  // Its event is under way.
  if (live) return { keepStatus: true };
  return reportTask(failed(task, "its Job was deleted; whether the command ran is not known", now()));
}

async function cancel(task: TaskRun, context: ReconcileContext): Promise<ReconcileResult> {
  if (await endWorkload(Job, task, context))
    return { ready: { status: "False", reason: "Cancelling", message: "the task was cancelled and is ending" } };
  return reportTask(failed(task, CANCELLED, context.now()));
}

/** The Job of an ended task stays for a while, then goes with its pod; its status is already the TaskRun's. */
async function keepForAWhile(task: TaskRun, context: ReconcileContext): Promise<ReconcileResult> {
  const remainingMs = Date.parse(task.status?.finishedAt ?? "") + KEEP_MS - context.now().getTime();
  if (remainingMs > 0) return { ...unchanged(task), requeueAfterMs: remainingMs };
  if (context.read.find(Job, task.metadata)) await endWorkload(Job, task, context);
  return unchanged(task);
}

function unchanged({ status }: TaskRun): ReconcileResult {
  return { ready: toReady(status ?? {}) };
}
