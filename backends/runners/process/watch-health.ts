// Watches one instance's health from its start on: when it is up, whether routes may reach it, and why it must end.
import { setTimeout as delay } from "node:timers/promises";
import type { LRP } from "../../../crds/lrp/lrp.ts";
import type { InstanceProblem } from "../../../crds/lrp/instance-problem.ts";
import { checkHealth, type HealthTarget } from "./check-health.ts";

/** `onReady` is called only with a new value. */
export interface HealthEvents {
  onUp: () => void;
  /** Its startup check still fails after some seconds. Called again only with another reason. */
  onWaiting: (problem: InstanceProblem) => void;
  onReady: (ready: boolean, why?: string) => void;
}

/** `up` is true for an instance that was up before the platform restarted. */
export interface HealthWatch {
  lrp: LRP;
  target: HealthTarget;
  up: boolean;
  /** The rest of its start timeout. */
  startTimeoutMs: number;
  /** Longest pause between two checks while it starts. */
  startCheckMs: number;
  /** Asked once its check has passed, before it counts as up; false: its limits end it. */
  isWithinLimits: () => Promise<boolean>;
  signal: AbortSignal;
}

/** Resolves with the problem when the instance must end; pending while it is healthy; undefined on abort, or when its limits end it. */
export async function watchHealth(watch: HealthWatch, events: HealthEvents): Promise<InstanceProblem | undefined> {
  try {
    if (!watch.up) {
      const failure = await awaitUp(watch, events);
      if (failure !== undefined) return failure;
      if (!(await watch.isWithinLimits())) return undefined;
      watch.signal.throwIfAborted();
    }
    events.onUp();
    // Ends with the signal, which the caller aborts once it has the result.
    void watchReadiness(watch, events).catch(ignoreAbort);
    return await watchLiveness(watch);
  } catch (error) {
    return ignoreAbort(error);
  }
}

/** A start that takes no longer is not worth a word. */
const WAITING_AFTER_MS = 3_000;

async function awaitUp(
  { lrp, target, startTimeoutMs, startCheckMs, signal }: HealthWatch,
  { onWaiting }: HealthEvents,
): Promise<InstanceProblem | undefined> {
  const started = Date.now();
  const deadline = started + startTimeoutMs;
  let said: string | undefined;
  for (let pause = 50; ; pause = Math.min(pause * 1.3, startCheckMs)) {
    const result = await checkHealth(lrp.spec.healthCheck, target);
    signal.throwIfAborted();
    if (result.outcome === "healthy") return undefined;
    const isOver = Date.now() >= deadline;
    if (isOver && result.outcome === "failed")
      return { kind: "neverHealthy", seconds: lrp.spec.healthCheck.timeoutSeconds ?? 60, why: result.why };
    if (result.outcome === "failed" && result.why !== said && Date.now() - started > WAITING_AFTER_MS)
      onWaiting({ kind: "notHealthyYet", why: (said = result.why) });
    await delay(isOver ? startCheckMs : Math.min(pause, Math.max(deadline - Date.now(), 1)), undefined, { signal });
  }
}

async function watchLiveness({ lrp, target, signal }: HealthWatch): Promise<InstanceProblem | undefined> {
  const check = lrp.spec.healthCheck;
  for (;;) {
    await delay((check.intervalSeconds ?? 30) * 1000, undefined, { signal });
    const result = await checkHealth(check, target);
    signal.throwIfAborted();
    // One failure is enough, as in Diego.
    if (result.outcome === "failed") return { kind: "unhealthy", why: result.why };
  }
}

async function watchReadiness({ lrp, target, startCheckMs, signal }: HealthWatch, events: HealthEvents): Promise<void> {
  const check = lrp.spec.readinessHealthCheck;
  if (check.type === "process") return events.onReady(true);
  let ready: boolean | undefined;
  for (let pause = 50; ; pause = Math.min(pause * 1.3, startCheckMs)) {
    const result = await checkHealth(check, target);
    signal.throwIfAborted();
    if (result.outcome !== "unknown" && (result.outcome === "healthy") !== ready) {
      ready = result.outcome === "healthy";
      events.onReady(ready, result.outcome === "failed" ? result.why : undefined);
      pause = 50;
    }
    await delay(ready ? (check.intervalSeconds ?? 30) * 1000 : pause, undefined, { signal });
  }
}

function ignoreAbort(error: unknown): undefined {
  if ((error as Error).name === "AbortError") return undefined;
  throw error;
}
