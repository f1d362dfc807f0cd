// Logs and stats of apps on other clusters: merged, bounded, and held up by no cluster. The API servers are played.
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { pino } from "pino";
import { afterEach, expect, test, vi } from "vitest";
import { PlacementDecision } from "../../crds/placement-decision/placement-decision.ts";
import type { Informers } from "../../kube/cache/informers.ts";
import { createClient } from "../../kube/client/create-client.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { createLogRing } from "../../telemetry/log-ring.ts";
import type { Envelope } from "../../telemetry/envelope.ts";
import type { TelemetryClient } from "../../telemetry/telemetry-client.ts";
import { REPLICA_ANNOTATIONS } from "../leases/replica-membership.ts";
import type { Clusters } from "../operations/clusters.ts";
import { TelemetryTokens } from "../operations/telemetry-tokens.ts";
import { clusterTelemetry, startClusterRelay } from "./cluster-relay.ts";
import { followPlacedApps } from "./placed-apps.ts";

const PREFIX = "/api/v1/namespaces/cupola-system/services/https:cupola-logs:https/proxy/telemetry";
const ends: (() => Promise<unknown>)[] = [];
afterEach(async () => void (await Promise.all(ends.splice(0).map((end) => end()))));

interface Decision {
  app: string;
  process: string;
  indexes: Record<string, number>;
}

