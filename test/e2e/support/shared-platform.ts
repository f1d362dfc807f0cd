// One platform on a node for several journeys: a start of it takes minutes, a journey often less. Each leaves it as it found it.
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runCommand } from "../../../scripts/run-command.ts";
import { LOCAL_ORG } from "../../../local/seed.ts";
import { startNodePlatform, type NodePlatformOptions } from "./node-platform.ts";
import type { TestPlatformBase } from "./test-platform.ts";

/** The variable that names the file in which a running platform is described. */
export const SHARED_PLATFORM = "CUPOLA_E2E_PLATFORM";

interface SharedPlatform {
  url: string;
  port: number;
  kubeconfig: string;
  kubectl: string;
}

const CLEAN_UP_MS = 180_000;

/** Starts one and describes it in a file. @returns the file, and what ends it */
export async function sharePlatform(
  options: NodePlatformOptions,
): Promise<{ file: string; stop: () => Promise<void> }> {
  const { base, node } = await startNodePlatform(options);
  const { url, port, kubeconfig, home } = base;
  const file = join(home, "shared-platform.json");
  const described: SharedPlatform = { url, port, kubeconfig, kubectl: node.kubectl };
  writeFileSync(file, JSON.stringify(described));
  return { file, stop: () => base.stop() };
}

/** The platform of the file for one journey, with a home of its own. Its processes are not the journey's to kill. */
export function joinPlatform(file: string): { base: TestPlatformBase; kubectl: string } {
  const { url, port, kubeconfig, kubectl } = JSON.parse(readFileSync(file, "utf8")) as SharedPlatform;
  const home = mkdtempSync(join(tmpdir(), "cupola-e2e-"));
  const own = join(home, "kubeconfig");
  copyFileSync(kubeconfig, own);
  const base: TestPlatformBase = {
    on: "node",
    home,
    url,
    port,
    rawPort: port,
    kubeconfig: own,
    pids: () => [],
    kill: () => Promise.reject(new Error("this platform serves other journeys, too: run this one alone")),
    start: () => Promise.resolve(),
    async stop() {
      await cleanUp(kubectl, own);
      rmSync(home, { recursive: true, force: true, maxRetries: 5 });
    },
  };
  return { base, kubectl };
}

/** Removes what journeys make: orgs, people, and all in the first space. @throws Error with kubectl's output */
async function cleanUp(kubectl: string, kubeconfig: string): Promise<void> {
  const run = async (...args: string[]): Promise<string> => {
    const { code, output } = await runCommand([kubectl, "--kubeconfig", kubeconfig, ...args], {
      cwd: tmpdir(),
      deadlineMs: CLEAN_UP_MS,
    });
    if (code !== 0) throw new Error(`kubectl ${args.join(" ")} ended with ${code}: ${output}`);
    return output;
  };
  const orgs = (await run("get", "orgs.cupola.dev", "-o", "name")).split("\n").filter(Boolean);
  const others = orgs.filter((org) => org !== `org.cupola.dev/${LOCAL_ORG}`);
  await run("delete", "apps.cupola.dev,routes.cupola.dev", "--all", "-n", "local-dev");
  await run("delete", "serviceaccounts", "-n", "default", "--field-selector=metadata.name!=default");
  if (others.length > 0) await run("delete", ...others);
}
