// The class `process-task`: runs TaskRuns as processes of this machine, each at most once. Part of the runner `process`, whose starts and measurements it shares.
import { cutDetails } from "../../../../crds/details.ts";
import { Secret } from "../../../../kube/api/builtin.ts";
import type { ObjectKey } from "../../../../kube/api/object.ts";
import type { Informers } from "../../../../kube/cache/informers.ts";
import { defineController, type Controller, type ReconcileResult } from "../../../../kube/controller/controller.ts";
import { TaskRun } from "../../../../crds/task-run/task-run.ts";
import { classController } from "../../../class-controller.ts";
import { CANCELLED, failed, isEnded, reportTask, toReady, toTime, type TaskStatus } from "../../../task-status.ts";
import type { InstanceRecord } from "../instance-record.ts";
import { readLeftoverInstances, terminateUnwantedOnceKnown, type LeftoverInstances } from "../leftover-instances.ts";
import type { RunnerContext } from "../runner-context.ts";
import { LOST, runTask, type TaskOutcome, type TaskSignal } from "./run-task.ts";

/** The name of the class. */
export const processTaskClass = "process-task";

const capabilities: Readonly<Record<string, string>> = {
  dropletKinds: "host",
  memoryLimit: "polled",
  serviceFiles: "true",
  diskLimit: "polled",
  isolation: "none",
};

export interface TaskRunner {
  controllers: readonly Controller[];
  /** Finds the tasks of an earlier run of the platform. Await it before the controllers run. */
  start(): Promise<void>;
  /** `leave`: tasks run on, and the next start adopts them. `stop`: ends all. */
  stop(how: "leave" | "stop"): Promise<void>;
}

/** `context.instancesDir` is the folder of tasks alone. */
export interface TaskRunnerOptions {
  context: RunnerContext;
  informers: Informers;
}

interface Run {
  status: TaskStatus;
  isOver: boolean;
  end(signal: TaskSignal): Promise<void>;
}

interface State extends TaskRunnerOptions {
  /** By uid. */
  runs: Map<string, Run>;
  leftovers: LeftoverInstances | undefined;
  enqueue: (key: ObjectKey) => void;
  closed: boolean;
  disposers: (() => void)[];
}

export function createTaskRunner(options: TaskRunnerOptions): TaskRunner {
  const state: State = {
    ...options,
    runs: new Map(),
    leftovers: undefined,
    enqueue: () => undefined,
    closed: false,
    disposers: [],
  };
  return {
    controllers: [
      taskController(state),
      classController({ name: processTaskClass, role: "task-runner", capabilities }),
    ],
    async start() {
      const { context, informers } = state;
      const leftovers = await readLeftoverInstances(context.instancesDir, context.timings.grace);
      state.leftovers = leftovers;
      const watch = informers.ensure(TaskRun);
      state.disposers.push(() => watch.release());
      terminateUnwantedOnceKnown(leftovers, watch.store, {
        isOurs: (task) => task.spec.class === processTaskClass,
        isClosed: () => state.closed,
      }).catch((error: unknown) => context.onError(error, "ending tasks that no TaskRun wants"));
    },
    async stop(how) {
      state.closed = true;
      for (const dispose of state.disposers.splice(0)) dispose();
      await Promise.all([...state.runs.values()].map((run) => run.end(how)));
      if (how === "stop") await state.leftovers?.terminateUnwanted(() => false);
    },
  };
}

function taskController(state: State): Controller {
  return defineController({
    name: "runner-process-task",
    for: TaskRun,
    // Secrets hold values of environment variables.
    permissions: [{ resource: Secret, verbs: ["get"] }],
    selects: (task) => task.spec.class === processTaskClass,
    // Processes end without a change in the cluster.
    sources: [(enqueue) => (state.enqueue = enqueue)],
    reconcile: (task) => reconcile(state, task),
    // A TaskRun exists until its processes have ended.
    finalizer: "cupola.dev/runner-process-task",
    finalize(task) {
      const run = state.closed ? undefined : findRun(state, task);
      if (!state.closed && (!run || run.isOver)) {
        state.runs.delete(task.metadata.uid ?? "");
        return undefined;
      }
      void run?.end("cancel");
      return { ready: { status: "False", reason: "Stopping", message: "its processes are ending" } };
    },
  });
}

function reconcile(state: State, task: TaskRun): ReconcileResult {
  if (state.closed) return {};
  const uid = task.metadata.uid ?? "";
  if (isEnded(task)) {
    state.runs.delete(uid);
    return { ready: toReady(task.status ?? {}) };
  }
  const run = findRun(state, task);
  if (run) {
    if (task.spec.cancelled) void run.end("cancel");
    return reportTask(run.status);
  }
  const reason = whyNotToStart(state, task);
  if (reason !== undefined) return reportTask(failed(task, reason, state.context.now()));
  return reportTask(openRun(state, task, newRecord(state, task)).status);
}

/** A run that may have begun is never begun again. */
function whyNotToStart({ leftovers }: State, { metadata, spec, status }: TaskRun): string | undefined {
  const hasBegun = status?.state === "Running" || leftovers?.unrecorded.has(metadata.uid ?? "") === true;
  if (hasBegun) return LOST;
  return spec.cancelled ? CANCELLED : undefined;
}

/** The run that is under way, or that an earlier run of the platform has left. */
function findRun(state: State, task: TaskRun): Run | undefined {
  const uid = task.metadata.uid ?? "";
  const known = state.runs.get(uid);
  if (known) return known;
  const record = state.leftovers?.adopt(uid, 0);
  return record && openRun(state, task, record);
}

function newRecord({ context }: State, { metadata, spec }: TaskRun): InstanceRecord {
  const now = context.now().toISOString();
  const uid = metadata.uid ?? "";
  return {
    lrp: { namespace: metadata.namespace ?? "", name: metadata.name, uid },
    index: 0,
    // A task runs once, so its folder is found by its uid.
    guid: uid,
    ports: [],
    root: spec.droplet.root ?? "",
    state: "Starting",
    since: now,
    startedAt: now,
    crashCount: 0,
  };
}

function openRun(state: State, task: TaskRun, record: InstanceRecord): Run {
  const { context } = state;
  const { namespace, name, uid = "" } = task.metadata;
  const control = new AbortController();
  const change = (status: TaskStatus): void => {
    run.status = status;
    state.enqueue({ namespace, name });
  };
  const done = runTask({
    context,
    task,
    record,
    signal: control.signal,
    onStarted: () => change({ state: "Running", startedAt: toTime(new Date(record.startedAt)) }),
  })
    .catch((error: unknown): TaskOutcome => {
      context.onError(error, `task ${namespace}/${name}`);
      return { kind: "failed", details: cutDetails(`The task was given up: ${String(error)}`) };
    })
    .then((outcome) => {
      run.isOver = true;
      if (outcome.kind === "left") state.runs.delete(uid);
      else change(toStatus(run.status, outcome, context.now()));
    });
  const run: Run = {
    status: { state: "Pending" },
    isOver: false,
    end(signal) {
      control.abort(signal);
      return done;
    },
  };
  state.runs.set(uid, run);
  return run;
}

function toStatus({ startedAt }: TaskStatus, outcome: Exclude<TaskOutcome, { kind: "left" }>, now: Date): TaskStatus {
  const times = { ...(startedAt !== undefined && { startedAt }), finishedAt: toTime(now) };
  if (outcome.kind === "ended") return { state: "Succeeded", exitCode: outcome.exitCode, ...times };
  const { details, exitCode } = outcome;
  return { state: "Failed", details, ...(exitCode !== undefined && { exitCode }), ...times };
}
