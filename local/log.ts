// The log of a laptop's Cupola: a file, so that the terminal stays readable. Started afresh when it is large.
import { renameSync, statSync } from "node:fs";
import { destination, pino, type Logger } from "pino";
import type { Home } from "./home.ts";

const MAX_BYTES = 16 * 1024 * 1024;

/** Appends to the log file; the previous one is kept beside it as `.1`. */
export function openLog(home: Home): Logger {
  if ((statSync(home.log, { throwIfNoEntry: false })?.size ?? 0) > MAX_BYTES) renameSync(home.log, `${home.log}.1`);
  return pino({ base: undefined }, destination({ dest: home.log, append: true, sync: false, mode: 0o600 }));
}
