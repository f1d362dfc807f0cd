// The end of an LRP: its finalizer stays until no process of it is left.
import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import type { LRP } from "../../../crds/lrp/lrp.ts";
import type { Informers } from "../../../kube/cache/informers.ts";
import type { KubeClient } from "../../../kube/client/client.ts";
import type { ReconcileContext } from "../../../kube/controller/controller.ts";
import { createTelemetry } from "../../../telemetry/telemetry.ts";
import { findByEnvironment } from "../../host/process-table.ts";
import { createProcessRunner, type ProcessRunner } from "./process.ts";

const soon = { timeout: 10_000, interval: 20 };
const home = mkdtempSync(join(tmpdir(), "cupola-runner-"));
const ignoresSigterm = `process.on("SIGTERM", () => undefined);
require("node:http").createServer((q, r) => r.end()).listen(process.env.PORT);`;
const enqueued: string[] = [];
let runner: ProcessRunner;

const lrp = {
  apiVersion: "workloads.cupola.dev/v1alpha1",
  kind: "LRP",
  metadata: { name: "app", namespace: "space", uid: "u" },
  spec: {
    class: "process",
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
  },
} as unknown as LRP;

/** A cache that knows no LRP and no route, and never changes. */
const informers = {
  ensure: () => ({
    release: () => undefined,
    store: {
      list: () => [],
      onChange: () => () => undefined,
      waitSynced: () => new Promise(() => undefined),
      parkedNamespaces: [],
    },
  }),
} as unknown as Informers;

beforeAll(async () => {
  mkdirSync(join(home, "app"));
  writeFileSync(join(home, "app", "app.cjs"), ignoresSigterm);
  runner = createProcessRunner({
    home,
    client: {} as KubeClient,
    informers,
    telemetry: createTelemetry(),
    launcher: {
      restore: () => Promise.resolve(),
      discard: () => Promise.resolve(),
      prepare: ({ root, env }) =>
        Promise.resolve({ command: [process.execPath, "app.cjs"], env, cwd: join(root, "app") }),
      path: "/bin",
    },
    onError: (error) => expect.fail(String(error)),
    timings: { drain: 0, grace: 500, startCheck: 50 },
  });
  await runner.start();
  runner.controllers[0]?.sources?.[0]?.(({ name }) => enqueued.push(name), new AbortController().signal);
});
afterAll(() => runner.stop("stop"));

test("an LRP under deletion is released when its instances have ended", async () => {
  const controller = runner.controllers[0];
  const context = {} as ReconcileContext;
  const finalize = (): unknown => controller?.finalize?.(lrp, context);
  await vi.waitFor(
    () => expect(controller?.reconcile(lrp, context)).toMatchObject({ ready: { status: "True" } }),
    soon,
  );

  const waiting = { ready: { status: "False", reason: "Stopping" } };
  expect(finalize(), "its process is asked to end").toMatchObject(waiting);
  expect(finalize(), "it has not ended yet").toMatchObject(waiting);
  await vi.waitFor(() => expect(finalize()).toBeUndefined(), soon);
  expect(await findByEnvironment(`TMPDIR=${join(home, "instances")}`)).toEqual([]);
  expect(enqueued.at(-1)).toBe("app");
});
