// Faults of connections, watches and ownership that a real kubelet cannot be made to have at a given moment. Real logs: test/conformance/telemetry/pod-logs.node.test.ts.
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { pino } from "pino";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { createClient } from "../../kube/client/create-client.ts";
import { Pod } from "../../kube/api/builtin.ts";
import type { Informers } from "../../kube/cache/informers.ts";
import { WritableStore } from "../../kube/cache/store.ts";
import { LABELS } from "../../crds/labels.ts";
import { createLogRing, type LogRing } from "../log-ring.ts";
import { parseLine } from "./stream-log.ts";
import { loggingContainers } from "./pod-containers.ts";
import type { PodObject } from "./container-events.ts";
import { type PodLogs, startPodLogs } from "./pod-logs.ts";

const log = pino({ level: "silent" });

/** Output of one run of a container, as lines of `<second> <text>`. */
interface Run {
  lines: string[];
  over: boolean;
}

/** Containers by `pod/container`, each with its runs; only the last two have logs. */
async function startKubelet() {
  const containers = new Map<string, Run[]>();
  const open = new Map<string, Set<ServerResponse>>();
  const notFound = JSON.stringify({
    kind: "Status",
    status: "Failure",
    code: 400,
    reason: "BadRequest",
    message: "previous terminated container not found",
  });
  const send = (response: ServerResponse, run: Run, since: string): void => {
    response.writeHead(200, { "content-type": "text/plain" }).flushHeaders();
    for (const line of run.lines) if (stamp(line).slice(0, 19) >= since.slice(0, 19)) response.write(stamp(line));
  };
  const requests: string[] = [];
  const stamp = (line: string): string => `2026-11-21T04:00:${line.slice(0, 2)}.000000001Z${line.slice(2)}\n`;
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? "", "http://kubelet");
    const name = `${url.pathname.split("/")[6]}/${url.searchParams.get("container")}`;
    requests.push(
      `${name} ${["previous", "follow", "sinceTime", "tailLines"].filter((key) => url.searchParams.has(key)).join(" ")}`,
    );
    const runs = containers.get(name) ?? [];
    const run = runs.at(url.searchParams.has("previous") ? -2 : -1);
    if (!run) return void response.writeHead(400, { "content-type": "application/json" }).end(notFound);
    send(response, run, url.searchParams.get("sinceTime") ?? "");
    if (run.over || !url.searchParams.has("follow")) return void response.end();
    const followers = open.get(name) ?? new Set();
    open.set(name, followers.add(response));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    run(name: string, ...lines: string[]) {
      containers.set(name, [...(containers.get(name) ?? []), { lines, over: false }]);
    },
    say(name: string, line: string) {
      containers.get(name)?.at(-1)?.lines.push(line);
      for (const response of open.get(name) ?? []) response.write(stamp(line));
    },
    /** Ends the current run. */
    end(name: string) {
      const run = containers.get(name)?.at(-1);
      if (run) run.over = true;
      for (const response of open.get(name) ?? []) response.end();
      open.delete(name);
    },
    /** Breaks the connections while the container keeps running. */
    cut(name: string) {
      for (const response of open.get(name) ?? []) response.destroy();
      open.delete(name);
    },
    following: (name: string) => open.get(name)?.size ?? 0,
    close: () => (server.closeAllConnections(), server.close()),
  };
}

function pod(
  name: string,
  more: { app?: string; index?: string; restarts?: number; running?: boolean; version?: string } = {},
): PodObject {
  const { app = "app-1", index = "0", restarts = 0, running = true, version = "1" } = more;
  const state = running ? { running: {} } : { terminated: { exitCode: 1 } };
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      name,
      namespace: "space",
      uid: `uid-${name}`,
      resourceVersion: version,
      labels: {
        [LABELS.app]: app,
        [LABELS.processType]: "web",
        [LABELS.process]: "process-1",
        [LABELS.sourceType]: "APP",
        [LABELS.instanceIndex]: index,
      },
    },
    status: {
      containerStatuses: [
        {
          name: "application",
          containerID: `${name}-${restarts}`,
          restartCount: restarts,
          image: "i",
          imageID: "i",
          ready: true,
          state,
        },
      ],
    },
  };
}

let kubelet: Awaited<ReturnType<typeof startKubelet>>;
let store: WritableStore<PodObject>;
let ring: LogRing;
const ends: (() => unknown)[] = [];

beforeEach(async () => {
  kubelet = await startKubelet();
  store = new WritableStore<PodObject>(Pod, {
    indexes: { source: (one) => [one.metadata.labels?.[LABELS.app] ?? ""] },
    onFault: (error) => {
      throw error;
    },
  });
  ring = createLogRing();
});
afterEach(async () => {
  for (const end of ends.splice(0)) await end();
  kubelet.close();
});

