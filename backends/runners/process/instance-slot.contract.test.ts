// Real processes: start, health, crash, limits, restart, stop, and adoption by the next run of the platform.
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { LRP } from "../../../crds/lrp/lrp.ts";
import { createTelemetry } from "../../../telemetry/telemetry.ts";
import type { RunnerContext } from "./runner-context.ts";
import { StartFailed } from "../../host/start-failed.ts";
import { createUsageMeter } from "./usage-meter.ts";
import { trackSpoiledDroplets } from "./spoiled-droplets.ts";
import { createPortPool } from "./port-pool.ts";
import { createCgroup, findCgroupParent } from "../../host/cgroup.ts";
import { findIsolation } from "../../host/private-files.ts";
import { findByEnvironment, findProcess, readProcesses } from "../../host/process-table.ts";
import { readRecords } from "./instance-record.ts";
import { openInstanceSlot, type InstanceSlot } from "./instance-slot.ts";

const soon = { timeout: 10_000, interval: 20 };
let context: RunnerContext;
let root: string;
const slots: InstanceSlot[] = [];
const cgroups = await findCgroupParent();
const isolation = await findIsolation(tmpdir());

function makeContext(instancesDir: string): RunnerContext {
  return {
    instancesDir,
    address: "127.0.0.1",
    telemetry: createTelemetry(),
    launcher: {
      restore: () => Promise.resolve(),
      discard: () => Promise.resolve(),
      prepare: ({ root: at, command, env }) =>
        Promise.resolve({ command: ["/bin/sh", "-c", `exec ${command}`], env, cwd: at }),
      path: process.env.PATH ?? "",
    },
    meter: createUsageMeter({ intervalMs: 50 }),
    ports: createPortPool(),
    timings: {
      drain: 0,
      grace: 1000,
      startCheck: 50,
      firstSample: 300,
      recovery: 300_000,
      backoff: (delayMs) => delayMs,
    },
    now: () => new Date(),
    limitStarts: (start) => start(),
    isLeader: () => true,
    createCgroup: () => Promise.resolve(undefined),
    isolateFiles: ({ command }) => Promise.resolve(command),
    spoiled: trackSpoiledDroplets(() => false),
    resolveEnv: () => Promise.resolve({ VCAP_APPLICATION: '{"name":"x"}' }),
    onError: () => undefined,
  };
}

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "cupola-droplet-"));
  context = makeContext(mkdtempSync(join(tmpdir(), "cupola-instances-")));
});
afterEach(async () => {
  await Promise.all(slots.splice(0).map((slot) => slot.stop()));
  context.meter.close();
  expect(await findByEnvironment(`TMPDIR=${context.instancesDir}`)).toEqual([]);
});

function lrp(script: string, spec: Partial<LRP["spec"]> = {}): LRP {
  writeFileSync(join(root, "app.cjs"), script);
  return {
    apiVersion: "workloads.cupola.dev/v1alpha1",
    kind: "LRP",
    metadata: { name: "app", namespace: "space", uid: "uid-1" },
    spec: {
      class: "process",
      rendering: "1",
      app: { guid: "app-guid", name: "app" },
      space: { guid: "s", name: "s" },
      org: { guid: "o", name: "o" },
      processGUID: "p",
      processType: "web",
      revision: "1",
      version: "v",
      droplet: {
        guid: "d",
        kind: "host",
        content: { digest: `sha256:${"0".repeat(64)}`, size: 1 },
        root,
        processTypes: {},
      },
      command: `${process.execPath} app.cjs`,
      env: [],
      ports: [8080],
      instances: 1,
      memoryMB: 512,
      diskMB: 512,
      logRateLimitBytesPerSecond: -1,
      healthCheck: { type: "port" },
      readinessHealthCheck: { type: "process" },
      ...spec,
    },
  } as LRP;
}
function open(object: LRP, more: Partial<Parameters<typeof openInstanceSlot>[0]> = {}): InstanceSlot {
  const slot = openInstanceSlot({
    context,
    lrp: object,
    index: 0,
    restart: undefined,
    onChange: () => undefined,
    ...more,
  });
  slots.push(slot);
  return slot;
}
const logs = () =>
  context.telemetry.ring
    .read("app-guid", { limit: 1000 })
    .map((e) => `${e.tags.source_type}/${e.instance_id} ${e.log.type} ${Buffer.from(e.log.payload, "base64")}`);
