// The classes `deployment` and `statefulset` under the suite of runners, and `job` under that of tasks, on one real node.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pino } from "pino";
import { afterAll, test, vi } from "vitest";
import { createClient } from "../../../kube/client/create-client.ts";
import { installManifests } from "../../../platform/install.ts";
import { startPlatform } from "../../../platform/platform.ts";
import { startNode } from "../../cluster/node/node.ts";
import { whyNoNode } from "../../cluster/node/requirements.ts";
import { podEnvironment } from "./pod-environment.ts";
import { writeProbeImage } from "./probe/probe-image.ts";
import { runnerTests } from "./suite.ts";
import { taskTests } from "./task-suite.ts";

const log = pino({ level: process.env["TEST_LOG"] ?? "silent" });
const reason = whyNoNode();
const cleanUp = new AsyncDisposableStack();
vi.setConfig({ testTimeout: 300_000, hookTimeout: 1_800_000 });

/** Started by the first suite, and shared. */
const startCluster = memoize(async () => {
  const dir = mkdtempSync(join(tmpdir(), "cupola-runners-"));
  cleanUp.defer(() => rmSync(dir, { recursive: true, force: true }));
  const node = await startNode();
  cleanUp.defer(() => node.stop());
  await node.loadImage(await writeProbeImage(dir));
  const access = { server: node.url, ca: node.ca, auth: { kind: "token" as const, token: node.adminToken } };
  const client = createClient(access);
  cleanUp.defer(() => client.close());
  await installManifests(client);
  const platform = await startPlatform({
    access,
    operations: ["deployment-runner", "instance-index", "statefulset-runner", "job-runner"],
    data: dir,
    listen: { host: "127.0.0.1", port: 0 },
    log,
  });
  cleanUp.defer(() => platform.stop({ instances: "keep" }));
  return client;
});

function memoize<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined;
  return () => (made ??= make());
}

afterAll(() => cleanUp.disposeAsync());

for (const name of ["deployment", "statefulset"])
  runnerTests({
    name,
    skip: reason,
    start: async () => podEnvironment(await startCluster(), { className: name, role: "runner" }),
  });
taskTests({
  name: "job",
  skip: reason,
  start: async () => podEnvironment(await startCluster(), { className: "job", role: "task-runner" }),
});

if (reason) test.skip(`runners of pods: skipped, ${reason}`, () => undefined);
