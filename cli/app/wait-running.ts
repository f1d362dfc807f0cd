// Waits for an app's instances and reports their states.
import { setTimeout as delay } from "node:timers/promises";
import type { Resource } from "../api/client.ts";
import type { Context } from "../context.ts";
import { Failure } from "../failure.ts";
import { adviseCrash, meaningOfExit, type Fault } from "../push/advice.ts";
import { recentLog, type LogLine } from "./log-stream.ts";
import { readProcesses, summarise, type ProcessState } from "./process-state.ts";

const DEADLINE_MS = 5 * 60_000;
/** An instance that cannot be started is tried again for so long: what it lacks may just be coming. */
const STUCK_MS = 20_000;

/** An instance that listens elsewhere may yet listen on PORT, but hardly after so long. */
const ELSEWHERE_MS = 5_000;

/** Waits until every process with instances has one running. @throws Failure when all instances of a process crash, when one listens on the wrong port, or at the deadline */
export async function waitUntilRunning(context: Context, app: Resource): Promise<ProcessState[]> {
  const deadline = Date.now() + DEADLINE_MS;
  const trouble = watchTrouble(context, app);
  let lastSummary = "";
  for (let pause = 50; ; pause = Math.min(pause * 2, 500)) {
    const processes = await readProcesses(context, app);
    const summary = summarise({ state: "STARTED" }, processes);
    if (summary !== lastSummary) context.progress.step(`Waiting for instances: ${summary}`);
    lastSummary = summary;
    if (processes.every(isUp)) return processes;
    await trouble(processes);
    if (Date.now() > deadline)
      throw new Failure(`${app.name} has not started in ${DEADLINE_MS / 60_000} minutes (${summary})`, {
        next: `cup logs ${app.name} --recent`,
      });
    await delay(pause);
  }
}

/** @returns what throws a Failure when there is no point in waiting on */
function watchTrouble(context: Context, app: Resource): (processes: readonly ProcessState[]) => Promise<void> {
  const stuckFor = stopwatch();
  const elsewhereFor = stopwatch();
  return async (processes) => {
    const dead = processes.find(isDead);
    if (dead) throw await toCrash(context, app, dead);
    const stuck = processes.find(isStuck);
    if (stuck && (stuckFor(stuck) > STUCK_MS || NEVER_STARTS.test(reasonOf(stuck))))
      throw new Failure(`${app.name} cannot be started: ${reasonOf(stuck)}`, {
        next: adviseCrash(await toStuckFault(context, app, stuck)),
      });
    const elsewhere = processes.find((state) => reasonOf(state).includes(LISTENS_ELSEWHERE));
    const elsewhereMs = elsewhereFor(elsewhere);
    if (elsewhere && elsewhereMs === 0) context.progress.step(reasonOf(elsewhere));
    if (elsewhere && elsewhereMs > ELSEWHERE_MS)
      throw new Failure(`${app.name} does not answer: ${reasonOf(elsewhere)}`, {
        next: adviseCrash(faultOf(app, elsewhere)),
      });
  };
}

/** Milliseconds for which it has been asked about something; 0 the first time, -1 for nothing. */
function stopwatch(): (something: unknown) => number {
  let since: number | undefined;
  return (something) => {
    if (something === undefined) since = undefined;
    else if (since === undefined) return ((since = Date.now()), 0);
    return since === undefined ? -1 : Math.max(1, Date.now() - since);
  };
}

/** No wait helps here. */
const NEVER_STARTS = /no start command is set/;
const LISTENS_ELSEWHERE = "it listens on port";

/** Why the first instance is not up, without the next step, which is for `cf`; "" when nothing is said. */
function reasonOf({ instances }: ProcessState): string {
  const [reason = ""] = (instances[0]?.details ?? "").split("; ");
  return reason.replace(/^(APP\/\S+|The instance cannot be started): /, "");
}

function faultOf(app: Resource, { instances }: ProcessState, lines: readonly string[] = []): Fault {
  return { app: app.name, message: instances[0]?.details ?? "", lines };
}

