// A second process with the CF API alone, on the stage's cluster: what another replica is.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { TestPlatform } from "./test-platform.ts";

const CUPOLA = join(import.meta.dirname, "..", "..", "..", "platform", "cupola.ts");

export interface SecondApi {
  url: string;
  stop(): Promise<void>;
}

/** Starts it, and waits until it serves. @throws Error with what it said when it does not */
export async function startSecondApi(testPlatform: TestPlatform): Promise<SecondApi> {
  const args = [
    "--operation=api",
    "--kubeconfig",
    testPlatform.kubeconfig,
    "--context",
    "admin",
    "--port",
    "0",
    "--data",
    join(testPlatform.home, "data"),
  ];
  const child = spawn(process.execPath, [CUPOLA, ...args], { stdio: ["ignore", "pipe", "pipe"] });
  let output = "";
  child.stderr.setEncoding("utf8").on("data", (chunk: string) => (output = (output + chunk).slice(-4000)));
  const ended = once(child, "exit");
  const line = await Promise.race([once(createInterface(child.stdout), "line"), ended.then(() => undefined)]);
  if (!line) throw new Error(`the second API ended: ${output}`);
  return {
    url: (JSON.parse(String(line[0])) as { url: string }).url,
    async stop() {
      child.kill("SIGTERM");
      await ended;
    },
  };
}