function follow(owns: (source: string) => boolean = () => true): PodLogs {
  const client = createClient({ server: kubelet.url });
  const logs = startPodLogs({
    client,
    informers: {
      ensure: () => ({ store, fieldsKept: Promise.resolve(), release: () => undefined }),
    } as unknown as Pick<Informers, "ensure">,
    ring,
    owns,
    log,
  });
  ends.push(
    () => logs.stop(),
    () => client.close(),
  );
  return logs;
}

function list(...pods: PodObject[]): void {
  store.replace(pods, "1");
  store.setState("watching");
}

function said(source = "app-1"): string[] {
  return ring
    .read(source, { limit: 1000 })
    .map((envelope) => `${envelope.instance_id} ${Buffer.from(envelope.log.payload, "base64").toString()}`);
}

describe("a container", () => {
  test("that restarts loses no line, also of a run that came and went unread", async () => {
    kubelet.run("a/application", "01 one");
    list(pod("a"));
    follow();
    await vi.waitFor(() => expect(kubelet.following("a/application")).toBe(1));
    kubelet.end("a/application");
    kubelet.run("a/application", "02 two");
    kubelet.end("a/application");
    kubelet.run("a/application", "03 three");
    store.upsert(pod("a", { restarts: 2, version: "2" }));
    await vi.waitFor(() => expect(said()).toEqual(["0 one", "0 two", "0 three"]));
  });

  test("is followed over a broken connection, without doubles", async () => {
    kubelet.run("a/application", "01 one");
    list(pod("a"));
    follow();
    await vi.waitFor(() => expect(kubelet.following("a/application")).toBe(1));
    kubelet.cut("a/application");
    kubelet.say("a/application", "02 two");
    await vi.waitFor(() => expect(said()).toEqual(["0 one", "0 two"]), { timeout: 3000 });
    expect(kubelet.requests.at(-1)).toContain("sinceTime");
  });

  test("that is gone is no longer followed, and its lines stay", async () => {
    kubelet.run("a/application", "01 one");
    kubelet.run("b/application", "01 two");
    list(pod("a"), pod("b", { app: "app-2" }));
    follow();
    await vi.waitFor(() =>
      expect([kubelet.following("a/application"), kubelet.following("b/application")]).toEqual([1, 1]),
    );
    store.remove(pod("a", { version: "2" }));
    const asked = kubelet.requests.length;
    kubelet.end("a/application");
    // A running container is followed again after the same failure.
    kubelet.end("b/application");
    await vi.waitFor(() => expect(kubelet.requests.length).toBeGreaterThan(asked), { timeout: 3000 });
    expect(kubelet.requests.slice(asked)).not.toContainEqual(expect.stringContaining("a/application"));
    expect(said()).toEqual(["0 one"]);
  });
});

