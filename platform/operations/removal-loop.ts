// Looks for unused content from time to time, and says once why a look failed.
import { setTimeout as delay } from "node:timers/promises";
import type { Logger } from "pino";

const MAX_INTERVAL_MS = 60 * 60_000;

export interface RemovalLoop {
  /** The content, in log lines. */
  content: string;
  /** Looks once. Returns the number of removed contents; undefined ends the loop. */
  look: () => Promise<number | undefined>;
  graceMs: number;
  log: Logger;
}

/** Looks each hour, or twice per grace if that is shorter, until the signal. Never rejects. */
export async function runRemovalLoop({ content, look, graceMs, log }: RemovalLoop, signal: AbortSignal): Promise<void> {
  let said: string | undefined;
  while (!signal.aborted) {
    try {
      const removed = await look();
      if (removed === undefined) return;
      if (said !== undefined) log.info(`unused ${content} can be removed again`);
      said = undefined;
      if (removed > 0) log.info({ removed }, `removed ${content} that nothing refers to`);
    } catch (err) {
      const why = err instanceof Error ? err.message : String(err);
      if (why !== said) log.warn({ err }, `could not remove unused ${content}; each later look tries again`);
      said = why;
    }
    await delay(Math.min(MAX_INTERVAL_MS, graceMs / 2), undefined, { signal, ref: false }).catch(() => undefined);
  }
}
