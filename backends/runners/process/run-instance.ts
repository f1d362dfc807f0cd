// A run of an instance, from its port to its last log line. Restarts between runs are instance-slot.ts.
import { startSeconds } from "../../../crds/health-check.ts";
import { setTimeout as delay } from "node:timers/promises";
import {
  describeProblem,
  toExitLine,
  toOutputSource,
  type ExitProblem,
  type InstanceProblem,
} from "../../../crds/lrp/instance-problem.ts";
import type { LRP } from "../../../crds/lrp/lrp.ts";
import { instanceLog, type InstanceLog, type RunnerContext } from "./runner-context.ts";
import { followSidecars, joinSidecars, watchSidecars } from "./sidecars.ts";
import { launchDroplet } from "./launch-droplet.ts";
import { adoptProcess, toExitProblem, type Exit, type LiveProcess, startProcess } from "./live-process.ts";
import type { Usage } from "./usage-meter.ts";
import { followOutput } from "./follow-output.ts";
import {
  createInstanceFiles,
  type InstanceFiles,
  instanceFiles,
  type InstanceRecord,
  processTree,
  removeInstanceFiles,
  writeRecord,
} from "./instance-record.ts";
import { createByteRate } from "../../../telemetry/rate-limit.ts";
import { joinCgroup, killCgroup } from "../../host/cgroup.ts";
import { describeStartError } from "../../host/start-failed.ts";
import type { LaunchSpec } from "../../host/prepare-launch.ts";
import { LaunchRefused } from "../../host/launch-refused.ts";
import { terminateInstance, killInstance } from "../../host/terminate-instance.ts";
import { watchInstanceLimits } from "./instance-limits.ts";
import { readinessLog } from "./readiness-log.ts";
import { findListeningPorts } from "./listening-ports.ts";
import { watchHealth } from "./watch-health.ts";

/** How a run ended. `ranMs` is how long it was up. `refused`: no retry can help. `left`: the process runs on, unwatched. */
export type RunOutcome =
  | { kind: "crashed" | "unstartable" | "refused"; details: string; ranMs: number }
  | { kind: "stopped" }
  | { kind: "left" };

/** Why a run must end. */
export type RunSignal = "stop" | "leave";

/** Callbacks to the slot during the run. */
export interface RunEvents {
  onRecord: (record: InstanceRecord) => void;
  onReady: (ready: boolean) => void;
  /** Why it is not up yet. */
  onWaiting: (details: string) => void;
  onUsage: (usage: Usage) => void;
}

export interface InstanceRun {
  context: RunnerContext;
  lrp: LRP;
  /** State of the run; without `process` it has not started yet. */
  record: InstanceRecord;
  /** Aborted with a `RunSignal` as reason. */
  signal: AbortSignal;
  events: RunEvents;
}

interface RunSession extends InstanceRun {
  files: InstanceFiles;
  log: InstanceLog;
  /** Its log. */
  rate: ReturnType<typeof createByteRate>;
  /** Logs the rest of the instance's output and stops reading, so that later log lines come after it. */
  closeOutput: () => void;
}

/** Starts the instance, or adopts the one that the record names, and resolves when it has ended. Rejects only for errors of the platform. */
export async function runInstance(run: InstanceRun): Promise<RunOutcome> {
  const files = instanceFiles(run.context.instancesDir, run.record.guid);
  const session: RunSession = {
    ...run,
    files,
    log: instanceLog(run.context.telemetry, run.lrp, run.record.index, run.record.guid),
    rate: createByteRate(),
    closeOutput: () => undefined,
  };
  const end = await attempt(session);
  if (end.kind === "left") return end;
  // A start that was cancelled leaves an empty cgroup.
  if (run.record.cgroup !== undefined) await killCgroup(run.record.cgroup);
  run.context.ports.release(run.record.ports.map((port) => port.hostPort));
  await removeInstanceFiles(run.context.instancesDir, run.record.guid);
  return end;
}

