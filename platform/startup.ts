// Waiting at the start: for work that the cluster does not allow yet, and until everything is ready.
import { setTimeout as delay } from "node:timers/promises";
import type { Logger } from "pino";
import type { CheckResult, FailedCheck, Readiness } from "../kube/server/readiness.ts";

const RETRY_MS = 1_000;
const POLL_MS = 20;
const LOG_INTERVAL_MS = 10_000;

/** Retries until `operation` succeeds; meanwhile `readiness` shows the error under that name. @throws the abort reason of `signal` */
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
      if (problem !== status) log.warn({ err, part: name }, "could not start a part of the platform; retrying");
      status = problem;
      await delay(RETRY_MS, undefined, { signal });
    }
  }
}

/** Resolves when everything is ready. Regularly logs what is missing. @throws the abort reason of `signal` */
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
