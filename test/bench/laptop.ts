// A newcomer's laptop: `npm start` to ready, `cup push` of an app with its dependencies to the first answer, and how quiet it is afterwards.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as delay } from "node:timers/promises";
import { request } from "undici";
import { Lease, Namespace } from "../../kube/api/builtin.ts";
import type { ResourceRef } from "../../kube/api/resource-ref.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { createClient } from "../../kube/client/create-client.ts";
import { loadKubeconfig } from "../../kube/client/kubeconfig.ts";
import { runCommand } from "../../scripts/run-command.ts";
import { freePort } from "../cluster/free-port.ts";
import { type Figure, figure, median } from "./figure.ts";
import { writeVendoredApp } from "./vendored-app.ts";

const ROOT = join(import.meta.dirname, "..", "..");
const STARTS = 5;
const PUSHES = 3;
const POLL_MS = 10;
const DEADLINE_MS = 120_000;
/** The last push is told to have ended a little before its last status is written. */
const SETTLE_MS = 5_000;
const MINUTE_MS = 60_000;
/** A watch delivers later than the write is answered. */
const WATCH_LAG_MS = 500;

interface LaptopHome {
  home: string;
  port: number;
  kubePort: number;
  env: Record<string, string>;
}

export async function measureLaptop(): Promise<Figure[]> {
  const home = mkdtempSync(join(tmpdir(), "cupola-bench-"));
  const laptop: LaptopHome = {
    home,
    port: await freePort(),
    kubePort: await freePort(),
    env: { CUPOLA_HOME: home, CUP_HOME: join(home, "cup"), NO_COLOR: "1" },
  };
  try {
    const starts = await measureStarts(laptop);
    return [...starts, ...(await measurePushes(laptop)), await measureIdleApps(laptop)];
  } finally {
    await cup(laptop, "local", "stop").catch(() => undefined);
    rmSync(home, { recursive: true, force: true });
  }
}

/** The first start makes everything and pushes the example app; those after it are warm. The last one stays. */
async function measureStarts(laptop: LaptopHome): Promise<Figure[]> {
  const first = await startOnce(laptop);
  const warm: { npm: number; bare: number }[] = [];
  for (let turn = 0; turn < STARTS; turn++) {
    await cupOrThrow(laptop, "local", "stop");
    warm.push({ npm: await startOnce(laptop), bare: await timeBareNpm() });
  }
  return [
    figure("npm start, warm, to ready", median(warm.map(({ npm }) => npm)), "s", { max: 3 }),
    figure(
      "npm start, warm, against npm that starts nothing",
      median(warm.map(({ npm, bare }) => npm / bare)),
      "ratio",
    ),
    figure("npm start, the first on an empty home, to the example app's URL", first, "s"),
  ];
}

/** Seconds from the command to the line that says it is ready. */
async function startOnce({ home, port, kubePort, env }: LaptopHome): Promise<number> {
  const start = performance.now();
  const child = spawn(
    "npm",
    ["start", "--silent", "--", "--home", home, "--port", String(port), "--kube-port", String(kubePort)],
    { cwd: ROOT, env: { ...process.env, ...env }, stdio: ["ignore", "pipe", "pipe"] },
  );
  const ready = await Promise.race([
    lineWith(child, "Cupola is ready"),
    once(child, "exit").then(() => false),
    delay(DEADLINE_MS, false, { ref: false }),
  ]);
  if (!ready) {
    child.kill();
    throw new Error("npm start did not become ready");
  }
  return (performance.now() - start) / 1000;
}

async function lineWith(child: ChildProcess, text: string): Promise<boolean> {
  if (!child.stdout) return false;
  for await (const line of createInterface(child.stdout)) {
    if (!line.includes(text)) continue;
    // Nobody reads on, and nothing may block on that.
    child.stdout.resume();
    child.stderr?.resume();
    return true;
  }
  return false;
}