const running = (slot: InstanceSlot) =>
  vi.waitFor(() => expect(slot.status()).toMatchObject({ state: "Running", ready: true }), soon);
const url = (slot: InstanceSlot) => `http://127.0.0.1:${slot.status().ports?.[0]?.hostPort}`;

const server = `
const http = require("node:http");
http.createServer((req, res) => res.end(JSON.stringify({ pid: process.pid, env: process.env }))).listen(process.env.PORT);
console.log("listening"); console.error("a warning");
`;

describe("an instance", () => {
  it("gets its environment, becomes ready, logs both streams and stops without a trace", async () => {
    process.env.CUPOLA_TEST_SECRET = "do not pass on";
    const slot = open(lrp(server));
    await running(slot);
    const { env } = (await (await fetch(url(slot))).json()) as { env: Record<string, string> };
    expect(env).toMatchObject({
      CF_INSTANCE_INDEX: "0",
      CF_INSTANCE_GUID: slot.status().guid,
      HOME: join(root, "app"),
      PORT: new URL(url(slot)).port,
    });
    expect(Object.keys(env)).not.toContain("CUPOLA_TEST_SECRET");
    expect(JSON.parse(env.VCAP_APPLICATION ?? "")).toMatchObject({ name: "x", instance_index: 0 });
    await vi.waitFor(
      () =>
        expect(logs()).toEqual(
          expect.arrayContaining([
            "APP/PROC/WEB/0 OUT listening",
            "APP/PROC/WEB/0 ERR a warning",
            "CELL/0 OUT Container became healthy",
          ]),
        ),
      soon,
    );
    await vi.waitFor(() => expect(slot.usage()?.mem).toBeGreaterThan(1 << 20), soon);
    await slot.stop();
    await expect(fetch(url(slot))).rejects.toThrow();
    expect(readdirSync(context.instancesDir)).toEqual([]);
  });

  it("is killed when its start cannot be recorded", async () => {
    const { prepare } = context.launcher;
    let unrecorded: string | undefined;
    context.launcher.prepare = (request) => {
      if (unrecorded === undefined) {
        unrecorded = dirname(request.env["TMPDIR"] ?? "");
        // As on a full disk, the write of the record after the start fails.
        mkdirSync(join(unrecorded, "instance.json.new"));
      }
      return prepare(request);
    };
    const slot = open(lrp(server));
    await running(slot);
    expect(slot.status().guid).not.toBe(basename(unrecorded ?? ""));
    expect(await findByEnvironment(`TMPDIR=${unrecorded}`)).toEqual([]);
  });

  it("is restarted three times at once, then waits, and its details have the reason", async () => {
    const slot = open(lrp(`console.log("no luck"); process.exit(3)`));
    await vi.waitFor(
      () =>
        expect(slot.status()).toMatchObject({
          state: "Crashed",
          ready: false,
          crashCount: 4,
          details: "APP/PROC/WEB: Exited with status 3; cf logs --recent shows its last lines",
        }),
      soon,
    );
    expect(logs().filter((line) => line === "APP/PROC/WEB/0 OUT no luck")).toHaveLength(4);
    const own = logs().filter((line) => line.startsWith("APP/"));
    expect(own.slice(0, 2)).toEqual(["APP/PROC/WEB/0 OUT no luck", "APP/PROC/WEB/0 OUT Exit status 3"]);
    expect(logs()).toContain('API/0 OUT Process has crashed with type: "web"');
    slot.restart("again");
    await vi.waitFor(() => expect(slot.status()).toMatchObject({ restart: "again", crashCount: 1 }), soon);
  });

  it("has no crash any more after a long healthy run, so that the next one is one more", async () => {
    context.timings.recovery = 200;
    const failOnce = `const fs = require("fs"); if (!fs.existsSync("failed")) { fs.writeFileSync("failed", ""); process.exit(1); }`;
    const counts: (number | undefined)[] = [];
    const slot = open(lrp(`${failOnce} ${server}`), { onChange: () => void counts.push(slot.status().crashCount) });
    await vi.waitFor(() => expect(slot.status()).toMatchObject({ state: "Running", ready: true }), soon);
    await vi.waitFor(() => expect(counts).toContain(1), soon);
    await vi.waitFor(() => expect(slot.status().crashCount).toBeUndefined(), soon);
    process.kill(((await (await fetch(url(slot))).json()) as { pid: number }).pid, "SIGKILL");
    await vi.waitFor(() => expect(slot.status()).toMatchObject({ crashCount: 1 }), soon);
  });

  it("crashes when it does not open its port in time", async () => {
    const slot = open(lrp(`setInterval(() => undefined, 1000)`, { healthCheck: { type: "port", timeoutSeconds: 1 } }));
    await vi.waitFor(
      () =>
        expect(slot.status().details).toMatch(
          /^Instance never healthy after 1s: Failed to make TCP connection to port \d+: connection refused; the app must listen on the port in PORT, at 0\.0\.0\.0; cf set-health-check changes the check$/,
        ),
      soon,
    );
  });

  it("crashes after one failed liveness check", async () => {
    const slot = open(
      lrp(
        `let n = 0; require("node:http").createServer((q, r) => { r.statusCode = n++ ? 500 : 200; r.end(); }).listen(process.env.PORT)`,
        { healthCheck: { type: "http", intervalSeconds: 1 } },
      ),
    );
    await vi.waitFor(
      () =>
        expect(slot.status().details).toMatch(
          /^Instance became unhealthy: .*received status code 500; cf logs --recent shows its last lines$/,
        ),
      soon,
    );
  });

  it("leaves the routes and runs on while it is not ready", async () => {
    const slot = open(
      lrp(
        `let ok = true; require("node:http").createServer((q, r) => { if (q.url === "/flip") ok = !ok; r.statusCode = q.url === "/ready" && !ok ? 503 : 200; r.end(); }).listen(process.env.PORT)`,
        {
          readinessHealthCheck: { type: "http", endpoint: "/ready", intervalSeconds: 1 },
        },
      ),
    );
    await running(slot);
    const { guid } = slot.status();
    await fetch(`${url(slot)}/flip`);
    await vi.waitFor(() => expect(slot.status()).toMatchObject({ state: "Running", ready: false, guid }), soon);
    await fetch(`${url(slot)}/flip`);
    await running(slot);
    expect(slot.status().guid).toBe(guid);
    const told = logs().filter((line) => line.includes("the readiness health check"));
    expect(told.map((line) => /passed|failed/.exec(line)?.[0])).toEqual(["passed", "failed", "passed"]);
  });

  it.skipIf(!isolation)(
    "finds the droplet's files as they were built at each start, and changes its own alone",
    async () => {
      if (isolation) context.isolateFiles = isolation;
      const writer = `const fs = require("node:fs"); console.log("found " + fs.existsSync("mine")); fs.writeFileSync("mine", "x"); ${server}`;
      const both = [open(lrp(writer)), open(lrp(writer), { index: 1 })];
      await Promise.all(both.map(running));
      both[0]?.restart("again");
      await vi.waitFor(() => expect(logs().filter((line) => line.includes("found"))).toHaveLength(3), soon);
      expect(logs().filter((line) => line.endsWith("found false"))).toHaveLength(3);
      expect(existsSync(join(root, "mine"))).toBe(false);
      await Promise.all(both.map((slot) => slot.stop()));
      expect(readdirSync(context.instancesDir)).toEqual([]);
    },
  );

  it("that has filled the droplet's files it shares starts again from a new copy of them", async () => {
    const big = join(root, "big");
    const script = `const fs = require("node:fs"); if (!fs.existsSync("was-full")) fs.writeFileSync("big", Buffer.alloc(8 << 20)); fs.writeFileSync("was-full", ""); ${server}`;
    context.launcher.discard = async (at) => {
      expect(at).toBe(root);
      rmSync(big);
    };
    const slot = open(lrp(script, { diskMB: 4 }));
    await vi.waitFor(() => expect(slot.status()).toMatchObject({ crashCount: 1, state: "Running", ready: true }), soon);
    expect(logs().some((line) => line.includes("Exit status 137 (disk quota exceeded)"))).toBe(true);
    expect(existsSync(big)).toBe(false);
  });

  it("is killed above its memory limit, children included", async () => {
    const hog = `require("node:child_process").spawn(process.execPath, ["-e", "const a = []; setInterval(() => a.push(Buffer.alloc(8 << 20, 1)), 10)"]); ${server}`;
    const slot = open(lrp(hog, { memoryMB: 200 }));
    await vi.waitFor(
      () =>
        expect(slot.status().details).toMatch(
          /^APP\/PROC\/WEB: Exited with status 137 \(out of memory: it may use 200 MB\)/,
        ),
      soon,
    );
    expect(
      logs().some((line) =>
        /^CELL\/0 ERR The instance uses \d+ MB of memory and may use 200 MB: it is stopped$/.test(line),
      ),
    ).toBe(true);
  });

  it.each<[string, Partial<LRP["spec"]>]>([
    ["a port check", { healthCheck: { type: "port" } }],
    ["a process check", { healthCheck: { type: "process" }, ports: [] }],
  ])("above its memory limit from the start is never Running with %s", async (_check, spec) => {
    const states = new Set<string>();
    context.meter.close();
    // The periodic samples come too late to help.
    context.meter = createUsageMeter({ intervalMs: 60_000 });
    const script = spec.ports ? "setInterval(() => undefined, 1000)" : server;
    const slot: InstanceSlot = open(lrp(script, { memoryMB: 2, ...spec }), {
      onChange: () => void states.add(slot.status().state),
    });
    await vi.waitFor(() => expect(slot.status()).toMatchObject({ state: "Crashed" }), soon);
    expect(slot.status().details).toContain("(out of memory: it may use 2 MB)");
    expect([...states]).not.toContain("Running");
  });

  it("is killed when it ignores SIGTERM, with a daemon that left its session", async () => {
    const daemon = `require("node:child_process").spawn("/bin/sh", ["-c", "sleep 1000 & sleep 1000"], { detached: true, stdio: "ignore" }).unref();`;
    const slot = open(lrp(`process.on("SIGTERM", () => undefined); ${daemon} ${server}`));
    await running(slot);
    expect((await findByEnvironment(`TMPDIR=${context.instancesDir}`)).length).toBeGreaterThanOrEqual(3);
    await slot.stop();
    expect(await findByEnvironment(`TMPDIR=${context.instancesDir}`)).toEqual([]);
    expect(logs().at(-1)).toMatch(/exceeded 1s graceful shutdown interval/);
  });

  it.runIf(cgroups !== undefined)("ends with daemons that left its session and environment", async () => {
    context.createCgroup = (guid) => createCgroup(cgroups ?? "", guid);
    const marker = `cupola-daemon-${process.pid}`;
    const daemon = `require("node:child_process").execFileSync("/bin/sh", ["-c", "setsid env -i /bin/sh -c 'sleep 1000; : ${marker}' > /dev/null 2>&1 &"]);`;
    const slot = open(lrp(`${daemon} ${server}`));
    await running(slot);
    const daemons = async () => {
      const all = await Promise.all(
        (await readProcesses()).map(({ pid }) => readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "")),
      );
      return all.filter((line) => line.startsWith("/bin/sh\0-c\0sleep") && line.includes(marker)).length;
    };
    await vi.waitFor(async () => expect(await daemons()).toBe(1), soon);
    const { guid } = slot.status();
    await slot.stop();
    expect(await daemons()).toBe(0);
    expect(existsSync(`${cgroups}/cupola-${guid}`)).toBe(false);
  });

  it("runs on when the platform stops, and the next run adopts it with its logs", async () => {
    const first = open(lrp(server));
    await running(first);
    const before = (await (await fetch(url(first))).json()) as { pid: number };
    await first.leave();
    expect(await findProcess(before.pid)).toBeDefined();

    context = makeContext(context.instancesDir);
    const { records } = await readRecords(context.instancesDir);
    expect(JSON.stringify(records)).not.toContain("VCAP");
    const changes = vi.fn();
    const known = { ...lrp(server), status: { instances: [first.status()] } };
    const second = open(known, { adopt: records[0], onChange: changes });
    expect(second.status()).toEqual(first.status());
    await vi.waitFor(() => expect(second.usage()?.mem).toBeGreaterThan(0), soon);
    expect(changes).not.toHaveBeenCalled();
    expect(second.status().guid).toBe(first.status().guid);
    expect(((await (await fetch(url(second))).json()) as { pid: number }).pid).toBe(before.pid);
    await vi.waitFor(() => expect(logs()).toContain("APP/PROC/WEB/0 OUT listening"), soon);

    process.kill(before.pid, "SIGKILL");
    await vi.waitFor(
      () => expect(second.status()).toMatchObject({ state: "Running", ready: true, crashCount: 1 }),
      soon,
    );
    expect(second.status().guid).not.toBe(first.status().guid);
  });

  it("is started again when it ended while the platform was down, and that is no crash", async () => {
    const first = open(lrp(server));
    await running(first);
    await first.leave();
    const { records } = await readRecords(context.instancesDir);
    const pid = records[0]?.process?.pid ?? -1;
    process.kill(pid, "SIGKILL");
    await vi.waitFor(async () => expect(await findProcess(pid)).toBeUndefined(), soon);
    const second = open({ ...lrp(server), status: { instances: [first.status()] } }, { adopt: records[0] });
    await vi.waitFor(() => expect(second.status().guid).not.toBe(first.status().guid), soon);
    await running(second);
    expect(second.status().crashCount).toBeUndefined();
  });

  it("keeps its crash count over a restart of the platform", async () => {
    const object = lrp(`process.exit(1)`);
    const known = {
      ...object,
      status: { instances: [{ index: 0, state: "Crashed" as const, ready: false, crashCount: 5 }] },
    };
    const slot = open(known);
    await vi.waitFor(() => expect(slot.status()).toMatchObject({ state: "Crashed", crashCount: 6 }), soon);
  });

  it("is retried soon when its Secret is missing, and that is no crash", async () => {
    let there = false;
    context.resolveEnv = () =>
      there ? Promise.resolve({}) : Promise.reject(new StartFailed({ kind: "secretMissing", secret: "B" }));
    const slot = open(lrp(server));
    await vi.waitFor(
      () =>
        expect(slot.status()).toMatchObject({
          state: "Down",
          details: expect.stringMatching(/^The app needs Secret B,/) as string,
        }),
      soon,
    );
    there = true;
    await running(slot);
    expect(slot.status()).not.toHaveProperty("crashCount");
    expect(slot.status().details).toBeUndefined();
  });

  it("is Crashed at once with the reason when its droplet is no host droplet, and is not retried", async () => {
    const slot = open(lrp(server, { droplet: { guid: "d", kind: "docker", image: "nginx", processTypes: {} } }));
    await vi.waitFor(
      () =>
        expect(slot.status()).toMatchObject({
          state: "Crashed",
          details: expect.stringMatching(
            /^The instance cannot be started: runner process runs apps built from source, not images/,
          ) as string,
        }),
      soon,
    );
    expect(slot.status()).not.toHaveProperty("crashCount");
    const refusals = () => logs().filter((line) => /CELL\/0 ERR The instance cannot be started: runner pro/.test(line));
    expect(refusals()).toHaveLength(1);
    slot.restart("again");
    await vi.waitFor(() => expect(refusals()).toHaveLength(2), soon);
  });
});

