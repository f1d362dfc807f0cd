// `cup local stop`.
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { findRunning, type Home, homeAt } from "../../local/home.ts";
import { Failure } from "../failure.ts";
import type { Progress, Result } from "../output.ts";

const DEADLINE_MS = 30_000;

/** Asks the platform to stop and waits until it has. Where none runs, ends what a killed one left running; that is no error. */
export async function localStop(progress: Progress, options: { home?: string }): Promise<Result> {
  const home = homeAt(options.home);
  const running = await findRunning(home);
  if (!running) return endLeftovers(home);
  progress.step(`Stopping process ${running.pid}`);
  process.kill(running.pid, "SIGTERM");
  const deadline = Date.now() + DEADLINE_MS;
  while (await findRunning(home)) {
    if (Date.now() > deadline)
      throw new Failure(`process ${running.pid} has not stopped in ${DEADLINE_MS / 1000} s`, {
        next: `read ${home.log}, or: kill -9 ${running.pid}, then cup local stop again for its apps`,
      });
    await delay(50);
  }
  return { json: { running: false, stopped: running.pid }, text: ["Stopped."] };
}

/** The apps and databases of a killed platform run on for its next start. A stop ends them. */
async function endLeftovers(home: Home): Promise<Result> {
  const { terminateLeftoverInstances } = await import("../../backends/runners/process/leftover-instances.ts");
  const ended = await terminateLeftoverInstances(join(home.data, "instances"));
  await (await import("../../local/database-broker.ts")).stopLeftoverDatabases(home);
  const text =
    ended === 0
      ? "Cupola does not run."
      : `Cupola does not run. Ended ${ended} app instance${ended === 1 ? "" : "s"} that it had left running.`;
  return { json: { running: false, endedInstances: ended }, text: [text] };
}