describe("a container that went while pods could not be seen is followed no more", () => {
  async function asksAfter(how: () => void): Promise<string[]> {
    await vi.waitFor(() =>
      expect([kubelet.following("a/application"), kubelet.following("b/application")]).toEqual([1, 1]),
    );
    how();
    const asked = kubelet.requests.length;
    for (const name of ["a", "b"]) kubelet.end(`${name}/application`);
    // The first backoff delays are equal, so every followed container has been read by its second request.
    await vi.waitFor(
      () =>
        expect(
          kubelet.requests.slice(asked).filter((request) => request.startsWith("b/application")).length,
        ).toBeGreaterThan(1),
      { timeout: 5000 },
    );
    return kubelet.requests.slice(asked);
  }
  const gone = expect.arrayContaining([expect.stringContaining("a/application")]) as string[];
  beforeEach(() => {
    kubelet.run("a/application", "01 one");
    kubelet.run("b/application", "01 two");
  });

  test("all pods", async () => {
    list(pod("a"), pod("b", { app: "app-2" }));
    follow();
    const asks = await asksAfter(() => {
      store.setState("parked", "Forbidden");
      list(pod("b", { app: "app-2" }));
    });
    expect(asks).not.toEqual(gone);
    expect(said()).toEqual(["0 one"]);
  });

  test("those of one namespace", async () => {
    store.switchToNamespaces();
    const [space, other] = [store.namespaceStore("space"), store.namespaceStore("other")];
    space.replace([pod("a"), pod("b", { app: "app-2" })], "1");
    other.replace([], "1");
    for (const feed of [space, other]) feed.setState("watching");
    follow();
    const asks = await asksAfter(() => {
      space.setState("parked", "Forbidden");
      space.replace([pod("b", { app: "app-2" })], "2");
      space.setState("watching");
    });
    expect(asks).not.toEqual(gone);
  });

  test("those of a namespace that went too", async () => {
    const other = {
      ...pod("b", { app: "app-2" }),
      metadata: { ...pod("b", { app: "app-2" }).metadata, namespace: "other" },
    };
    store.switchToNamespaces();
    const [space, here] = [store.namespaceStore("space"), store.namespaceStore("other")];
    space.replace([pod("a")], "1");
    here.replace([other], "1");
    follow();
    const asks = await asksAfter(() => {
      space.setState("parked", "Forbidden");
      store.removeNamespace("space", "deleted");
    });
    expect(asks).not.toEqual(gone);
  });

  test("those of a namespace that is no longer ours; when it is again, each line is there once", async () => {
    const other = {
      ...pod("b", { app: "app-2" }),
      metadata: { ...pod("b", { app: "app-2" }).metadata, namespace: "other" },
    };
    store.switchToNamespaces();
    const [space, here] = [store.namespaceStore("space"), store.namespaceStore("other")];
    space.replace([pod("a")], "1");
    here.replace([other], "1");
    follow();
    const asks = await asksAfter(() => store.removeNamespace("space", "unselected"));
    expect(asks).not.toEqual(gone);
    const asked = kubelet.requests.length;
    store.namespaceStore("space").replace([pod("a")], "2");
    await vi.waitFor(() => expect(kubelet.requests.slice(asked)).toEqual(gone));
    await vi.waitFor(() => expect(said()).toEqual(["0 one"]));
  });

  test.each<[string, () => void]>([
    ["parked", () => store.namespaceStore("space").setState("parked", "Forbidden")],
    [
      "listed again",
      () => {
        store.namespaceStore("space").setState("parked", "Forbidden");
        store.namespaceStore("space").setState("listing");
      },
    ],
    ["let go of while namespaces cannot be seen", () => store.removeNamespace("space", "unknown")],
    [
      "to be watched by itself from now on, and its label has not been seen yet",
      () => {
        list(pod("a"));
        store.switchToNamespaces();
        store.namespaceStore("other").replace([], "2");
      },
    ],
  ])("but not while its namespace is %s, and none of its lines is lost or there twice", async (_what, how) => {
    store.switchToNamespaces();
    const [space, other] = [store.namespaceStore("space"), store.namespaceStore("other")];
    space.replace([pod("a")], "1");
    other.replace([], "1");
    const logs = follow();
    await vi.waitFor(() => expect(kubelet.following("a/application")).toBe(1));
    how();
    logs.reassign();
    expect([store.synced, store.syncStatusOf("space").synced]).toEqual([true, false]);
    kubelet.cut("a/application");
    kubelet.say("a/application", "02 still there");
    await vi.waitFor(() => expect(said()).toEqual(["0 one", "0 still there"]), { timeout: 3000 });
    store.namespaceStore("space").replace([pod("a")], "3");
    kubelet.say("a/application", "03 and now");
    await vi.waitFor(() => expect(said()).toEqual(["0 one", "0 still there", "0 and now"]), { timeout: 3000 });
  });
});

describe("ownership", () => {
  test("decides which pods are followed; a moved app is read by its new owner from the start", async () => {
    kubelet.run("a/application", "01 mine");
    kubelet.run("b/application", "01 yours");
    list(pod("a"), pod("b", { app: "app-2" }));
    const mine = new Set(["app-1"]);
    const logs = follow((source) => mine.has(source));
    await vi.waitFor(() => expect(kubelet.following("a/application")).toBe(1));
    expect(said("app-2")).toEqual([]);
    mine.clear();
    mine.add("app-2");
    logs.reassign();
    await vi.waitFor(() => expect(said("app-2")).toEqual(["0 yours"]));
    // API replicas that still read from the old owner get its lines.
    expect(said("app-1")).toEqual(["0 mine"]);
    mine.add("app-1");
    logs.reassign();
    await vi.waitFor(() => expect(said("app-1")).toEqual(["0 mine"]));
  });
});

test.each([
  ["2026-11-21T04:00:00.5Z hello", 500_000_000n, "hello"],
  ["2026-11-21T04:00:00Z ", 0n, ""],
  ["2026-11-21T05:00:00.000000007+01:00 two words", 7n, "two words"],
])("%s is a line", (text, nanoseconds, message) => {
  expect(parseLine(text)).toEqual({
    time: BigInt(Date.parse("2026-11-21T04:00:00Z")) * 1_000_000n + nanoseconds,
    message,
  });
});

test.each(["", "hello", "2026-11-21 hello", "unable to retrieve container logs for containerd://x"])(
  "%j is none",
  (text) => {
    expect(parseLine(text)).toBeUndefined();
  },
);

test("pods without an app, and containers that never ran, have no log", () => {
  const waiting = pod("a");
  expect(loggingContainers({ ...waiting, metadata: { ...waiting.metadata, labels: {} } })).toEqual([]);
  expect(
    loggingContainers({
      ...waiting,
      status: {
        containerStatuses: [
          { name: "application", restartCount: 0, image: "i", imageID: "i", ready: false, state: { waiting: {} } },
        ],
      },
    }),
  ).toEqual([]);
});

test("a sidecar's lines say so", () => {
  const one = pod("a");
  const [status] = one.status?.containerStatuses ?? [];
  const both = { ...one, status: { containerStatuses: [status!, { ...status!, name: "config" }] } };
  expect(loggingContainers(both).map(({ sourceType }) => sourceType)).toEqual([
    "APP/PROC/WEB",
    "APP/PROC/WEB/SIDECAR/CONFIG",
  ]);
});
