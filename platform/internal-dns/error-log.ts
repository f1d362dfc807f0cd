// The errors of the DNS server in the log: one a minute, however many questions fail.
import type { Logger } from "pino";

const INTERVAL_MS = 60_000;

/** @param now milliseconds of a clock that never goes back */
export function createErrorLog(log: Pick<Logger, "error">, now: () => number): (err: unknown) => void {
  let silentUntil = -Infinity;
  let unlogged = 0;
  return (err) => {
    if (now() < silentUntil) return void unlogged++;
    silentUntil = now() + INTERVAL_MS;
    log.error({ err, ...(unlogged > 0 && { unlogged }) }, "the DNS server or one of its sockets failed");
    unlogged = 0;
  };
}
