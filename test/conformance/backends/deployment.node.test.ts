// The class deployment on two real nodes: apps that break in ten ways say why, a drain keeps serving, and a kubelet goes away and returns.
import { execFile } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { pino } from "pino";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { LABELS } from "../../../crds/labels.ts";
import { LRP, type LrpInstance } from "../../../crds/lrp/lrp.ts";
import { RENDERING } from "../../../backends/pods/pod-rules.ts";
import { lrpSpec } from "../../../crds/testing/objects.ts";
import { PLATFORM_GROUP } from "../../../crds/platform-role.ts";
import { Namespace, Pod } from "../../../kube/api/builtin.ts";
import type { KubeClient } from "../../../kube/client/client.ts";
import { createClient } from "../../../kube/client/create-client.ts";
import { installManifests } from "../../../platform/install.ts";
import { startPlatform, type RunningPlatform } from "../../../platform/platform.ts";
import { startNode, type TestNode } from "../../cluster/node/node.ts";
import { whyNoNode } from "../../cluster/node/requirements.ts";
import { BASE_IMAGE } from "../../cluster/node/settings.ts";
import { eventually } from "../../eventually.ts";

const reason = whyNoNode();
const execute = promisify(execFile);
const log = pino({ level: process.env["TEST_LOG"] ?? "silent" });
const namespace = "dev";
const guid = "00000000-0000-4000-8000-000000000000";
const PATIENCE_MS = 100_000;
/** A node is missed after 20 s, and its pods are given up 60 s later. */
const LOST_NODE_MS = 150_000;
const SERVE = "echo $CF_INSTANCE_INDEX > /tmp/index; exec httpd -f -p $PORT -h /tmp";

