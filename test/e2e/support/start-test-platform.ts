// Starts the platform of a journey: on a laptop, or three replicas on a real control plane.
import { join } from "node:path";
import { request } from "undici";
import { runCommand } from "../../../scripts/run-command.ts";
import { startReplicatedPlatform } from "./replicated-platform.ts";
import { startLaptopPlatform } from "./laptop-platform.ts";
import type { CommandResult, HttpResponse, PlatformKind, TestPlatform, TestPlatformBase } from "./test-platform.ts";

const CUP = join(import.meta.dirname, "..", "..", "..", "cli", "cup.ts");

/** The place that `npm run e2e -- --on …` asks for. */
export function chosenPlatformKind(): PlatformKind {
  return process.env["CUPOLA_E2E_ON"] === "cluster" ? "cluster" : "laptop";
}

/** Starts one, with the org `local`, its space `dev`, the domain `apps.localhost` and the user `developer`. @throws Error with the log's end when it does not become ready */
export async function startTestPlatform(): Promise<TestPlatform> {
  if (chosenPlatformKind() === "laptop") return addClients(await startLaptopPlatform(), "kubectl");
  const { base, kubectl } = await startReplicatedPlatform();
  return addClients(base, kubectl);
}

function addClients(base: TestPlatformBase, kubectl: string): TestPlatform {
  const { home, port, kubeconfig } = base;
  const env = testPlatformEnv(home, kubeconfig);
  const run = (command: [string, ...string[]]): Promise<CommandResult> =>
    runCommand(command, { cwd: home, deadlineMs: 120_000, env });
  const cup = (...args: string[]): Promise<CommandResult> => run([process.execPath, CUP, ...args]);
  return Object.assign(base, {
    cup,
    async cupJson<T>(...args: string[]) {
      const { code, output } = await cup("--json", ...args);
      if (code !== 0) throw new Error(`cup ${args.join(" ")} ended with ${code}: ${output}`);
      return JSON.parse(output) as T;
    },
    kubectl: (...args: string[]) => run([kubectl, ...args]),
    get: (host: string, path = "/") => getFrom(port, host, path),
  });
}

/** What `cup` and `kubectl` go by. */
function testPlatformEnv(home: string, kubeconfig: string): Record<string, string> {
  return { CUPOLA_HOME: home, CUP_HOME: join(home, "cup"), KUBECONFIG: kubeconfig, CF_HOME: home, NO_COLOR: "1" };
}

/** Browsers and curl resolve `*.localhost` by themselves; the C library does not everywhere. */
async function getFrom(port: number, host: string, path: string): Promise<HttpResponse> {
  const answer = await request(`http://127.0.0.1:${port}${path}`, {
    headers: { host: `${host}:${port}` },
    headersTimeout: 10_000,
    bodyTimeout: 10_000,
  });
  return { status: answer.statusCode, headers: answer.headers, body: await answer.body.text() };
}
