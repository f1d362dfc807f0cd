// A run of a task's command as a process of this machine, from its start, or its adoption after a restart of the platform, to its result.
import { cutDetails } from "../../../../crds/details.ts";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { toExitLine, type ExitProblem } from "../../../../crds/lrp/instance-problem.ts";
import type { TaskRun } from "../../../../crds/task-run/task-run.ts";
import type { SourceType } from "../../../../telemetry/envelope.ts";
import { toSourceTags } from "../../../../telemetry/source-tags.ts";
import { joinCgroup, killCgroup } from "../../../host/cgroup.ts";
import { LaunchRefused } from "../../../host/launch-refused.ts";
import { killInstance, terminateInstance, type ProcessTree } from "../../../host/terminate-instance.ts";
import { CANCELLED, describeMemoryExcess, describeTimeout } from "../../../task-status.ts";
import { followOutput } from "../follow-output.ts";
import { watchInstanceLimits } from "../instance-limits.ts";
import {
  createInstanceFiles,
  instanceFiles,
  processTree,
  removeInstanceFiles,
  writeRecord,
  type InstanceFiles,
  type InstanceRecord,
} from "../instance-record.ts";
import { launchDroplet } from "../launch-droplet.ts";
import { adoptProcess, startProcess, toExitProblem, type Exit, type LiveProcess } from "../live-process.ts";
import type { InstanceLog, RunnerContext } from "../runner-context.ts";

/** `left`: the process runs on, unwatched, or was not started. */
export type TaskOutcome =
  { kind: "ended"; exitCode: number } | { kind: "failed"; details: string; exitCode?: number } | { kind: "left" };

/** Why a run must end early. */
export type TaskSignal = "cancel" | "stop" | "leave";

export interface TaskSession {
  context: RunnerContext;
  task: TaskRun;
  /** Without `process` it has not started yet. */
  record: InstanceRecord;
  /** Aborted with a `TaskSignal` as reason. */
  signal: AbortSignal;
  onStarted: () => void;
}

/** Keeps the exit code of the command for a platform that was not its parent when it ended. */
const KEEP_EXIT_CODE = '"$@"; status=$?; printf %s "$status" > "$0"; exit "$status"';
/** `details` of a run whose end nobody saw. */
export const LOST = "the platform was restarted while the task ran; whether the command has ended well is not known";

/** Resolves when it has ended and none of its processes is left. Rejects only for errors of the platform. */
export async function runTask(session: TaskSession): Promise<TaskOutcome> {
  const { context, record } = session;
  const files = instanceFiles(context.instancesDir, record.guid);
  const log = taskLog(session);
  const outcome = await attempt(session, files, log);
  if (outcome.kind === "left" && record.process) return outcome;
  if (record.cgroup !== undefined) await killCgroup(record.cgroup);
  await removeInstanceFiles(context.instancesDir, record.guid);
  return outcome;
}

function taskLog({ context: { telemetry }, task: { spec } }: TaskSession): InstanceLog {
  const tags = { ...toSourceTags(spec), process_type: "task" };
  return (sourceType, message, more) =>
    telemetry.log({ source: spec.app.guid, sourceType, message, instance: "0", tags, ...more });
}

function sourceOf({ spec }: TaskRun): SourceType {
  return `APP/TASK/${spec.taskName}`;
}

async function attempt(session: TaskSession, files: InstanceFiles, log: InstanceLog): Promise<TaskOutcome> {
  const { record, context, task } = session;
  const over = new AbortController();
  const live = record.process
    ? await adoptProcess(record.process, over.signal)
    : await context.limitStarts(() => start(session, files));
  if (live && "kind" in live) {
    if (live.kind === "failed") log(sourceOf(task), live.details, { stream: "ERR" });
    return live;
  }
  const source = { source: sourceOf(task), bytesPerSecond: task.spec.logRateLimitBytesPerSecond };
  const closeOutput = followOutput(source, files, log);
  session.onStarted();
  try {
    const cause = live ? await supervise(session, live, { files, log }) : { exit: {} };
    if ("signal" in cause && cause.signal === "leave") return { kind: "left" };
    return await end(session, cause, { files, log, closeOutput, tree: toTree(session, live) });
  } finally {
    over.abort();
    closeOutput();
  }
}

function toTree({ context, record }: TaskSession, live: LiveProcess | undefined): ProcessTree {
  return { ...processTree(context.instancesDir, record), ...(live && { leader: live }) };
}