async function attempt(session: RunSession): Promise<RunOutcome> {
  const { record, context, signal, log } = session;
  const over = new AbortController();
  const live = record.process
    ? await adoptProcess(record.process, over.signal)
    : await context.limitStarts(() => start(session));
  if (live === "stopped") return { kind: "stopped" };
  if (live instanceof Error) {
    const details = describeStartError(live);
    log("CELL", details, { stream: "ERR" });
    return { kind: live instanceof LaunchRefused ? "refused" : "unstartable", details, ranMs: 0 };
  }
  if (!live) {
    // It ended while the platform was down, but its children may run on. That is no crash: the machine may have been off.
    await killInstance(processTree(context.instancesDir, record));
    return { kind: "stopped" };
  }
  const { processType, logRateLimitBytesPerSecond: bytesPerSecond } = session.lrp.spec;
  const closers = [
    followOutput(
      { source: toOutputSource(processType), bytesPerSecond, onLogged: session.rate.add },
      session.files,
      log,
    ),
    followSidecars(session, session.rate.add),
  ];
  session.closeOutput = () => closers.forEach((close) => close());
  try {
    return await supervise(session, live, AbortSignal.any([signal, over.signal]));
  } finally {
    over.abort();
    session.closeOutput();
  }
}

type Failure = { exit: Exit } | { unhealthy: InstanceProblem } | { exceeded: ExitProblem };
type StopCause = Failure | { signal: RunSignal };

/** Everything up to the running process. Returns the error when there is none. */
async function start(session: RunSession): Promise<LiveProcess | "stopped" | Error> {
  const { context, lrp, record, files, log, signal } = session;
  try {
    if (signal.aborted) return "stopped";
    log("CELL", `Starting instance ${record.guid}`);
    await createInstanceFiles(files);
    record.cgroup = await context.createCgroup(record.guid);
    // Written before the process exists: if the platform dies in between, the directory leads to the process.
    await writeRecord(context.instancesDir, record);
    const launch = await prepare(session);
    // After a pause longer than the Lease another process may have started this instance.
    if (signal.aborted || !context.isLeader()) return "stopped";
    const live = await startProcess({ ...launch, command: joinCgroup(record, launch.command) }, files);
    record.process = { pid: live.pid, identity: live.identity };
    // The start timeout begins here: a slow download of the droplet does not count.
    record.startedAt = context.now().toISOString();
    await writeRecord(context.instancesDir, record);
    return live;
  } catch (error) {
    // The process may exist already, and nothing else would end it.
    await killInstance(processTree(context.instancesDir, record));
    if (signal.aborted) return "stopped";
    // A refusal is in the app's log and status; it is no error of the platform.
    if (error instanceof LaunchRefused) return error;
    context.onError(error, `start of instance ${record.index} of ${lrp.metadata.namespace}/${lrp.metadata.name}`);
    return error instanceof Error ? error : new Error(String(error));
  }
}

/** The instance's own program, behind its sidecars. */
async function prepare(session: RunSession): Promise<LaunchSpec> {
  const main = await prepareProgram(session, session.lrp.spec.command);
  const command = await joinSidecars(session.lrp.spec, session.files, {
    main,
    prepare: (sidecar) => prepareProgram(session, sidecar.command),
  });
  const place = { root: session.record.root, changes: session.files.changes };
  return { ...main, command: await session.context.isolateFiles({ command, cwd: main.cwd }, place) };
}

async function prepareProgram(
  { context, lrp, record, files, signal }: RunSession,
  command: string | undefined,
): Promise<LaunchSpec> {
  const { processType, memoryMB } = lrp.spec;
  return launchDroplet(context, lrp, {
    processType,
    command,
    signal,
    filesFolder: files.services,
    instance: {
      index: record.index,
      instanceGuid: record.guid,
      ports: record.ports,
      memoryMB,
      address: context.address,
      tmp: files.tmp,
    },
  });
}

