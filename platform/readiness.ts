// What a process that is not ready waits for, in words for operators; and work that is tried until the cluster lets it.
import { setTimeout as delay } from "node:timers/promises";
import type { Logger } from "pino";
import type { CheckResult, FailedCheck, Readiness } from "../kube/server/readiness.ts";
import type { UnsyncedWatch } from "../kube/cache/unsynced-watches.ts";
import type { InformerStatus } from "../kube/cache/informer-options.ts";

const RETRY_MS = 1_000;
const POLL_MS = 20;
const LOG_INTERVAL_MS = 10_000;

const MAX_LISTED_GAPS = 50;

/** A few words for watches that cannot be read. */
export function formatWatchGaps(gaps: readonly (UnsyncedWatch | InformerStatus)[]): string {
  const listed = gaps
    .slice(0, MAX_LISTED_GAPS)
    .map(
      ({ resource, namespace, state, parkReason }) =>
        `${resource}${namespace ? ` in ${namespace}` : ""} ${parkReason ?? state}`,
    );
  return [...listed, ...(gaps.length > MAX_LISTED_GAPS ? [`and ${gaps.length - MAX_LISTED_GAPS} more`] : [])].join(
    ", ",
  );
}

/** Gaps of controllers: what is still being listed keeps the process unready; what waits for a right or a kind degrades it, so that one missing right does not stop everything else. */
export function presentWatchGaps(gaps: readonly UnsyncedWatch[]): CheckResult {
  if (gaps.length === 0) return true;
  const text = formatWatchGaps([
    ...new Map(gaps.map((gap) => [`${gap.resource} ${gap.namespace ?? ""}`, gap])).values(),
  ]);
  return gaps.every(({ parkReason }) => parkReason) ? { degraded: text } : text;
}

/** Kinds for whose cache objects have waited too long; the log says which objects. */
export function presentStaleCaches(resources: readonly string[]): CheckResult {
  return (
    resources.length === 0 || {
      degraded: `the cache stays behind the API server, and objects wait for it: ${resources.join(", ")}`,
    }
  );
}

/** Does the work until it succeeds; meanwhile `readiness` says under that name why not. @throws whatever `signal` was aborted with */
export async function retryUntilSuccess<T>(
  name: string,
  operation: () => Promise<T>,
  { readiness, signal, log }: { readiness: Readiness; signal: AbortSignal; log: Logger },
): Promise<T> {
  let status: CheckResult = "not tried yet";
  readiness.addCheck(name, () => status);
  for (;;) {
    signal.throwIfAborted();
    try {
      const done = await operation();
      status = true;
      return done;
    } catch (err) {
      const problem = err instanceof Error ? err.message : String(err);
      if (problem !== status)
        log.warn({ err, part: name }, "could not start a part of the platform; it is tried again");
      status = problem;
      await delay(RETRY_MS, undefined, { signal });
    }
  }
}

/** Resolves when everything is there. Says now and then in the log what is not. @throws whatever `signal` was aborted with */
export async function waitUntilReady(readiness: Readiness, signal: AbortSignal, log: Logger): Promise<void> {
  let loggedAt = performance.now();
  for (;;) {
    const { ready, pending } = readiness.check();
    if (ready) return;
    if (performance.now() - loggedAt > LOG_INTERVAL_MS) {
      loggedAt = performance.now();
      log.warn(
        { pending: formatPending(pending) },
        "not ready yet; is the cluster reachable, and does this identity have the rights of deploy/rbac?",
      );
    }
    await delay(POLL_MS, undefined, { signal });
  }
}

function formatPending(missing: readonly FailedCheck[]): string[] {
  return missing.map(({ name, reason }) => `${name}: ${reason}`);
}
