// `cup local status`.
import { findRunning, homeAt } from "../../local/home.ts";
import { fields, type Result } from "../output.ts";

/** Pid, addresses and readiness; `ready` is what the process itself says now. */
export async function localStatus(options: { home?: string }): Promise<Result> {
  const home = homeAt(options.home);
  const running = await findRunning(home);
  if (!running)
    return { json: { running: false, home: home.dir }, text: ["Cupola does not run. Next: cup local start"] };
  const ready = await isReady(running.url);
  return {
    json: { running: true, ready, home: home.dir, kubeconfig: home.kubeconfig, ...running },
    text: fields([
      ["ready", ready ? "yes" : "not yet"],
      ["API", running.url],
      ["Kubernetes", running.kubeUrl],
      ["process", String(running.pid)],
      ["home", home.dir],
      ["kubeconfig", home.kubeconfig],
    ]),
  };
}

async function isReady(url: string): Promise<boolean> {
  try {
    return (await fetch(`${url}/readyz`, { signal: AbortSignal.timeout(5000) })).ok;
  } catch {
    return false; // nobody answers: not ready
  }
}
