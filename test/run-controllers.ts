// Controllers of a test, until its end.
import { runControllers, type RunControllersOptions, type ControllerRun } from "../kube/controller/run-controllers.ts";
import { CONTROLLER_SETTINGS } from "../platform/operations/controller-settings.ts";

/** Runs them with the platform's settings until `ends` is disposed. */
export function startControllers(
  options: Pick<RunControllersOptions, "client" | "controllers" | "informers" | "log">,
  ends: AsyncDisposableStack,
): ControllerRun {
  const abort = new AbortController();
  const running = runControllers({ ...options, ownership: CONTROLLER_SETTINGS, signal: abort.signal });
  ends.defer(async () => {
    abort.abort();
    await running.stopped;
  });
  return running;
}
