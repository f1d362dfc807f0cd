// HAProxy in front of the same app, where the machine has one: on the PATH, or where HAPROXY says.
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort } from "../../cluster/free-port.ts";
import { until } from "../until.ts";

export interface HAProxy {
  url: string;
  /** Microseconds of processor time so far. */
  cpu(): number;
  stop(): Promise<void>;
}

/** Unit of `/proc/PID/stat`: Linux counts in hundredths of a second. */
const TICK_MICROSECONDS = 10_000;

/** Undefined where there is none. */
export async function startHAProxy(host: string, appPort: number): Promise<HAProxy | undefined> {
  const program = process.env["HAPROXY"] ?? "haproxy";
  if (spawnSync(program, ["-v"], { stdio: "ignore" }).status !== 0) return undefined;
  const folder = mkdtempSync(join(tmpdir(), "cupola-bench-haproxy-"));
  const port = await freePort();
  const file = join(folder, "haproxy.cfg");
  writeFileSync(file, configuration(port, appPort));
  // No master and no threads: one process, as the router is.
  const child = spawn(program, ["-f", file, "-db"], { stdio: ["ignore", "ignore", "inherit"] });
  const url = `http://${host}:${port}`;
  const answers = (): Promise<boolean> => fetch(`http://127.0.0.1:${port}/`).then(({ ok }) => ok, () => false); // prettier-ignore
  await until(answers, "HAProxy does not answer", 20);
  return {
    url,
    cpu: () => cpuOf(child.pid ?? 0),
    async stop() {
      child.kill();
      await once(child, "exit");
      rmSync(folder, { recursive: true });
    },
  };
}

function configuration(port: number, appPort: number): string {
  return `global
  nbthread 1
defaults
  mode http
  timeout connect 5s
  timeout client 60s
  timeout server 60s
  option forwardfor
  http-reuse always
frontend front
  bind 127.0.0.1:${port}
  default_backend app
backend app
  server one 127.0.0.1:${appPort}
`;
}

function cpuOf(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]?.split(" ") ?? [];
  return (Number(fields[11]) + Number(fields[12])) * TICK_MICROSECONDS;
}
