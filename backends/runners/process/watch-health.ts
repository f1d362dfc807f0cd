// Watches one instance's health from its start on: when it is up, whether routes may reach it, and why it must end.
import { intervalSeconds, startSeconds } from "../../../crds/health-check.ts";
import { setTimeout as delay } from "node:timers/promises";
import type { LRP } from "../../../crds/lrp/lrp.ts";
import type { InstanceProblem } from "../../../crds/lrp/instance-problem.ts";
import { checkHealth, type HealthTarget, type ProbeResult } from "./check-health.ts";

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
  /** Where the instance listens now; asked at most once a second while its check fails. */
  listeningPorts: () => Promise<number[]>;
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
    void watchReadiness(watch, events).catch((error: unknown) => ignoreAbort(error, watch.signal));
    return await watchLiveness(watch);
  } catch (error) {
    return ignoreAbort(error, watch.signal);
  }
}

/** A start that takes no longer is not worth a word. */
const WAITING_AFTER_MS = 3_000;

async function awaitUp(watch: HealthWatch, { onWaiting }: HealthEvents): Promise<InstanceProblem | undefined> {
  const { lrp, startTimeoutMs, startCheckMs, signal } = watch;
  const started = Date.now();
  const deadline = started + startTimeoutMs;
  const check = startCheck(watch);
  let said: string | undefined;
  for (let pause = 50; ; pause = Math.min(pause * 1.3, startCheckMs)) {
    const result = await check();
    signal.throwIfAborted();
    if (result.outcome === "healthy") return undefined;
    const isOver = Date.now() >= deadline;
    if (result.outcome === "failed") {
      const { why } = result;
      if (isOver) return { kind: "neverHealthy", seconds: startSeconds(lrp.spec.healthCheck), why };
      const isTold = result.isCertain || Date.now() - started > WAITING_AFTER_MS;
      if (why !== said && isTold) onWaiting({ kind: "notHealthyYet", why: (said = why) });
    }
    await delay(isOver ? startCheckMs : Math.min(pause, Math.max(deadline - Date.now(), 1)), undefined, { signal });
  }
}

/** The check of a starting instance. `isCertain`: the reason was seen, and need not wait to be told. */
function startCheck({ lrp, target, listeningPorts }: HealthWatch): () => Promise<ProbeResult & { isCertain?: true }> {
  const findOtherPort = watchOtherPort(target, listeningPorts);
  return async () => {
    const result = await checkHealth(lrp.spec.healthCheck, target);
    const otherPort = result.outcome === "failed" ? await findOtherPort() : undefined;
    return otherPort === undefined ? result : { outcome: "failed", why: otherPort, isCertain: true };
  };
}

const LOOK_EVERY_MS = 1_000;

/** Says that the instance listens elsewhere than it should; undefined when it does not, or that cannot be seen. */
function watchOtherPort(
  { ports: wanted }: HealthTarget,
  listeningPorts: () => Promise<number[]>,
): () => Promise<string | undefined> {
  let lookedAt = Date.now() - LOOK_EVERY_MS / 2;
  let said: string | undefined;
  return async () => {
    if (Date.now() - lookedAt < LOOK_EVERY_MS) return said;
    const ports = await listeningPorts();
    lookedAt = Date.now();
    const isElsewhere = ports.length > 0 && !ports.some((port) => wanted.includes(port));
    said = isElsewhere ? `it listens on port ${ports.join(" and ")}, not on ${wanted[0]}, the port in PORT` : undefined;
    return said;
  };
}

async function watchLiveness({ lrp, target, signal }: HealthWatch): Promise<InstanceProblem | undefined> {
  const check = lrp.spec.healthCheck;
  for (;;) {
    await delay(intervalSeconds(check) * 1000, undefined, { signal });
    const result = await checkHealth(check, target);
    signal.throwIfAborted();
    // A single failure is enough, as in Diego.
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
    await delay(ready ? intervalSeconds(check) * 1000 : pause, undefined, { signal });
  }
}

/** The reason of an abort is the caller's own, and need not be an Error. */
function ignoreAbort(error: unknown, signal: AbortSignal): undefined {
  if (!signal.aborted) throw error;
}