async function supervise(session: RunSession, live: LiveProcess, signal: AbortSignal): Promise<RunOutcome> {
  const { context, lrp, record, log, events } = session;
  const startedAt = Date.parse(record.startedAt);
  let upSince = record.state === "Running" ? Date.parse(record.since) : undefined;
  let ready = false;
  const onUsage = (usage: Usage): void => events.onUsage({ ...usage, logRate: session.rate.take() });
  const limits = watchInstanceLimits({ ...session, events: { onUsage } }, live);
  const sidecars = watchSidecars(lrp, session.files);
  const logReadiness = readinessLog(session);
  const health = watchHealth(
    {
      lrp,
      target: { host: context.address, ports: record.ports.map((port) => port.hostPort) },
      up: record.state === "Running",
      startTimeoutMs: Math.max(1000, startedAt + startSeconds(lrp.spec.healthCheck) * 1000 - Date.now()),
      startCheckMs: context.timings.startCheck,
      listeningPorts: () => findListeningPorts(live.pid),
      isWithinLimits: limits.isWithin,
      signal,
    },
    {
      onUp: () => {
        if (upSince !== undefined) return;
        upSince = Date.now();
        Object.assign(record, { state: "Running", since: context.now().toISOString() });
        log("CELL", "Container became healthy");
        events.onRecord(record);
        writeRecord(context.instancesDir, record).catch((error: unknown) =>
          context.onError(error, "writing the record of an instance"),
        );
      },
      onWaiting: (problem) => events.onWaiting(describeProblem(problem)),
      onReady: (value, why) => {
        logReadiness(value, why);
        ready = value;
        events.onReady(value);
      },
    },
  );
  const stopSignal = new Promise<{ signal: RunSignal }>((resolve) =>
    onAbort(session.signal, () => resolve({ signal: session.signal.reason as RunSignal })),
  );
  const ended = await Promise.race<StopCause>([
    live.exited.then((exit) => ({ exit })),
    health.then((unhealthy): StopCause | Promise<StopCause> => (unhealthy === undefined ? stopSignal : { unhealthy })),
    limits.exceeded,
    sidecars.ended,
    stopSignal,
  ]);
  limits.stop();
  sidecars.stop();
  if ("signal" in ended && ended.signal === "leave") return { kind: "left" };
  events.onReady(false);
  if ("signal" in ended) return stop(session, live, ready);
  const ranMs = upSince === undefined ? 0 : Date.now() - upSince;
  return { kind: "crashed", details: await crash(session, live, ended), ranMs };
}

/** Ends the rest of a crashed instance, logs the reason and returns it. */
async function crash(
  { lrp, record, files, log, context, closeOutput }: RunSession,
  live: LiveProcess,
  why: Failure,
): Promise<string> {
  const { processType } = lrp.spec;
  const tree = { ...processTree(context.instancesDir, record), leader: live };
  if ("unhealthy" in why) {
    const details = describeProblem(why.unhealthy);
    log("CELL", details, { stream: "ERR" });
    await terminateInstance(tree, context.timings.grace);
    return details;
  }
  const problem = "exceeded" in why ? why.exceeded : toExitProblem(why.exit, processType);
  await killInstance(tree);
  await context.spoiled.noteEnd(problem, record.root, files);
  closeOutput();
  log(toOutputSource(problem.processType), toExitLine(problem), { stream: "exceeded" in why ? "ERR" : "OUT" });
  return describeProblem(problem);
}

async function stop(
  { log, context, record, closeOutput }: RunSession,
  live: LiveProcess,
  wasReady: boolean,
): Promise<RunOutcome> {
  log("CELL", `Stopping instance ${record.guid}`);
  // Routers see it as not ready before it stops accepting connections, so no request fails.
  if (wasReady) await Promise.race([delay(context.timings.drain), live.exited]);
  const tree = { ...processTree(context.instancesDir, record), leader: live };
  const { forced } = await terminateInstance(tree, context.timings.grace);
  closeOutput();
  log(
    "CELL",
    forced
      ? `Stopped instance ${record.guid} (exceeded ${context.timings.grace / 1000}s graceful shutdown interval)`
      : `Stopped instance ${record.guid}`,
  );
  return { kind: "stopped" };
}

function onAbort(signal: AbortSignal, listener: () => void): void {
  if (signal.aborted) listener();
  else signal.addEventListener("abort", listener, { once: true });
}
