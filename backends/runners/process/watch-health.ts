// Watches one instance's health from its start on: when it is up, whether routes may reach it, and why it must go.
import { setTimeout as delay } from "node:timers/promises";
import type { LRP } from "../../../crds/lrp/lrp.ts";
import { checkHealth, type HealthTarget } from "./check-health.ts";

/** Told as things change. `onReady` is only called with a new value. */
export interface HealthEvents {
  onUp: () => void;
  onReady: (ready: boolean, why?: string) => void;
}

/** What to watch. `up` is true for an instance that was up before (found again after a restart). */
export interface HealthWatch {
  lrp: LRP;
  target: HealthTarget;
  up: boolean;
  /** What is left of its start timeout. */
  startTimeoutMs: number;
  /** Longest pause between two checks while it starts. */
  startCheckMs: number;
  signal: AbortSignal;
}

/** Resolves with the reason when the instance must go; stays pending while it is well; resolves undefined on abort. */
export async function watchHealth(watch: HealthWatch, events: HealthEvents): Promise<string | undefined> {
  try {
    if (!watch.up) {
      const failure = await awaitUp(watch);
      if (failure !== undefined) return failure;
    }
    events.onUp();
    // Ends with the signal, which the caller aborts once it has our answer.
    void watchReadiness(watch, events).catch(ignoreAbort);
    return await watchLiveness(watch);
  } catch (error) {
    return ignoreAbort(error);
  }
}

async function awaitUp({
  lrp,
  target,
  startTimeoutMs,
  startCheckMs,
  signal,
}: HealthWatch): Promise<string | undefined> {
  const deadline = Date.now() + startTimeoutMs;
  for (let pause = 50; ; pause = Math.min(pause * 1.3, startCheckMs)) {
    const failure = await checkHealth(lrp.spec.healthCheck, target);
    signal.throwIfAborted();
    if (failure === undefined) return undefined;
    if (Date.now() >= deadline)
      return `Instance never healthy after ${lrp.spec.healthCheck.timeoutSeconds ?? 60}s: ${failure}`;
    await delay(Math.min(pause, Math.max(deadline - Date.now(), 1)), undefined, { signal });
  }
}

async function watchLiveness({ lrp, target, signal }: HealthWatch): Promise<string | undefined> {
  const check = lrp.spec.healthCheck;
  for (;;) {
    await delay((check.intervalSeconds ?? 30) * 1000, undefined, { signal });
    const failure = await checkHealth(check, target);
    signal.throwIfAborted();
    // One failure is enough, as in Diego.
    if (failure !== undefined) return `Instance became unhealthy: Liveness check unsuccessful: ${failure}`;
  }
}

async function watchReadiness({ lrp, target, startCheckMs, signal }: HealthWatch, events: HealthEvents): Promise<void> {
  const check = lrp.spec.readinessHealthCheck;
  if (check.type === "process") return events.onReady(true);
  let ready: boolean | undefined;
  for (let pause = 50; ; pause = Math.min(pause * 1.3, startCheckMs)) {
    const failure = await checkHealth(check, target);
    signal.throwIfAborted();
    if ((failure === undefined) !== ready) {
      ready = failure === undefined;
      events.onReady(ready, failure);
      pause = 50;
    }
    await delay(ready ? (check.intervalSeconds ?? 30) * 1000 : pause, undefined, { signal });
  }
}

function ignoreAbort(error: unknown): undefined {
  if ((error as Error).name === "AbortError") return undefined;
  throw error;
}