/** Everything up to the running process. */
async function start(session: TaskSession, files: InstanceFiles): Promise<LiveProcess | TaskOutcome> {
  const { context, task, record, signal } = session;
  try {
    await createInstanceFiles(files);
    record.cgroup = await context.createCgroup(record.guid);
    // Written before the process exists: if the platform dies in between, the directory leads to the process.
    await writeRecord(context.instancesDir, record);
    const { command, memoryMB } = task.spec;
    const instance = { instanceGuid: record.guid, ports: [], memoryMB, address: context.address, tmp: files.tmp };
    const program = { processType: "task", command, signal, filesFolder: files.services, instance };
    const launch = await launchDroplet(context, task, program);
    if (signal.aborted) return toOutcome(signal.reason as TaskSignal);
    // After a pause longer than the Lease another process may have started it.
    if (!context.isLeader()) return { kind: "left" };
    const kept = ["/bin/sh", "-c", KEEP_EXIT_CODE, resultFile(files), ...launch.command];
    const place = { root: record.root, changes: files.changes };
    const own = await context.isolateFiles({ command: kept, cwd: launch.cwd }, place);
    const live = await startProcess({ ...launch, command: joinCgroup(record, own) }, files);
    record.process = { pid: live.pid, identity: live.identity };
    record.startedAt = context.now().toISOString();
    await writeRecord(context.instancesDir, record);
    return live;
  } catch (error) {
    await killInstance(processTree(context.instancesDir, record));
    if (signal.aborted) return toOutcome(signal.reason as TaskSignal);
    const what = `start of task ${task.metadata.namespace}/${task.metadata.name}`;
    if (!(error instanceof LaunchRefused)) context.onError(error, what);
    const why = error instanceof Error ? error.message : String(error);
    return { kind: "failed", details: cutDetails(`The task cannot be started: ${why}`) };
  }
}

function toOutcome(signal: TaskSignal): TaskOutcome {
  return signal === "leave" ? { kind: "left" } : { kind: "failed", details: signal === "cancel" ? CANCELLED : LOST };
}

function resultFile(files: InstanceFiles): string {
  return join(files.dir, "exit-code");
}

type Cause = { exit: Exit } | { signal: TaskSignal } | { exceeded: ExitProblem } | { timeout: true };

async function supervise(
  { context, task, record, signal }: TaskSession,
  live: LiveProcess,
  { files, log }: { files: InstanceFiles; log: InstanceLog },
): Promise<Cause> {
  const over = new AbortController();
  const limits = watchInstanceLimits(
    {
      context,
      lrp: { spec: { ...task.spec, processType: "task", healthCheck: { type: "process" } } },
      record,
      files,
      events: { onUsage: () => undefined },
      log,
    },
    live,
  );
  const stopped = new Promise<Cause>((resolve) => {
    const report = (): void => resolve({ signal: signal.reason as TaskSignal });
    if (signal.aborted) report();
    else signal.addEventListener("abort", report, { once: true, signal: over.signal });
  });
  try {
    return await Promise.race<Cause>([
      live.exited.then((exit) => ({ exit })),
      limits.exceeded,
      stopped,
      ...waitForTimeout(task, record, over.signal),
    ]);
  } finally {
    over.abort();
    limits.stop();
  }
}

/** The longest timeout of a timer, 24 days. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

function waitForTimeout({ spec }: TaskRun, { startedAt }: InstanceRecord, signal: AbortSignal): Promise<Cause>[] {
  if (spec.timeoutSeconds === undefined) return [];
  const left = Date.parse(startedAt) + spec.timeoutSeconds * 1000 - Date.now();
  if (left > LONGEST_TIMER_MS) return [];
  const wait = delay(Math.max(0, left), { timeout: true } as const, { signal, ref: false });
  return [wait.catch(() => new Promise<never>(() => undefined))];
}

interface Ending {
  files: InstanceFiles;
  log: InstanceLog;
  closeOutput: () => void;
  tree: ProcessTree;
}

async function end(
  session: TaskSession,
  cause: Cause,
  { files, log, closeOutput, tree }: Ending,
): Promise<TaskOutcome> {
  const { task, context } = session;
  const source = sourceOf(task);
  if ("signal" in cause || "timeout" in cause) {
    const { leader } = tree;
    if (leader) await terminateInstance({ ...tree, leader }, context.timings.grace);
    else await killInstance(tree);
    return "signal" in cause ? toOutcome(cause.signal) : { kind: "failed", details: describeTimeout(task) };
  }
  await killInstance(tree);
  closeOutput();
  if ("exceeded" in cause) {
    await context.spoiled.noteEnd(cause.exceeded, session.record.root, files);
    log(source, toExitLine(cause.exceeded), { stream: "ERR" });
    return { kind: "failed", details: describeExcess(task, cause.exceeded), exitCode: 137 };
  }
  const exitCode = (await readExitCode(files)) ?? toStatus(cause.exit);
  if (exitCode === undefined) return { kind: "failed", details: LOST };
  log(source, toExitLine({ kind: "exited", status: exitCode }));
  if (exitCode === 0) return { kind: "ended", exitCode };
  return { kind: "failed", details: `Exited with status ${exitCode}`, exitCode };
}

function toStatus(exit: Exit): number | undefined {
  const problem = toExitProblem(exit, "task");
  return problem.kind === "exited" ? problem.status : undefined;
}

function describeExcess(task: TaskRun, problem: ExitProblem): string {
  if (problem.kind !== "diskFull") return describeMemoryExcess(task);
  return `Exited with status 137 (disk quota exceeded: it may use ${task.spec.diskMB} MB)`;
}

/** Undefined when the command, or the shell around it, was killed. */
async function readExitCode(files: InstanceFiles): Promise<number | undefined> {
  const text = await readFile(resultFile(files), "utf8").catch(() => "");
  return /^\d{1,3}$/.test(text) ? Number(text) : undefined;
}