/** The build knows more about a missing start command than the runner. */
async function toStuckFault({ api }: Context, app: Resource, state: ProcessState): Promise<Fault> {
  const fault = faultOf(app, state);
  if (!NEVER_STARTS.test(reasonOf(state))) return fault;
  const log = await recentLog(api, app.guid).catch(() => []);
  const said = log.findLast(({ source, message }) => source.startsWith("STG") && message.includes(NOT_FOUND));
  return said ? { ...fault, message: said.message } : fault;
}

/** As buildpacks say it where they know what could be started. */
const NOT_FOUND = "no start command found: ";

async function toCrash({ api }: Context, app: Resource, state: ProcessState): Promise<Failure> {
  // An instance that was never started has written nothing.
  const log = NEVER_STARTS.test(reasonOf(state)) ? [] : await readLastRun(() => recentLog(api, app.guid));
  const meaning = meaningOfExit(reasonOf(state));
  const why = reasonOf(state) || "it gave no reason";
  const process = state.process.type === "web" ? app.name : `${state.process.type} of ${app.name}`;
  return new Failure(`${process} crashed: ${why}${meaning ? ` (${meaning})` : ""}`, {
    log: log.slice(-LAST_LINES).map((line) => line.replaceAll(APP_FOLDER, "")),
    next: adviseCrash(faultOf(app, state, log)),
  });
}

const LAST_LINES = 12;

/** Frames of the language's runtime in a stack: they say nothing about the app. */
const RUNTIME_FRAME = /^\s+at .*\bnode:|^Node\.js v\d/;

/** Where a laptop's droplet is: paths below it are those of the app's folder. */
const APP_FOLDER = /(?:file:\/\/)?\/[^\s'"(]*\/droplets\/[0-9a-f-]{36}\/app\//g;

/** On a cluster lines come some time after what they tell of. */
const LOG_DELAY_MS = 5_000;
const LOG_PAUSE_MS = 200;

/** As `lastRun`, once the end of a run is in the log; what is there when it does not come in time. A log that cannot be read is none. */
export async function readLastRun(
  read: () => Promise<readonly LogLine[]>,
  delayMs: number = LOG_DELAY_MS,
): Promise<string[]> {
  const deadline = Date.now() + delayMs;
  for (;;) {
    const lines = await read().catch(() => undefined);
    if (!lines) return [];
    if (lines.some((line) => isOwn(line) && isExit(line)) || Date.now() > deadline) return lastRun(lines);
    await delay(LOG_PAUSE_MS);
  }
}

const isOwn = ({ source }: LogLine): boolean => source.startsWith("APP/");
const isExit = ({ message }: LogLine): boolean => /^Exit status \d+/.test(message);

/** Output of the app itself in its last run that has ended. */
export function lastRun(lines: readonly LogLine[]): string[] {
  const own = lines.filter(isOwn);
  const end = own.findLastIndex(isExit);
  const run = end < 0 ? own : own.slice(own.slice(0, end).findLastIndex(isExit) + 1, end);
  return run.map(({ message }) => message).filter((message) => message.trim() !== "" && !RUNTIME_FRAME.test(message));
}

function isUp({ process, instances }: ProcessState): boolean {
  return process.instances === 0 || instances.some((instance) => instance.state === "RUNNING");
}

/** None was ever started, and the runner says why. */
function isStuck({ process, instances }: ProcessState): boolean {
  return (
    process.instances > 0 &&
    instances.length > 0 &&
    instances.every((instance) => instance.state === "DOWN" && instance.details)
  );
}

/** Kubelet starts a container again at once the first time: the details alone then tell of its end. */
const NEVER_HEALTHY = /never healthy after/;

/** Whether there is no point in waiting on: all instances have ended. */
export function isDead({ process, instances }: ProcessState): boolean {
  return (
    process.instances > 0 &&
    instances.length > 0 &&
    instances.every(({ state, details }) => state === "CRASHED" || NEVER_HEALTHY.test(details ?? ""))
  );
}