async function serve(listener: RequestListener): Promise<KubeClient> {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const client = createClient({ server: `http://127.0.0.1:${port}`, auth: { kind: "token", token: "t" } });
  ends.push(async () => {
    await client.close();
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  return client;
}

const sends =
  (body: (path: string) => unknown, asked: string[] = []): RequestListener =>
  (request, response) => {
    const path = (request.url ?? "").replace(PREFIX, "");
    asked.push(`${String(request.headers["x-cupola-token"])} ${path.split("?")[0]}`);
    response.end(JSON.stringify(body(path)));
  };

function linesOf(source: string, ...lines: [time: bigint, instance: string][]): Envelope[] {
  const ring = createLogRing();
  for (const [time, instance] of lines)
    ring.log({ source, sourceType: "APP/PROC/WEB", message: String(time), instance, time });
  return ring.read(source, {});
}

const batch = (envelopes: unknown[]) => () => ({ envelopes: { batch: envelopes } });

/** Has been read before, and changes no more. */
const storeOf = (objects: { metadata: { labels: Record<string, string> } }[]): object => ({
  synced: true,
  list: ({ labels = {} }: { labels?: Record<string, string> }) =>
    objects.filter(({ metadata }) => Object.entries(labels).every(([key, value]) => metadata.labels[key] === value)),
  onChange: () => () => undefined,
  onStateChange: () => () => undefined,
});

const clustersOf = (clients: Record<string, KubeClient>): Clusters =>
  ({
    provider: { find: (name: string) => clients[name] && { client: clients[name] } },
    listTelemetry: () => Object.keys(clients).map((url) => ({ url, token: `token of ${url}` })),
  }) as unknown as Clusters;

/** Each app has one decision, with an index on each cluster, and `tasksOn` names the cluster of an app's task. */
function relayTo(
  clients: Record<string, KubeClient>,
  decisions: Decision[],
  faults: Error[] = [],
  tasksOn: Record<string, string> = {},
): TelemetryClient {
  const objects = decisions.map(({ app, process, indexes }) => ({
    metadata: { labels: { "cupola.dev/process-guid": process } },
    spec: {
      app,
      assignments: Object.entries(indexes).map(([cluster, index]) => ({
        cluster,
        indexes: [{ start: index, end: index }],
      })),
    },
  }));
  const tasks = Object.entries(tasksOn).map(([app, cluster]) => ({
    metadata: { labels: { "cupola.dev/app-guid": app } },
    status: { cluster },
  }));
  const informers = {
    ensure: (ref: unknown) => ({
      store: storeOf(ref === PlacementDecision ? objects : tasks),
      release: () => undefined,
    }),
  } as unknown as Informers;
  return clusterTelemetry(clustersOf(clients), followPlacedApps(informers), {
    onError: (error) => faults.push(error),
    timeoutMs: 300,
  });
}

const shop: Decision = { app: "shop", process: "web", indexes: { east: 0, west: 1 } };
const told = (envelopes: readonly Envelope[]): string[] =>
  envelopes.map(({ instance_id, timestamp }) => `${instance_id} ${timestamp}`);

test("the lines of both clusters come in the order of their times, each asked with its own token", async () => {
  const asked: string[] = [];
  const east = await serve(sends(batch(linesOf("shop", [1n, "0"], [3n, "0"])), asked));
  const west = await serve(sends(batch(linesOf("shop", [2n, "1"])), asked));
  const relay = relayTo({ east, west }, [shop]);
  expect(told(await relay.readLogs("shop"))).toEqual(["0 1", "1 2", "0 3"]);
  expect(asked.toSorted()).toEqual(["token of east /logs/shop", "token of west /logs/shop"]);
});

test("an app whose task alone ran on a cluster has its lines from there", async () => {
  const east = await serve(sends(batch(linesOf("batch", [1n, "0"]))));
  expect(told(await relayTo({ east }, [], [], { batch: "east" }).readLogs("batch"))).toEqual(["0 1"]);
});

test("a cluster without the app is not asked", async () => {
  const asked: string[] = [];
  const other = await serve(sends(batch([]), asked));
  expect(await relayTo({ other }, [shop]).readLogs("shop")).toEqual([]);
  expect(asked).toEqual([]);
});

test("a silent cluster holds up the first answer for its deadline, and no further one", async () => {
  const east = await serve(sends(batch(linesOf("shop", [1n, "0"]))));
  let asked = 0;
  const west = await serve(() => void asked++);
  const faults: Error[] = [];
  const relay = relayTo({ east, west }, [shop], faults);
  expect(told(await relay.readLogs("shop"))).toEqual(["0 1"]);
  expect(faults.map(({ message }) => message)).toEqual(["the logs and stats of cluster west cannot be read"]);
  for (let read = 0; read < 10; read++) expect(await relay.readLogs("shop")).toHaveLength(1);
  expect(asked).toBe(1);
});

test("a cluster speaks for no other app, and is not read beyond a bound", async () => {
  const own = linesOf("shop", [1n, "0"]);
  const east = await serve(sends(batch([...linesOf("bank", [2n, "0"]), { junk: true }, ...own])));
  expect(told(await relayTo({ east }, [shop]).readLogs("shop"))).toEqual(["0 1"]);
  const endless = await serve((_request, response) => {
    const more = (): void => {
      while (response.write("x".repeat(1 << 20)));
    };
    response.on("drain", more);
    more();
  });
  const faults: Error[] = [];
  await expect(relayTo({ east: endless }, [shop], faults).readLogs("shop")).rejects.toThrow("no telemetry endpoint");
});

test("a cluster has stats for the instances alone that are placed there", async () => {
  const instance = (index: number, process = "web") => ({
    ...{ app: "shop", process, processType: "web", lrp: "u", lrpKey: "dev/shop", index, instanceGuid: "g" },
    ...{ state: "RUNNING", routable: true, since: "2026-01-01T00:00:00Z", uptime: 1, host: "h", internalIp: "h" },
    ...{ ports: [], memoryQuota: 1, diskQuota: 1, fdsQuota: 1 },
    usage: { time: "2026-01-01T00:00:00Z", cpu: 0.5, mem: index },
  });
  const east = await serve(sends(() => ({ instances: [instance(0), instance(1), instance(0, "bank")] })));
  const west = await serve(sends(() => ({ instances: [instance(1), { index: 1 }] })));
  const stats = await relayTo({ east, west }, [shop]).stats({ app: "shop", process: "web" });
  expect(stats.map(({ index, usage }) => [index, usage.mem])).toEqual([
    [0, 0],
    [1, 1],
  ]);
});

test("counts are those of apps that are placed there", async () => {
  const counts = { count: "1", expired: "0", oldestTimestamp: "1", newestTimestamp: "2" };
  const east = await serve(sends(() => ({ meta: { shop: counts, bank: counts, "": {} } })));
  expect(await relayTo({ east }, [shop]).meta()).toEqual({ shop: counts });
});

test("new lines follow, those of others are left out", async () => {
  const lines = [...linesOf("bank", [1n, "0"]), ...linesOf("shop", [2n, "0"])];
  const east = await serve((_request, response) => {
    response.write(`${lines.map((line) => JSON.stringify(line)).join("\n")}\nno json\n`);
  });
  const stop = new AbortController();
  for await (const envelope of relayTo({ east }, [shop]).followLogs("shop", { start: 0n, signal: stop.signal })) {
    expect(told([envelope])).toEqual(["0 2"]);
    break;
  }
  stop.abort();
});

test("a follower gets the lines of a cluster that the app comes to later, from its first line there", async () => {
  const sendsOne = (time: bigint): RequestListener => {
    const [line] = linesOf("shop", [time, "0"]);
    return (_request, response) => void response.write(`${JSON.stringify(line)}\n`);
  };
  const clients: Record<string, KubeClient> = { east: await serve(sendsOne(9n)), west: await serve(sendsOne(2n)) };
  const on = new Set(["east"]);
  const apps = { isOn: (cluster: string) => on.has(cluster), isAssigned: () => true, release: () => undefined };
  const relay = clusterTelemetry(clustersOf(clients), apps, { onError: () => undefined, lookMs: 20 });
  const stop = new AbortController();
  const seen: string[] = [];
  for await (const envelope of relay.followLogs("shop", { start: 0n, signal: stop.signal })) {
    seen.push(...told([envelope]));
    on.add("west");
    if (seen.length === 2) break;
  }
  stop.abort();
  expect(seen).toEqual(["0 9", "0 2"]);
});

test("it serves from the moment when the first token comes", async () => {
  await using disposables = new AsyncDisposableStack();
  const tokens = new TelemetryTokens();
  const annotated: Record<string, string>[] = [];
  const clusters = {
    provider: { find: () => undefined, onChange: () => () => undefined },
    listTelemetry: () => tokens.list(),
    onTelemetryChange: (listener: () => void) => tokens.onChange(listener),
  } as unknown as Clusters;
  const context = {
    informers: { ensure: () => ({ store: storeOf([]), release: () => undefined }) },
    membership: { annotate: (all: Record<string, string>) => Promise.resolve(annotated.push(all)) },
    options: {},
    log: pino({ level: "silent" }),
    disposables,
  } as unknown as Parameters<typeof startClusterRelay>[0];
  startClusterRelay(context, clusters, () => "secret");
  tokens.set("east", "t");
  await vi.waitFor(() => expect(annotated).toEqual([{ [REPLICA_ANNOTATIONS.relay]: expect.stringMatching(/^http:/) }]));
  tokens.set("west", "t");
  expect(annotated).toHaveLength(1);
});
