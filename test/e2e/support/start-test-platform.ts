// Starts the platform of a journey: on a laptop, three replicas on a real control plane, or installed on a real node.
import { join } from "node:path";
import { request } from "undici";
import { runCommand } from "../../../scripts/run-command.ts";
import { startReplicatedPlatform, type ReplicatedPlatformOptions } from "./replicated-platform.ts";
import { joinPlatform, SHARED_PLATFORM } from "./shared-platform.ts";
import { startNodePlatform, type NodePlatformOptions } from "./node-platform.ts";
import { addSecondCluster, wantsSecondCluster } from "./second-cluster.ts";
import { startLaptopPlatform } from "./laptop-platform.ts";
import type { CommandResult, HttpResponse, PlatformKind, TestPlatform, TestPlatformBase } from "./test-platform.ts";

const CUP = join(import.meta.dirname, "..", "..", "..", "bin", "cup.js");

/** The place that `npm run e2e -- --on …` asks for. `clusters` is a laptop with a second cluster. */
export function chosenPlatformKind(): PlatformKind {
  const place = process.env["CUPOLA_E2E_ON"];
  return place === "cluster" || place === "node" ? place : "laptop";
}

/** Starts one, with the org `local`, its space `dev`, the domain `apps.localhost` and the user `developer`. @throws Error with the log's end when it does not become ready */
export async function startTestPlatform(
  onNode: NodePlatformOptions = {},
  onCluster: ReplicatedPlatformOptions = {},
): Promise<TestPlatform> {
  if (chosenPlatformKind() === "laptop") return startLaptop();
  if (chosenPlatformKind() === "node") {
    const shared = process.env[SHARED_PLATFORM];
    if (shared) {
      const joined = joinPlatform(shared);
      return addClients(joined.base, joined.kubectl);
    }
    const { base: installed, node } = await startNodePlatform(onNode);
    return addClients(installed, node.kubectl);
  }
  const { base, kubectl } = await startReplicatedPlatform(onCluster);
  return addClients(base, kubectl);
}

async function startLaptop(): Promise<TestPlatform> {
  const laptop = addClients(await startLaptopPlatform(), "kubectl");
  if (!wantsSecondCluster()) return laptop;
  try {
    await addSecondCluster(laptop);
    return laptop;
  } catch (error) {
    await laptop.stop();
    throw error;
  }
}

/** Actions of a journey on a platform by `cup`, `kubectl` and HTTP. @param kubectl its path */
export function addClients(base: TestPlatformBase, kubectl: string): TestPlatform {
  const { home, port, kubeconfig } = base;
  const env = testPlatformEnv(home, kubeconfig);
  const run = (command: [string, ...string[]]): Promise<CommandResult> =>
    runCommand(command, { cwd: home, deadlineMs: 300_000, env });
  const cup = (...args: string[]): Promise<CommandResult> => run([process.execPath, CUP, ...args]);
  return Object.assign(base, {
    cup,
    async cupJson<T>(...args: string[]) {
      const { code, output } = await cup("--json", ...args);
      if (code !== 0) throw new Error(`cup ${args.join(" ")} ended with ${code}: ${output}`);
      return JSON.parse(output) as T;
    },
    kubectl: (...args: string[]) => run([kubectl, ...args]),
    get: (host: string, path?: string) => getFrom(port, host, path),
  });
}

/** Environment of `cup` and `kubectl`. */
function testPlatformEnv(home: string, kubeconfig: string): Record<string, string> {
  return { CUPOLA_HOME: home, CUP_HOME: join(home, "cup"), KUBECONFIG: kubeconfig, CF_HOME: home, NO_COLOR: "1" };
}

/** Browsers and curl resolve `*.localhost` by themselves; the C library does not everywhere. */
export async function getFrom(port: number, host: string, path = "/"): Promise<HttpResponse> {
  const answer = await request(`http://127.0.0.1:${port}${path}`, {
    headers: { host: `${host}:${port}` },
    headersTimeout: 10_000,
    bodyTimeout: 10_000,
  });
  return { status: answer.statusCode, headers: answer.headers, body: await answer.body.text() };
}
