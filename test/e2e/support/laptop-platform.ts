// A laptop's Cupola for one journey: its own home and ports, started as a newcomer starts it, gone afterwards.
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { findProcess } from "../../../backends/host/process-table.ts";
import { runCommand } from "../../../scripts/run-command.ts";
import { freePort } from "../../cluster/free-port.ts";
import { eventually } from "../../eventually.ts";
import type { TestPlatformBase } from "./test-platform.ts";

const CUP = join(import.meta.dirname, "..", "..", "..", "cli", "cup.ts");

/** Starts one without the example app, in a new folder of `parent`. @throws Error with the log's end when it does not become ready */
export async function startLaptopPlatform(parent = tmpdir()): Promise<TestPlatformBase> {
  const home = mkdtempSync(join(parent, "cupola-e2e-"));
  const [port, kubePort] = [await freePort(), await freePort()];
  const env = { CUPOLA_HOME: home, NO_COLOR: "1" };
  const local = (...args: string[]) =>
    runCommand([process.execPath, CUP, "local", ...args], { cwd: home, deadlineMs: 120_000, env });
  const pid = (): number => (JSON.parse(readFileSync(join(home, "running.json"), "utf8")) as { pid: number }).pid;
  const laptop: TestPlatformBase = {
    on: "laptop",
    home,
    url: `http://localhost:${port}`,
    port,
    rawPort: port,
    hostAddress: "127.0.0.1",
    tcpHost: "127.0.0.1",
    kubeconfig: join(home, "kubeconfig"),
    pids: () => [pid()],
    async kill() {
      const victim = pid();
      process.kill(victim, "SIGKILL");
      await eventually(async () => {
        if (await findProcess(victim)) throw new Error(`process ${victim} still runs`);
      });
    },
    async start() {
      const { code, output } = await local(
        "start",
        "--detach",
        "--port",
        String(port),
        "--kube-port",
        String(kubePort),
        "--empty",
      );
      if (code !== 0)
        throw new Error(
          `cup local start ended with ${code}: ${output}\n${readFileSync(join(home, "cupola.log"), "utf8").slice(-4000)}`,
        );
    },
    async stop() {
      await local("stop");
      rmSync(home, { recursive: true, force: true });
    },
  };
  await laptop.start();
  return laptop;
}
