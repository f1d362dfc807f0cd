// Clusters are engaged, hang, change credentials and are disengaged; others are unaffected.
import { createServer, type AddressInfo, type Socket } from "node:net";
import { pino } from "pino";
import { afterEach, describe, expect, test, vi } from "vitest";
import { createClient } from "../client/create-client.ts";
import {
  createClusterProvider,
  type ClusterProvider,
  type ClusterSource,
  type Engagement,
} from "./cluster-provider.ts";
import type { KubeObject } from "../api/object.ts";
import type { ResourceRef } from "../api/resource-ref.ts";
import { startFakeCollection, type FakeCollection } from "../testing/fake-collection.ts";

const Thing: ResourceRef<KubeObject> = {
  group: "test",
  version: "v1",
  kind: "Thing",
  plural: "things",
  namespaced: true,
};
const log = pino({ level: "silent" });
const ends: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

async function fake(...names: string[]): Promise<FakeCollection> {
  const collection = await startFakeCollection();
  for (const name of names) collection.put(name);
  ends.push(() => collection.close());
  return collection;
}

/** Takes connections and says nothing. */
async function blackHole(): Promise<string> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => void sockets.add(socket.on("error", () => undefined)));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  ends.push(() => {
    for (const socket of sockets) socket.destroy();
    return new Promise((resolve) => server.close(resolve));
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const at = (server: string, hash = server): ClusterSource => ({
  hash,
  connect: () => createClient({ server, auth: { kind: "anonymous" }, fieldManager: "test" }),
});

interface Scene {
  provider: ClusterProvider;
  /** Emitted deletions. */
  deleted: string[];
  disengaged: string[];
  engagements: Engagement[];
}

function scene(engageMs = 5_000): Scene {
  const [deleted, disengaged, engagements]: [string[], string[], Engagement[]] = [[], [], []];
  const provider = createClusterProvider({
    log,
    engageTimeoutMs: engageMs,
    onDisengaged: (name) => disengaged.push(name),
    async onEngaged(engagement) {
      engagements.push(engagement);
      const { store } = engagement.informers.ensure(Thing);
      store.onChange(
        (change) => change.type === "deleted" && deleted.push(`${engagement.name}/${change.object.metadata.name}`),
      );
      while (!engagement.signal.aborted && !(await store.waitSynced(50))) continue;
    },
  });
  ends.push(() => provider.close());
  return { provider, deleted, disengaged, engagements };
}

const names = (provider: ClusterProvider, cluster: string): string[] | undefined =>
  provider
    .find(cluster)
    ?.informers.store(Thing)
    .list()
    .map(({ metadata }) => metadata.name)
    .sort();

describe("clusters", () => {
  test("an attempt without an answer fails at its deadline and delays no other cluster", async () => {
    const { provider } = scene(400);
    const east = await fake("a");
    provider.engage("west", at(await blackHole()));
    provider.engage("east", at(east.url));
    expect(await provider.waitForAttempt("east")).toEqual({ phase: "engaged" });
    expect(provider.states()["west"]).toEqual({ phase: "engaging" });
    expect(names(provider, "east")).toEqual(["a"]);
    expect(await provider.waitForAttempt("west")).toEqual({ phase: "failed", reason: "did not answer within 0.4 s" });
    east.put("b");
    await vi.waitFor(() => expect(names(provider, "east")).toEqual(["a", "b"]));
    // A cluster that is not engaged is not retried.
    expect([provider.find("west"), provider.find("unknown")]).toEqual([undefined, undefined]);
  });

  test("a failed cluster is engaged by the next call", async () => {
    const { provider } = scene();
    let broken = true;
    const east = await fake("a");
    const source: ClusterSource = {
      hash: "1",
      connect: () => (broken ? Promise.reject(new Error("no credential")) : at(east.url).connect()),
    };
    provider.engage("east", source);
    expect(await provider.waitForAttempt("east")).toEqual({ phase: "failed", reason: "no credential" });
    broken = false;
    provider.engage("east", source);
    expect(await provider.waitForAttempt("east")).toEqual({ phase: "engaged" });
  });

  test("disengaging ends the cluster's watches, emits no deletion and leaves other clusters alone", async () => {
    const { provider, deleted, disengaged, engagements } = scene();
    const [east, west] = [await fake("a"), await fake("b")];
    provider.engage("east", at(east.url));
    provider.engage("west", at(west.url));
    await Promise.all([provider.waitForAttempt("east"), provider.waitForAttempt("west")]);
    const gone = provider.find("east");
    await provider.disengage("east");
    expect([deleted, disengaged, gone?.signal.aborted, provider.find("east")]).toEqual([[], ["east"], true, undefined]);
    expect(Object.keys(provider.states())).toEqual(["west"]);
    const asked = east.requests.length;
    east.put("later");
    west.remove("b");
    await vi.waitFor(() => expect(deleted).toEqual(["west/b"]));
    expect(east.requests).toHaveLength(asked);
    expect(engagements).toHaveLength(2);
  });

  test("the same hash is a no-op, another one engages the cluster again", async () => {
    const { provider, deleted, engagements, disengaged } = scene();
    const east = await fake("a");
    provider.engage("east", at(east.url, "one"));
    provider.engage("east", at(east.url, "one"));
    await provider.waitForAttempt("east");
    provider.engage("east", at(east.url, "one"));
    expect(engagements).toHaveLength(1);
    provider.engage("east", at(east.url, "two"));
    expect(engagements[0]?.signal.aborted).toBe(true);
    expect(await provider.waitForAttempt("east")).toEqual({ phase: "engaged" });
    expect([engagements.length, disengaged, deleted, names(provider, "east")]).toEqual([2, ["east"], [], ["a"]]);
  });

  test("a cluster disengaged while it is engaging leaves nothing behind", async () => {
    const { provider, disengaged } = scene(60_000);
    const closed = vi.fn();
    const url = await blackHole();
    provider.engage("west", {
      hash: "1",
      connect: async () => ({ ...(await at(url).connect()), close: async () => closed() }),
    });
    await vi.waitFor(() => expect(provider.states()["west"]).toEqual({ phase: "engaging" }));
    await provider.disengage("west");
    expect(provider.states()).toEqual({});
    expect(closed).toHaveBeenCalledTimes(1);
    expect(disengaged).toEqual([]);
  });
});
