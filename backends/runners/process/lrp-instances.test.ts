// All instances of an LRP: scaling up and down, restarting one, and stopping.
import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, it, vi } from "vitest";
import type { LRP } from "../../../crds/lrp/lrp.ts";
import { createTelemetry } from "../../../telemetry/telemetry.ts";
import type { RunnerContext } from "./runner-context.ts";
import { type LrpInstances, openLrpInstances } from "./lrp-instances.ts";
import { createUsageMeter } from "./usage-meter.ts";
import { trackSpoiledDroplets } from "./spoiled-droplets.ts";
import { createPortPool } from "./port-pool.ts";
import { findByEnvironment } from "../../host/process-table.ts";

const soon = { timeout: 10_000, interval: 20 };
const home = mkdtempSync(join(tmpdir(), "cupola-lrp-"));
const context: RunnerContext = {
  instancesDir: join(home, "instances"),
  address: "127.0.0.1",
  telemetry: createTelemetry(),
  launcher: {
    restore: () => Promise.resolve(),
    discard: () => Promise.resolve(),
    prepare: ({ root, env }) =>
      Promise.resolve({ command: [process.execPath, "app.cjs"], env, cwd: join(root, "app") }),
    path: "/bin",
  },
  meter: createUsageMeter({ intervalMs: 100 }),
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
  resolveEnv: () => Promise.resolve({}),
  onError: () => undefined,
};
mkdirSync(join(home, "app"));
writeFileSync(
  join(home, "app", "app.cjs"),
  `require("node:http").createServer((q, r) => r.end()).listen(process.env.PORT)`,
);

const lrp = (spec: Partial<LRP["spec"]>): LRP =>
  ({
    apiVersion: "",
    kind: "LRP",
    metadata: { name: "app", namespace: "space", uid: "u" },
    spec: {
      app: { guid: "a" },
      space: {},
      org: {},
      processGUID: "p",
      processType: "web",
      droplet: { kind: "host", content: { digest: "" }, root: home },
      env: [],
      ports: [8080],
      memoryMB: 512,
      diskMB: 512,
      logRateLimitBytesPerSecond: -1,
      healthCheck: { type: "port" },
      readinessHealthCheck: { type: "process" },
      instances: 1,
      ...spec,
    },
  }) as unknown as LRP;

let instances: LrpInstances;
afterEach(async () => {
  await instances.stop();
  context.meter.close();
});
const running = (n: number) =>
  vi.waitFor(
    () =>
      expect(instances.status()).toMatchObject({
        status: { runningInstances: n, instances: { length: n } },
        ready: { status: "True" },
      }),
    soon,
  );
const guids = () => instances.status().status.instances.map((instance) => instance.guid);

it("follow the spec, index by index, and change nothing after a stop", async () => {
  instances = openLrpInstances({
    context,
    lrp: lrp({ instances: 2 }),
    adoptRecord: () => undefined,
    onChange: () => undefined,
  });
  await running(2);
  const [first, second] = guids();
  instances.setDesired(lrp({ instances: 3 }));
  await running(3);
  expect(guids().slice(0, 2)).toEqual([first, second]);
  instances.setDesired(lrp({ instances: 2, restartInstances: { "0": "again" } }));
  await vi.waitFor(
    () =>
      expect(instances.status().status.instances[0]).toMatchObject({ restart: "again", ready: true, state: "Running" }),
    soon,
  );
  await running(2);
  expect(guids()[0]).not.toBe(first);
  expect(guids()[1]).toBe(second);
  expect(instances.stats().map((each) => [each.index, each.state, each.routable, each.ports.length])).toEqual([
    [0, "RUNNING", true, 1],
    [1, "RUNNING", true, 1],
  ]);

  const end = instances.stop();
  instances.setDesired(lrp({ instances: 2 }));
  await end;
  expect(instances.status().status.instances).toEqual([]);
  expect(await findByEnvironment(`TMPDIR=${context.instancesDir}`)).toEqual([]);
});
