// Waits for an app's instances and reports their states.
import { setTimeout as delay } from "node:timers/promises";
import type { Resource } from "../api/client.ts";
import type { Context } from "../context.ts";
import { Failure } from "../failure.ts";
import { readProcesses, summarise, type ProcessState } from "./process-state.ts";

const DEADLINE_MS = 5 * 60_000;
/** An instance that cannot be started is tried again for so long: what it lacks may just be coming. */
const STUCK_MS = 20_000;

/** Waits until every process with instances has one running. @throws Failure when all instances of a process crash, or at the deadline */
export async function waitUntilRunning(context: Context, app: Resource): Promise<ProcessState[]> {
  const deadline = Date.now() + DEADLINE_MS;
  let lastSummary = "";
  let unstuck = Date.now();
  for (let pause = 50; ; pause = Math.min(pause * 2, 500)) {
    const processes = await readProcesses(context, app);
    const summary = summarise({ state: "STARTED" }, processes);
    if (summary !== lastSummary) context.progress.step(`Waiting for instances: ${summary}`);
    lastSummary = summary;
    if (processes.every(isUp)) return processes;
    if (!processes.some(isStuck)) unstuck = Date.now();
    const trouble = findTrouble(processes, Date.now() - unstuck);
    if (trouble) throw new Failure(trouble, { next: `cup logs ${app.name} --recent` });
    if (Date.now() > deadline)
      throw new Failure(`${app.name} has not started in ${DEADLINE_MS / 60_000} minutes (${summary})`, {
        next: `cup logs ${app.name} --recent`,
      });
    await delay(pause);
  }
}

/** Why there is no point in waiting on; `stuckMs` is for how long a process has been unable to start. */
function findTrouble(processes: readonly ProcessState[], stuckMs: number): string | undefined {
  const dead = processes.find(isDead);
  if (dead) return `${dead.process.type} crashed: ${dead.instances[0]?.details ?? "see its log"}`;
  const stuck = stuckMs > STUCK_MS ? processes.find(isStuck) : undefined;
  return stuck && `${stuck.process.type} cannot be started: ${stuck.instances[0]?.details ?? "see its log"}`;
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

function isDead({ process, instances }: ProcessState): boolean {
  return process.instances > 0 && instances.length > 0 && instances.every((instance) => instance.state === "CRASHED");
}