describe.skipIf(reason)("class deployment on nodes", () => {
  let node: TestNode;
  let admin: KubeClient;
  let platform: RunningPlatform;
  const home = mkdtempSync(join(tmpdir(), "cupola-deployment-"));

  beforeAll(async () => {
    node = await startNode({ nodes: 2, users: [{ token: "platform", user: "cupola", groups: [PLATFORM_GROUP] }] });
    const access = { server: node.url, ca: node.ca };
    admin = createClient({ ...access, auth: { kind: "token", token: node.adminToken }, fieldManager: "person" });
    await installManifests(admin);
    const labels = {
      [LABELS.namespaceKind]: "space",
      [LABELS.space]: guid,
      "pod-security.kubernetes.io/enforce": "restricted",
    };
    await admin.create(Namespace, { metadata: { name: namespace, labels } });
    platform = await startPlatform({
      access: { ...access, auth: { kind: "token", token: "platform" } },
      operations: ["deployment-runner", "instance-index"],
      data: home,
      listen: { host: "127.0.0.1", port: 0 },
      log,
    });
  }, 1_800_000);
  afterAll(async () => {
    await platform?.stop({ instances: "keep" });
    await admin?.close();
    await node?.stop();
    rmSync(home, { recursive: true, force: true });
  });

  const kubectl = (...args: string[]): Promise<unknown> =>
    execute(node.kubectl, ["--kubeconfig", node.kubeconfig, ...args], { timeout: PATIENCE_MS });

  async function makeLRP(name: string, change: object = {}): Promise<void> {
    const labels = { [LABELS.guid]: guid, [LABELS.app]: guid, [LABELS.processType]: "web", [LABELS.sourceType]: "APP" };
    const spec = lrpSpec({
      rendering: RENDERING,
      droplet: { guid, kind: "docker", image: BASE_IMAGE },
      command: SERVE,
      memoryMB: 32,
      diskMB: 32,
      user: "1000",
      healthCheck: { type: "port", timeoutSeconds: 60 },
      ...change,
    });
    await admin.create(LRP, { metadata: { name, namespace, labels }, spec });
  }
  const instancesOf = async (name: string): Promise<LrpInstance[]> =>
    (await admin.get(LRP, { namespace, name })).status?.instances ?? [];
  const podsOf = async (name: string) =>
    (await admin.list(Pod, { namespace, labelSelector: `${LABELS.lrp}=${name}` })).items;

  async function ask(name: string, index: number, path: string): Promise<string> {
    const pods = await podsOf(name);
    const pod = pods.find(({ metadata }) => metadata.labels?.[LABELS.instanceIndex] === String(index));
    const at = `/api/v1/namespaces/${namespace}/pods/${pod?.metadata.name}:8080/proxy${path}`;
    const { body } = await admin.stream("GET", at, { deadlineMs: 5_000 });
    return (await body.text()).trim();
  }
  const untilRunning = (name: string, count: number): Promise<LrpInstance[]> =>
    eventually(async () => {
      const instances = await instancesOf(name);
      expect(instances).toMatchObject(
        Array.from({ length: count }, (_, index) => ({ index, state: "Running", ready: true })),
      );
      return instances;
    }, PATIENCE_MS);

  test("instances run, know their index, and scale", async () => {
    await makeLRP("shop", { instances: 2 });
    const [zero, one] = await untilRunning("shop", 2);
    expect(zero).toMatchObject({ ports: [{ port: 8080, hostPort: 8080 }] });
    expect(zero?.host).not.toBe(one?.host);
    expect([await ask("shop", 0, "/index"), await ask("shop", 1, "/index")]).toEqual(["0", "1"]);
    await admin.patch(LRP, { namespace, name: "shop" }, { type: "merge", body: { spec: { instances: 3 } } });
    await untilRunning("shop", 3);
    expect(await ask("shop", 2, "/index")).toBe("2");
    await admin.patch(LRP, { namespace, name: "shop" }, { type: "merge", body: { spec: { instances: 2 } } });
    await untilRunning("shop", 2);
  });

  describe("an app that breaks says why", () => {
    const secret = { name: "PASSWORD", valueFrom: { secretKeyRef: { name: "none", key: "PASSWORD" } } };
    const rows: [string, object, LrpInstance["state"][], RegExp][] = [
      [
        "bad-image",
        { droplet: { guid, kind: "docker", image: "REGISTRY/none:1" } },
        ["Crashed"],
        /^Image .* cannot be pulled: .*(not found|unauthorized)/i,
      ],
      ["exit", { command: "echo bye; exit 3" }, ["Crashed"], /Exited with status 3;/],
      ["no-command", { command: "exec /no/such/program" }, ["Crashed"], /Exited with status 127;/],
      [
        "memory",
        { command: "tail /dev/zero", healthCheck: { type: "process" }, memoryMB: 16 },
        ["Crashed"],
        /out of memory.*16 MB/,
      ],
      [
        "disk",
        { command: "dd if=/dev/zero of=/tmp/big bs=1M count=100; sleep 1000", healthCheck: { type: "process" } },
        ["Crashed", "Starting", "Running"],
        /disk quota exceeded.*32 MB/,
      ],
      [
        "wrong-port",
        { command: "exec httpd -f -p 9999 -h /tmp", healthCheck: { type: "port", timeoutSeconds: 4 } },
        ["Crashed", "Starting"],
        /^Instance (never|not) healthy.*(connection refused)/,
      ],
      [
        "unhealthy",
        {
          command: "touch /tmp/ok; httpd -p $PORT -h /tmp; sleep 8; rm /tmp/ok; sleep 1000",
          healthCheck: { type: "http", endpoint: "/ok", timeoutSeconds: 60, intervalSeconds: 1 },
        },
        ["Crashed", "Starting", "Running"],
        /Liveness check unsuccessful: .*404/,
      ],
      [
        "not-ready",
        { readinessHealthCheck: { type: "http", endpoint: "/none", intervalSeconds: 1 } },
        ["Running"],
        /^Instance is not ready: .*404/,
      ],
      ["no-secret", { env: [secret] }, ["Down"], /^Variable PASSWORD needs Secret none, which does not exist/],
      ["root", { user: undefined }, ["Crashed"], /may not run as root/],
      ["too-large", { memoryMB: 1_000_000 }, ["Down"], /^No node has room for the instance: .*Insufficient memory/],
    ];
    beforeAll(async () => {
      for (const [name, change] of rows) {
        const text = JSON.stringify(change).replace("REGISTRY", node.registry.host);
        await makeLRP(name, { ...change, ...(JSON.parse(text) as object) });
      }
    });

    test.each(rows)(
      "%s",
      async (name, _change, states, details) => {
        const seen = new Set<string>();
        await eventually(async () => {
          const [instance] = await instancesOf(name);
          seen.add(JSON.stringify(instance));
          expect(states, [...seen].join("\n")).toContain(instance?.state);
          expect(instance?.details ?? "", [...seen].join("\n")).toMatch(details);
        }, PATIENCE_MS);
      },
      PATIENCE_MS + 10_000,
    );

    test("and counts what it crashed", async () => {
      await eventually(async () => expect((await instancesOf("exit"))[0]?.crashCount).toBeGreaterThan(0));
      for (const [name] of rows) await admin.delete(LRP, { namespace, name });
    });
  });

  test(
    "a drain moves two instances one by one, and at least one is ready all the time",
    async () => {
      await makeLRP("kiosk", { instances: 2 });
      await untilRunning("kiosk", 2);
      const counts: number[] = [];
      const abort = new AbortController();
      const watching = (async () => {
        for await (const { object } of admin.watch<LRP>(LRP, { namespace, signal: abort.signal }))
          if ((object as LRP).metadata?.name === "kiosk") counts.push((object as LRP).status?.runningInstances ?? 0);
      })().catch(() => undefined);
      await eventually(() => expect(counts.length).toBeGreaterThan(0));
      await kubectl("drain", "node2", "--ignore-daemonsets", "--delete-emptydir-data", "--force", "--timeout=100s");
      await eventually(async () => {
        const pods = await podsOf("kiosk");
        expect(pods.map(({ spec }) => spec?.nodeName)).toEqual(["node1", "node1"]);
      }, PATIENCE_MS);
      await untilRunning("kiosk", 2);
      abort.abort();
      await watching;
      expect(Math.min(...counts)).toBeGreaterThan(0);
      expect([await ask("kiosk", 0, "/index"), await ask("kiosk", 1, "/index")]).toEqual(["0", "1"]);
      await kubectl("uncordon", "node2");
    },
    PATIENCE_MS + 60_000,
  );

  test(
    "instances are on different nodes; while a kubelet is away its own get no requests, and they are the same when it returns",
    async () => {
      await makeLRP("away", { instances: 2 });
      await untilRunning("away", 2);
      const pods = await podsOf("away");
      expect(pods.map(({ spec }) => spec?.nodeName).toSorted()).toEqual(["node1", "node2"]);
      const lost = pods.find(({ spec }) => spec?.nodeName === "node2");
      const index = Number(lost?.metadata.labels?.[LABELS.instanceIndex]);
      const goOn = node.pause("kubelet", "node2");
      await eventually(
        async () => expect((await instancesOf("away"))[index]).toMatchObject({ ready: false }),
        PATIENCE_MS,
      );
      goOn();
      const instances = await untilRunning("away", 2);
      expect(instances[index]?.guid).toBe(lost?.metadata.uid);
    },
    PATIENCE_MS + 60_000,
  );

  test(
    "after a node has died the indexes are 0 to N - 1 again, and a deletion does not wait for it",
    async () => {
      const isOnNode1 = (name: string): Promise<void> =>
        eventually(async () => {
          const live = (await podsOf(name)).filter(({ metadata }) => metadata.deletionTimestamp === undefined);
          expect(live.map(({ spec }) => spec?.nodeName)).toEqual(["node1", "node1"]);
          const indexes = live.map(({ metadata }) => metadata.labels?.[LABELS.instanceIndex]);
          expect(indexes.toSorted()).toEqual(["0", "1"]);
        }, LOST_NODE_MS);
      expect((await podsOf("away")).map(({ spec }) => spec?.nodeName)).toContain("node2");
      await node.powerOff("node2");
      await isOnNode1("away");
      await untilRunning("away", 2);
      await admin.delete(LRP, { namespace, name: "away" });
      await eventually(
        async () => expect(await admin.find(LRP, { namespace, name: "away" })).toBeUndefined(),
        PATIENCE_MS,
      );
      // Kubernetes keeps the pods of the lost node.
      const left = new Set((await podsOf("away")).map(({ spec }) => spec?.nodeName));
      expect([...left]).toEqual(["node2"]);
    },
    LOST_NODE_MS + 2 * PATIENCE_MS,
  );
});

if (reason) test.skip(`class deployment on nodes: skipped, ${reason}`, () => undefined);
