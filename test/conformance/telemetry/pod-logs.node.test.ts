// The logs of pods on a node: streams apart, each line once and in order over crashes, replicas and a killed kubelet, and how runs ended.
import { pino } from "pino";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { LABELS } from "../../../crds/labels.ts";
import { Namespace, Pod, ServiceAccount } from "../../../kube/api/builtin.ts";
import { createInformers, type Informers } from "../../../kube/cache/informers.ts";
import { createClient } from "../../../kube/client/create-client.ts";
import type { KubeClient } from "../../../kube/client/client.ts";
import { createLogRing, type LogRing } from "../../../telemetry/log-ring.ts";
import { detectLogStreams } from "../../../telemetry/pods/log-streams.ts";
import { startPodLogs, type PodLogs } from "../../../telemetry/pods/pod-logs.ts";
import { startNode, type TestNode } from "../../cluster/node/node.ts";
import { whyNoNode } from "../../cluster/node/requirements.ts";
import { BASE_IMAGE } from "../../cluster/node/settings.ts";
import { eventually } from "../../eventually.ts";

const reason = whyNoNode();
if (reason) console.log(`logs of pods: skipped, ${reason}`);
const log = pino({ level: "silent" });
const NAMESPACE = "space";

describe.skipIf(reason)("logs of pods on a node", () => {
  let node: TestNode;
  let client: KubeClient;
  let informers: Informers;
  const followers: PodLogs[] = [];

  beforeAll(async () => {
    node = await startNode();
    client = createClient({ server: node.url, ca: node.ca, auth: { kind: "token", token: node.adminToken } });
    informers = createInformers({ client, log });
    await client.create(Namespace, { metadata: { name: NAMESPACE } });
    await eventually(() => client.get(ServiceAccount, { namespace: NAMESPACE, name: "default" }));
  }, 1_800_000);
  afterEach(() => {
    for (const follower of followers.splice(0)) follower.stop();
  });
  afterAll(async () => {
    await informers?.close();
    await client?.close();
    await node?.stop();
  });

  /** A replica that owns these apps, with a ring of its own. */
  function follow(...apps: string[]): { ring: LogRing; logs: PodLogs } {
    const ring = createLogRing();
    const logs = startPodLogs({
      client,
      informers,
      ring,
      log,
      owns: (app) => apps.includes(app),
      streams: ["Stdout", "Stderr"],
    });
    followers.push(logs);
    return { ring, logs };
  }

  interface PodOptions {
    labels?: Record<string, string>;
    init?: string[];
    memory?: string;
  }

  function run(app: string, script: string, { labels = {}, init = [], memory }: PodOptions = {}): Promise<unknown> {
    const container = (name: string, command: string) => ({
      name,
      image: BASE_IMAGE,
      command: ["sh", "-c", command],
      ...(memory && { resources: { limits: { memory } } }),
    });
    return client.create(Pod, {
      metadata: {
        name: app,
        namespace: NAMESPACE,
        labels: { [LABELS.app]: app, [LABELS.sourceType]: "APP", [LABELS.processType]: "web", ...labels },
      },
      spec: {
        terminationGracePeriodSeconds: 1,
        initContainers: init.map((command, at) => container(`step-${at}`, command)),
        containers: [container("application", script)],
        restartPolicy: labels[LABELS.sourceType] === "STG" ? "Never" : "Always",
      },
    });
  }

  const said = (ring: LogRing, app: string): string[] =>
    ring
      .read(app, { limit: 1000 })
      .map(({ tags, instance_id, log: { type, payload } }) =>
        [`${tags["source_type"]}/${instance_id}`, type, Buffer.from(payload, "base64").toString()].join(" "),
      );
  const count = (lines: readonly string[], line: string): number => lines.filter((one) => one === line).length;

  test("the API server says that it gives streams apart", async () => {
    expect(await detectLogStreams(client, NAMESPACE)).toEqual(["Stdout", "Stderr"]);
  });

  test("a crash: both streams, then its exit, once for each crash; a new owner has the last lines and the exit, too", async () => {
    const first = follow("crashing");
    await run("crashing", "echo to-out; echo to-err >&2; sleep 1; exit 3", {
      labels: { [LABELS.instanceIndex]: "2" },
    });
    const exit = "APP/PROC/WEB/2 OUT Exit status 3";
    await eventually(() => expect(count(said(first.ring, "crashing"), exit)).toBe(2), 60_000);
    const lines = said(first.ring, "crashing");
    expect(count(lines, "APP/PROC/WEB/2 OUT to-out")).toBe(2);
    expect(count(lines, "APP/PROC/WEB/2 ERR to-err")).toBe(2);
    expect(count(lines, 'API/2 OUT Process has crashed with type: "web"')).toBe(2);
    expect(lines.indexOf(exit)).toBeGreaterThan(lines.indexOf("APP/PROC/WEB/2 ERR to-err"));
    const heir = follow("crashing");
    await eventually(() => expect(heir.logs.isReady()).toBe(true));
    const known = said(heir.ring, "crashing");
    // While a container waits for its next start, the node gives the log of its last run only.
    expect(count(known, exit)).toBe(1);
    expect(known).toContain("APP/PROC/WEB/2 OUT to-out");
    expect(known.indexOf(exit)).toBeGreaterThan(known.indexOf("APP/PROC/WEB/2 ERR to-err"));
    await client.delete(Pod, { namespace: NAMESPACE, name: "crashing" });
  });

  test("a replica that follows a running app, and one that starts over it, have each line once, over a killed kubelet", async () => {
    const first = follow("counting");
    await run("counting", "n=0; while true; do n=$((n+1)); echo $n; sleep 0.1; done");
    const numbers = ({ ring }: { ring: LogRing }): number[] =>
      said(ring, "counting")
        .flatMap((line) => /^APP\/PROC\/WEB\/0 OUT (\d+)$/.exec(line)?.[1] ?? [])
        .map(Number);
    await eventually(() => expect(numbers(first).length).toBeGreaterThan(10), 30_000);
    expect(said(first.ring, "counting")).toContain("CELL/0 OUT Container became healthy");
    const startKubelet = await node.kill("kubelet");
    const heir = follow("counting");
    startKubelet();
    const before = numbers(first).length;
    for (const replica of [first, heir]) {
      await eventually(() => expect(numbers(replica).length).toBeGreaterThan(before + 20), 60_000);
      expect(numbers(replica)).toEqual(numbers(replica).map((_, at) => at + 1));
    }
    await client.delete(Pod, { namespace: NAMESPACE, name: "counting" });
  });

  test("a build: init containers in order, then the last one, without words about their ends", async () => {
    const { ring } = follow("building");
    const phases = ["fetch", "detect", "build"];
    await run("building", "echo export", {
      labels: { [LABELS.sourceType]: "STG" },
      init: phases.map((phase) => `for i in 1 2 3; do echo ${phase} $i; done`),
    });
    const expected = phases.flatMap((phase) => [1, 2, 3].map((at) => `STG/0 OUT ${phase} ${at}`));
    await eventually(() => expect(said(ring, "building")).toEqual([...expected, "STG/0 OUT export"]), 30_000);
    const heir = follow("building");
    await eventually(() => expect(said(heir.ring, "building")).toEqual(said(ring, "building")));
  });

  test("too much memory is said so", async () => {
    const { ring } = follow("greedy");
    await run("greedy", "echo begins; exec tail /dev/zero", { memory: "24Mi" });
    await eventually(
      () => expect(said(ring, "greedy")).toContain("APP/PROC/WEB/0 OUT Exit status 137 (out of memory)"),
      60_000,
    );
  });
});
