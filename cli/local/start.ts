// `cup local start`, which is what `npm start` runs: in the foreground, or with --detach in a process of its own.
import { spawn } from "node:child_process";
import { openSync } from "node:fs";
import { flushCompileCache } from "node:module";
import { extname, join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { stdoutColours } from "../colours.ts";
import { Failure } from "../failure.ts";
import { printLines, type Progress, type Result } from "../output.ts";
import { describeDisplacedApps } from "../../local/displaced-apps.ts";
import { findRunning, homeAt, makeHome, readState, type Home, type Running } from "../../local/home.ts";
import { choosePorts, type Ports } from "../../local/ports.ts";
import type { LocalCluster } from "../../local/start.ts";
import { noteHome } from "../target/other-homes.ts";
import { pushExample } from "./push-example.ts";
import { tellParent } from "./tell-parent.ts";

export interface StartOptions {
  home?: string;
  port?: number;
  kubePort?: number;
  empty?: boolean;
  detach?: boolean;
}

const DETACH_DEADLINE_MS = 90_000;
/** The text of a finished start follows. */
const READY = "ready: ";
const FAILED = "failed: ";

export async function localStart(progress: Progress, options: StartOptions): Promise<Result> {
  const home = homeAt(options.home);
  const running = await findRunning(home);
  if (running)
    throw new Failure(`Cupola runs already: ${running.url} (process ${running.pid})`, {
      next: "cup local stop, or another --home and --port",
    });
  const chosen = { ...options, ...choosePorts(options, readState(home).ports) };
  return options.detach ? startDetached(home, progress, chosen) : tellFailure(startHere(home, progress, chosen));
}

/** With the ports that were told, remembered or usual. */
type ChosenOptions = StartOptions & Ports;

/** The `cup local start --detach` that started this process says why it failed. */
async function tellFailure(result: Promise<Result>): Promise<Result> {
  try {
    return await result;
  } catch (error) {
    tellParent(`${FAILED}${error instanceof Error ? error.message : String(error)}`);
    throw error;
  }
}

async function startHere(home: Home, progress: Progress, options: ChosenOptions): Promise<Result> {
  const [{ startLocal }, { openLog }] = await Promise.all([
    import("../../local/start.ts"),
    import("../../local/log.ts"),
  ]);
  makeHome(home);
  const cluster = await startLocal({
    home,
    port: options.port,
    kubePort: options.kubePort,
    log: openLog(home),
    progress: (step) => progress.step(step),
  });
  const stopped = untilSignal();
  try {
    // Once: whoever deletes the example does not get it again.
    const hello = options.empty ? undefined : await cluster.doOnce("hello", "true", () => pushExample(home, progress));
    const welcome = describeStart(home, cluster, hello);
    printLines(...welcome, `Ctrl-C stops it. All state is in ${home.dir}.`);
    noteHome(home.dir);
    tellParent(`${READY}${welcome.join("\n")}`);
    // Now, since a killed process writes no cache.
    flushCompileCache();
    await stopped;
    progress.step("Stopping");
  } finally {
    await cluster.stop();
  }
  return { json: { stopped: true }, text: ["Stopped."] };
}

function untilSignal(): Promise<void> {
  return new Promise((resolve) => {
    for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => resolve());
  });
}

/** Text for a newcomer: the URL and three commands to type next. */
function describeStart(
  home: Home,
  { url, displaced }: Pick<LocalCluster, "url" | "displaced">,
  hello: string | undefined,
): string[] {
  const moved = describeDisplacedApps(displaced);
  return [
    "",
    `${stdoutColours.green("✓")} Cupola is ready: ${url}`,
    ...(hello ? [`${stdoutColours.green("✓")} An app runs: ${stdoutColours.bold(hello)}`] : []),
    ...(moved.length > 0 ? ["", ...moved] : []),
    "",
    "Next, in another terminal:",
    `  export KUBECONFIG=${home.kubeconfig}${home.dir === homeAt(undefined).dir ? "" : ` CUPOLA_HOME=${home.dir}`}`,
    `  cf api ${url} && cf auth admin && cf target -o local -s dev     (or: npx cup apps)`,
    "  kubectl get cf -A",
    "",
  ];
}

function detachedArguments(home: Home, { port, kubePort, empty }: ChosenOptions): string[] {
  const entry = join(import.meta.dirname, "..", `cup${extname(import.meta.filename)}`);
  const ports = ["--port", String(port), "--kube-port", String(kubePort)];
  return [entry, "local", "start", "--home", home.dir, ...ports, ...(empty ? ["--empty"] : [])];
}

/** Starts this same command as a process of its own and returns when it is ready. */
async function startDetached(home: Home, progress: Progress, options: ChosenOptions): Promise<Result> {
  makeHome(home);
  progress.step(`Starting in the background; its log is ${home.log}`);
  const log = openSync(home.log, "a", 0o600);
  const args = detachedArguments(home, options);
  const child = spawn(process.execPath, args, { detached: true, stdio: ["ignore", log, log, "ipc"] });
  const ready = await Promise.race([
    new Promise<string>((resolve) => child.once("message", (message) => resolve(String(message)))),
    new Promise<string>((resolve) => child.once("exit", () => resolve("exit"))),
    delay(DETACH_DEADLINE_MS, "late", { ref: false }),
  ]);
  if (!ready.startsWith(READY)) {
    child.kill();
    if (ready.startsWith(FAILED)) throw new Failure(ready.slice(FAILED.length));
    throw new Failure(
      ready === "exit" ? "the process ended before it was ready" : `it was not ready in ${DETACH_DEADLINE_MS / 1000} s`,
      { next: `read ${home.log}` },
    );
  }
  child.disconnect();
  child.unref();
  const running = (await findRunning(home)) as Running;
  return {
    json: running,
    text: [
      ...ready.slice(READY.length).split("\n").slice(1),
      `It runs in the background (process ${running.pid}): cup local stop stops it. All state is in ${home.dir}.`,
    ],
  };
}