/** Seconds that npm takes to run a script that ends at once. */
async function timeBareNpm(): Promise<number> {
  const start = performance.now();
  await runCommand(["npm", "exec", "--silent", "--", "node", "--eval", "0"], { cwd: ROOT, deadlineMs: DEADLINE_MS });
  return (performance.now() - start) / 1000;
}

async function measurePushes(laptop: LaptopHome): Promise<Figure[]> {
  const source = join(laptop.home, "source");
  writeVendoredApp(source);
  const pushes: number[] = [];
  for (let turn = 1; turn <= PUSHES; turn++) pushes.push(await pushOnce(laptop, `bench-${turn}`, source));
  return [figure("cup push of a Node app with its node_modules, to its first 200", median(pushes), "s", { max: 5 })];
}

/** Seconds from the command to the app's first 200. */
async function pushOnce(laptop: LaptopHome, name: string, source: string): Promise<number> {
  const start = performance.now();
  const pushed = cupOrThrow(laptop, "push", name, "--path", source, "--memory", "128M");
  const answered = untilAnswers(laptop.port, `${name}.apps.localhost`).then(() => (performance.now() - start) / 1000);
  const [seconds] = await Promise.all([answered, pushed]);
  return seconds;
}

async function untilAnswers(port: number, host: string): Promise<void> {
  const deadline = Date.now() + DEADLINE_MS;
  for (;;) {
    const { statusCode, body } = await request(`http://127.0.0.1:${port}/`, {
      headers: { host: `${host}:${port}` },
      headersTimeout: 10_000,
      bodyTimeout: 10_000,
    });
    await body.dump();
    if (statusCode === 200) return;
    if (Date.now() > deadline) throw new Error(`${host} did not answer 200 in ${DEADLINE_MS / 1000} s`);
    await delay(POLL_MS);
  }
}

/** The pushed apps run and nobody asks them anything. Every write anywhere makes a new version; renewed Leases are counted apart. */
async function measureIdleApps({ home }: LaptopHome): Promise<Figure> {
  const access = await loadKubeconfig({ path: join(home, "kubeconfig"), context: "admin" });
  const client = createClient(access);
  const version = async (): Promise<number> => Number((await client.list(Namespace)).metadata.resourceVersion);
  try {
    await delay(SETTLE_MS);
    const before = await version();
    const leases = countChanges(client, Lease, String(before));
    await delay(MINUTE_MS);
    const after = await version();
    const writes = after - before - (await leases.stopAt(after));
    return figure(`idle writes per minute, ${PUSHES + 1} apps running (leases apart)`, writes, "writes", { max: 0 });
  } finally {
    await client.close();
  }
}

/** Counts the changes of one kind from a version on, by a watch. */
function countChanges(
  client: KubeClient,
  ref: ResourceRef,
  resourceVersion: string,
): { stopAt(version: number): Promise<number> } {
  const abort = new AbortController();
  const versions: number[] = [];
  const watching = (async () => {
    for await (const { type, object } of client.watch(ref, { resourceVersion, signal: abort.signal }))
      if (type !== "BOOKMARK" && type !== "ERROR") versions.push(Number(object.metadata.resourceVersion));
  })().catch((error: unknown) => {
    if (!abort.signal.aborted) throw error;
  });
  return {
    async stopAt(version) {
      await delay(WATCH_LAG_MS);
      abort.abort();
      await watching;
      return versions.filter((each) => each <= version).length;
    },
  };
}

function cup({ env }: LaptopHome, ...args: string[]): Promise<{ code: number | null; output: string }> {
  return runCommand([process.execPath, join(ROOT, "bin", "cup.js"), ...args], {
    cwd: ROOT,
    deadlineMs: DEADLINE_MS,
    env,
  });
}

async function cupOrThrow(laptop: LaptopHome, ...args: string[]): Promise<void> {
  const { code, output } = await cup(laptop, ...args);
  if (code !== 0) throw new Error(`cup ${args.join(" ")} ended with ${code}: ${output}`);
}
