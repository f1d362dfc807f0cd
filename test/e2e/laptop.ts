// A laptop's Cupola for one journey: its own home and ports, started as a newcomer starts it, gone afterwards.
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { request } from "undici";
import { runCommand } from "../../scripts/run-command.ts";
import { freePort } from "../cluster/free-port.ts";

const CUP = join(import.meta.dirname, "..", "..", "cli", "cup.ts");

export interface Ran {
  code: number | null;
  output: string;
}

/** What an app answered. */
export interface Answer {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  body: string;
}

export interface Laptop {
  home: string;
  /** The CF API. */
  url: string;
  port: number;
  kubeconfig: string;
  /** Runs `cup` with this laptop as its target. */
  cup(...args: string[]): Promise<Ran>;
  /** As `cup`, and what it prints with --json. @throws Error when it fails */
  cupJson<T = Record<string, unknown>>(...args: string[]): Promise<T>;
  kubectl(...args: string[]): Promise<Ran>;
  /** A request to an app by its host. */
  get(host: string, path?: string): Promise<Answer>;
  pid(): number;
  /** After a kill: starts again on the same home and ports. */
  start(): Promise<void>;
  stop(): Promise<void>;
}

export interface LaptopOptions {
  /** Push the example app. */
  hello?: boolean;
}

/** Starts one. @throws Error with the log's end when it does not become ready */
export async function startLaptop(options: LaptopOptions = {}): Promise<Laptop> {
  const home = mkdtempSync(join(tmpdir(), "cupola-e2e-"));
  const [port, kubePort] = [await freePort(), await freePort()];
  const env = { CUPOLA_HOME: home, CUP_HOME: join(home, "cup"), KUBECONFIG: join(home, "kubeconfig"), CF_HOME: home, NO_COLOR: "1" };
  const run = (command: [string, ...string[]], deadlineMs = 120_000): Promise<Ran> => runCommand(command, { cwd: home, deadlineMs, env });
  const cup = (...args: string[]): Promise<Ran> => run([process.execPath, CUP, ...args]);
  const laptop: Laptop = {
    home,
    url: `http://localhost:${port}`,
    port,
    kubeconfig: env.KUBECONFIG,
    cup,
    async cupJson<T>(...args: string[]) {
      const { code, output } = await cup("--json", ...args);
      if (code !== 0) throw new Error(`cup ${args.join(" ")} ended with ${code}: ${output}`);
      return JSON.parse(output) as T;
    },
    kubectl: (...args) => run(["kubectl", ...args]),
    get: (host, path = "/") => getFrom(port, host, path),
    pid: () => (JSON.parse(readFileSync(join(home, "running.json"), "utf8")) as { pid: number }).pid,
    async start() {
      const { code, output } = await cup("local", "start", "--detach", "--port", String(port), "--kube-port", String(kubePort), ...(options.hello ? [] : ["--empty"]));
      if (code !== 0) throw new Error(`cup local start ended with ${code}: ${output}\n${readFileSync(join(home, "cupola.log"), "utf8").slice(-4000)}`);
    },
    async stop() {
      await cup("local", "stop");
      rmSync(home, { recursive: true, force: true });
    },
  };
  await laptop.start();
  return laptop;
}

/** Browsers and curl resolve `*.localhost` by themselves; the C library does not everywhere. */
async function getFrom(port: number, host: string, path: string): Promise<Answer> {
  const answer = await request(`http://127.0.0.1:${port}${path}`, { headers: { host: `${host}:${port}` }, headersTimeout: 10_000, bodyTimeout: 10_000 });
  return { status: answer.statusCode, headers: answer.headers, body: await answer.body.text() };
}
