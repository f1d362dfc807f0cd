// The log of a laptop's Cupola: a file, so that the terminal stays readable. A large one is rotated at the start.
import { openSync, renameSync, statSync } from "node:fs";
import type { Logger } from "pino";
import { createLog } from "../platform/create-log.ts";
import type { Home } from "./home.ts";

const MAX_BYTES = 16 * 1024 * 1024;

/** Appends to the log file; the previous one is kept beside it as `.1`. */
export function openLog(home: Home): Logger {
  if ((statSync(home.log, { throwIfNoEntry: false })?.size ?? 0) > MAX_BYTES) renameSync(home.log, `${home.log}.1`);
  return createLog(openSync(home.log, "a", 0o600));
}
