// What a process that is not ready waits for, in words for operators; and work that is tried until the cluster lets it.
import { setTimeout as delay } from "node:timers/promises";
import type { Logger } from "pino";
import type { Answer, Missing, Readiness } from "../kube/server/readiness.ts";
import type { WatchGap } from "../kube/cache/unsynced-watches.ts";
import type { WatchStatus } from "../kube/cache/informers.ts";

const TRY_AGAIN_MS = 1_000;
const LOOK_MS = 20;
const SAY_MS = 10_000;

const NAMED = 50;

/** A few words for watches that cannot be read. */
export function describeGaps(gaps: readonly (WatchGap | WatchStatus)[]): string {
  const named = gaps.slice(0, NAMED).map(({ resource, namespace, state, parkReason }) => `${resource}${namespace ? ` in ${namespace}` : ""} ${parkReason ?? state}`);
  return [...named, ...(gaps.length > NAMED ? [`and ${gaps.length - NAMED} more`] : [])].join(", ");
}

/** Gaps of controllers: what is still being listed keeps the process unready; what waits for a right or a kind degrades it, so that one missing right does not stop everything else. */
export function judgeGaps(gaps: readonly WatchGap[]): Answer {
  if (gaps.length === 0) return true;
  const text = describeGaps([...new Map(gaps.map((gap) => [`${gap.resource} ${gap.namespace ?? ""}`, gap])).values()]);
  return gaps.every(({ parkReason }) => parkReason) ? { degraded: text } : text;
}

/** Kinds for whose cache objects have waited too long; the log says which objects. */
export function describeBehind(resources: readonly string[]): Answer {
  return resources.length === 0 || { degraded: `the cache stays behind the API server, and objects wait for it: ${resources.join(", ")}` };
}

/** Does the work until it succeeds; meanwhile `readiness` says under that name why not. @throws whatever `signal` was aborted with */
export async function untilDone<T>(name: string, work: () => Promise<T>, { readiness, signal, log }: { readiness: Readiness; signal: AbortSignal; log: Logger }): Promise<T> {
  let answer: Answer = "not tried yet";
  readiness.expect(name, () => answer);
  for (;;) {
    signal.throwIfAborted();
    try {
      const done = await work();
      answer = true;
      return done;
    } catch (err) {
      const problem = err instanceof Error ? err.message : String(err);
      if (problem !== answer) log.warn({ err, part: name }, "could not start a part of the platform; it is tried again");
      answer = problem;
      await delay(TRY_AGAIN_MS, undefined, { signal });
    }
  }
}

/** Resolves when everything is there. Says now and then in the log what is not. @throws whatever `signal` was aborted with */
export async function untilReady(readiness: Readiness, signal: AbortSignal, log: Logger): Promise<void> {
  let said = performance.now();
  for (;;) {
    const { ready, pending } = readiness.check();
    if (ready) return;
    if (performance.now() - said > SAY_MS) {
      said = performance.now();
      log.warn({ pending: inWords(pending) }, "not ready yet; is the cluster reachable, and does this identity have the rights of deploy/rbac?");
    }
    await delay(LOOK_MS, undefined, { signal });
  }
}

function inWords(missing: readonly Missing[]): string[] {
  return missing.map(({ name, reason }) => `${name}: ${reason}`);
}
