// `cup local stop`.
import { setTimeout as delay } from "node:timers/promises";
import { findRunning, homeAt } from "../../local/home.ts";
import { Failure } from "../failure.ts";
import type { Progress, Result } from "../output.ts";

const DEADLINE_MS = 30_000;

/** Asks it to stop and waits until it has. Stopping what does not run is no fault. */
export async function localStop(progress: Progress, options: { home?: string }): Promise<Result> {
  const home = homeAt(options.home);
  const running = await findRunning(home);
  if (!running) return { json: { running: false }, text: ["Cupola does not run."] };
  progress.step(`Stopping process ${running.pid}`);
  process.kill(running.pid, "SIGTERM");
  const deadline = Date.now() + DEADLINE_MS;
  while (await findRunning(home)) {
    if (Date.now() > deadline)
      throw new Failure(`process ${running.pid} has not stopped in ${DEADLINE_MS / 1000} s`, {
        next: `read ${home.log}, or: kill -9 ${running.pid}`,
      });
    await delay(50);
  }
  return { json: { running: false, stopped: running.pid }, text: ["Stopped."] };
}
