// Waits for an app's instances, and says what is being waited for.
import { setTimeout as delay } from "node:timers/promises";
import type { Resource } from "../api/client.ts";
import type { Context } from "../context.ts";
import { Failure } from "../failure.ts";
import { readProcesses, summarise, type ProcessState } from "./state.ts";

const DEADLINE_MS = 5 * 60_000;

/** Waits until every process that wants instances has one running. @throws Failure when all instances of a process crash, or time is up. */
export async function waitUntilRunning(context: Context, app: Resource): Promise<ProcessState[]> {
  const deadline = Date.now() + DEADLINE_MS;
  let told = "";
  for (let pause = 50; ; pause = Math.min(pause * 2, 500)) {
    const processes = await readProcesses(context, app);
    const summary = summarise({ state: "STARTED" }, processes);
    if (summary !== told) context.progress.step(`Waiting for instances: ${summary}`);
    told = summary;
    if (processes.every(isUp)) return processes;
    const dead = processes.find(isDead);
    if (dead) throw new Failure(`${dead.process.type} crashed: ${dead.instances[0]?.details ?? "see its log"}`, { next: `cup logs ${app.name} --recent` });
    if (Date.now() > deadline) throw new Failure(`${app.name} has not started in ${DEADLINE_MS / 60_000} minutes (${summary})`, { next: `cup logs ${app.name} --recent` });
    await delay(pause);
  }
}

function isUp({ process, instances }: ProcessState): boolean {
  return process.instances === 0 || instances.some((instance) => instance.state === "RUNNING");
}

function isDead({ process, instances }: ProcessState): boolean {
  return process.instances > 0 && instances.length > 0 && instances.every((instance) => instance.state === "CRASHED");
}