describe("sidecars", () => {
  const proxy = (command: string) => ({ sidecars: [{ name: "proxy", command, memoryMB: 32 }] });

  it("run beside the instance with their own memory limit, log under their name, and end with it", async () => {
    writeFileSync(
      join(root, "proxy.cjs"),
      "console.log(`proxy ${process.env.MEMORY_LIMIT} ${process.env.VCAP_APPLICATION}`); setInterval(() => {}, 1000)",
    );
    const slot = open(lrp(server, proxy(`${process.execPath} proxy.cjs`)));
    await running(slot);
    await vi.waitFor(
      () =>
        expect(logs()).toContain(
          'APP/PROC/WEB/SIDECAR/PROXY/0 OUT proxy 32m {"name":"x","host":"0.0.0.0","instance_id":"' +
            `${slot.status().guid}","instance_index":0,"port":${slot.status().ports?.[0]?.hostPort},"limits":{"mem":32}}`,
        ),
      soon,
    );
    const dir = context.instancesDir;
    expect((await findByEnvironment(`TMPDIR=${join(dir, slot.status().guid ?? "", "tmp")}`)).length).toBeGreaterThan(1);
    await slot.stop();
    expect(logs().some((line) => line.includes("Exit status"))).toBe(false);
  });

  it("end the instance when one of them ends, and the crash names it", async () => {
    const slot = open(lrp(server, proxy("sh -c 'sleep 0.5; exit 5'")));
    await vi.waitFor(
      () =>
        expect(slot.status().details).toBe(
          "APP/PROC/WEB/SIDECAR/PROXY: Exited with status 5; cf logs --recent shows its last lines",
        ),
      soon,
    );
    await vi.waitFor(() => expect(slot.status().crashCount).toBeGreaterThan(0), soon);
  });
});
