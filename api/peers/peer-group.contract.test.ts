// Several replicas in one process, over real HTTP, each with stores that the test feeds: no stale reads, and bounded waits for a silent peer.
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { pino } from "pino";
import { afterEach, describe, expect, test, vi } from "vitest";
import type { KubeObject } from "../../kube/api/object.ts";
import type { ResourceRef } from "../../kube/api/resource-ref.ts";
import { WritableStore } from "../../kube/cache/store.ts";
import type { ClusterCache } from "../cache/cluster-cache.ts";
import { createPeerGroup, type PeerDirectory, type PeerGroup } from "./peer-group.ts";
import type { Peer } from "./peer-protocol.ts";

const ref: ResourceRef = { group: "example.org", version: "v1", kind: "Thing", plural: "things", namespaced: true };
const resource = "things.example.org";
const log = pino({ level: "silent" });
const ends: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

function thing(name: string, version: string, more: Partial<KubeObject["metadata"]> = {}): KubeObject {
  return {
    apiVersion: "example.org/v1",
    kind: "Thing",
    metadata: { name, namespace: "space", uid: name, resourceVersion: version, ...more },
  };
}

/** The membership as the cluster would report it. */
function cluster() {
  const members = new Map<string, Peer>();
  const listeners = new Set<() => void>();
  const tell = (): void => listeners.forEach((listener) => listener());
  const dropped: string[] = [];
  const blind = new Set<string>();
  return {
    dropped,
    /** From now on this replica cannot read the membership. */
    blind: (identity: string) => (blind.add(identity), tell()),
    join: (peer: Peer) => (members.set(peer.identity, peer), tell()),
    leave: (identity: string) => (members.delete(identity), tell()),
    directory(self: Peer, sees = () => true): PeerDirectory {
      const others = (): Peer[] => [...members.values()].filter(({ identity }) => identity !== self.identity);
      return {
        self,
        findPeers: () => (blind.has(self.identity) ? undefined : sees() ? others() : []),
        fetchPeers: async () => others(),
        onChange: (listener) => (listeners.add(listener), () => listeners.delete(listener)),
        isMember: () => members.has(self.identity),
        removePeer: async ({ identity }) => {
          dropped.push(identity);
          if (members.delete(identity)) tell();
        },
      };
    },
  };
}

interface One {
  replicas: PeerGroup;
  store: WritableStore<KubeObject>;
  peer: Peer;
  requests: string[];
  server: Server;
  /** The result of a list. */
  listed: { version: string };
}

/** A replica that listens and is not a member yet. */
async function start(identity: string, all: ReturnType<typeof cluster>, sees?: () => boolean): Promise<One> {
  const store = new WritableStore<KubeObject>(ref, {
    onFault: (error) => {
      throw error;
    },
  });
  store.replace([], "100");
  store.setState("watching");
  const listed = { version: "100" };
  const view = {
    findStore: (id: string) => (id === resource ? store : undefined),
    latestVersion: () => store.resourceVersion,
    relist: async () => store.replace([], listed.version),
  };
  const requests: string[] = [];
  const handler = { now: (): PeerGroup["handler"] => replicas.handler };
  const server = createServer((request, response) => {
    requests.push(request.url ?? "");
    handler.now()(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const peer = { identity, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
  const replicas = createPeerGroup({
    cache: view as unknown as ClusterCache,
    log,
    directory: all.directory(peer, sees),
    tokenFor: () => "t",
  });
  ends.push(
    () => replicas.close(),
    () => (server.closeAllConnections(), server.close()),
  );
  return { replicas, store, peer, requests, server, listed };
}

async function joined(identity: string, all: ReturnType<typeof cluster>): Promise<One> {
  const one = await start(identity, all);
  all.join(one.peer);
  await one.replicas.syncWithPeers();
  return one;
}

/** The wait of a request at this replica; undefined when it may be answered at once. */
function held({ replicas }: One): Promise<void> | undefined {
  const waiting = replicas.waitUntilCurrent();
  // Tests that do not await it must not fail on its rejection.
  waiting?.catch(() => undefined);
  return waiting;
}

async function took(work: Promise<unknown>): Promise<number> {
  const started = performance.now();
  await work;
  return performance.now() - started;
}

describe("a replica alone", () => {
  test("waits for its own index, and asks no peer", async () => {
    const a = await joined("a", cluster());
    const written = a.replicas.publishWrites([{ resource, version: "101" }]);
    const waiting = vi.fn();
    void written.then(waiting);
    await new Promise(setImmediate);
    expect(waiting).not.toHaveBeenCalled();
    a.store.upsert(thing("x", "101"));
    await written;
    expect(held(a)).toBeUndefined();
    expect(a.requests).toEqual([]);
  });

  test("answers nothing before it has seen its own write, however late that comes", async () => {
    const a = await joined("a", cluster());
    expect(await took(a.replicas.publishWrites([{ resource, version: "101" }]))).toBeLessThan(900);
    const answer = held(a);
    expect(answer).toBeDefined();
    a.store.upsert(thing("x", "101"));
    await answer;
    expect(held(a)).toBeUndefined();
  });
});

describe("two replicas", () => {
  test("a write at one is waited for by reads at the other", async () => {
    const all = cluster();
    const [a, b] = [await joined("a", all), await joined("b", all)];
    a.store.upsert(thing("x", "101"));
    await a.replicas.publishWrites([{ resource, namespace: "space", version: "101" }]);
    const read = held(b);
    expect(read).toBeDefined();
    b.store.upsert(thing("x", "101"));
    await read;
    expect(held(b)).toBeUndefined();
    expect(b.replicas.isReady()).toBe(true);
  });

  test("a deletion is waited for even by a replica that has not seen the object come", async () => {
    const all = cluster();
    const [a, b] = [await joined("a", all), await joined("b", all)];
    a.store.upsert(thing("x", "101"));
    a.store.remove(thing("x", "102"));
    await a.replicas.publishWrites([{ resource, namespace: "space", version: "101", gone: "x" }]);
    const done = vi.fn();
    const read = held(b)?.then(done);
    b.store.upsert(thing("x", "101"));
    await new Promise(setImmediate);
    expect(done).not.toHaveBeenCalled();
    b.store.remove(thing("x", "102"));
    await read;
    expect(held(b)).toBeUndefined();
  });

  test("an object that is terminating counts as gone", async () => {
    const all = cluster();
    const [a, b] = [await joined("a", all), await joined("b", all)];
    for (const { store } of [a, b]) store.upsert(thing("x", "101", { deletionTimestamp: "2026-01-01T00:00:00Z" }));
    await a.replicas.publishWrites([{ resource, namespace: "space", version: "100", gone: "x" }]);
    expect(held(b)).toBeUndefined();
  });

  test("writes at the same time go together", async () => {
    const all = cluster();
    const [a, b] = [await joined("a", all), await joined("b", all)];
    b.requests.length = 0;
    a.store.observeVersion("200");
    b.store.observeVersion("200");
    await Promise.all(
      Array.from({ length: 50 }, (_, at) => a.replicas.publishWrites([{ resource, version: String(150 + at) }])),
    );
    expect(b.requests.length).toBeLessThanOrEqual(2);
  });

  test("versions of other writers are shared too", async () => {
    const all = cluster();
    const [a, b] = [await joined("a", all), await joined("b", all)];
    a.store.upsert(thing("made-by-a-controller", "105"));
    await a.replicas.publishObserved([ref]);
    const read = held(b);
    expect(read).toBeDefined();
    b.store.upsert(thing("made-by-a-controller", "105"));
    await read;
  });

  test("nothing to share is shared at once", async () => {
    const all = cluster();
    const [a, b] = [await joined("a", all), await joined("b", all)];
    b.requests.length = 0;
    expect(await took(a.replicas.publishObserved([]))).toBeLessThan(400);
    expect(b.requests).toEqual([]);
  });

  test.each([
    ["its watch stands still", "101"],
    ["the server was restored, and counts from an older version", "50"],
  ])("a replica that stays behind lists again: %s", async (_why, version) => {
    const all = cluster();
    const [a, b] = [await joined("a", all), await joined("b", all)];
    a.store.observeVersion("101");
    await a.replicas.publishWrites([{ resource, version: "101" }]);
    b.listed.version = version;
    await vi.waitFor(() => expect(held(b)).toBeUndefined(), { timeout: 3000 });
    expect(b.store.resourceVersion).toBe(version);
  });
});

describe("a peer that does not answer", () => {
  test("and is certainly gone costs nothing, and loses its membership", async () => {
    const all = cluster();
    const [a, b] = [await joined("a", all), await joined("b", all)];
    b.server.closeAllConnections();
    await new Promise((resolve) => b.server.close(resolve));
    a.store.observeVersion("102");
    expect(await took(a.replicas.publishWrites([{ resource, version: "101" }]))).toBeLessThan(300);
    await vi.waitFor(() => expect(all.dropped).toEqual(["b"]));
  });

  test("but may be alive costs its bound once, and gets all versions when it answers again", async () => {
    const all = cluster();
    const [a, b] = [await joined("a", all), await joined("b", all)];
    const { handler } = b.replicas;
    // It accepts connections and never replies.
    Object.assign(b.replicas, { handler: () => undefined });
    a.store.observeVersion("200");
    const first = await took(a.replicas.publishWrites([{ resource, version: "101" }]));
    expect(first).toBeGreaterThan(400);
    expect(first).toBeLessThan(900);
    expect(await took(a.replicas.publishWrites([{ resource, version: "102" }]))).toBeLessThan(100);
    Object.assign(b.replicas, { handler });
    await vi.waitFor(() => expect(held(b)).toBeDefined(), { timeout: 2000 });
    const read = held(b);
    b.store.observeVersion("101");
    await new Promise(setImmediate);
    expect(held(b)).toBeDefined();
    b.store.observeVersion("102");
    await read;
    expect(all.dropped).toEqual([]);
  });

  test("for long loses its membership, and serves nothing until it has joined and synced with its peers again", async () => {
    const all = cluster();
    const [a, b] = [await joined("a", all), await joined("b", all)];
    const { handler } = b.replicas;
    Object.assign(b.replicas, { handler: () => undefined });
    a.store.observeVersion("200");
    await a.replicas.publishWrites([{ resource, version: "101" }]);
    await vi.waitFor(() => expect(all.dropped).toEqual(["b"]), { timeout: 10_000 });
    const read = held(b);
    expect(read).toBeDefined();
    await vi.waitFor(() => expect(b.replicas.isReady()).toBe(false), { timeout: 5000 });
    Object.assign(b.replicas, { handler });
    all.join(b.peer);
    await b.replicas.syncWithPeers();
    b.store.observeVersion("101");
    await read;
    expect(b.replicas.isReady()).toBe(true);
  });
});

test("a replica that does not see the others any more, nor is counted by them, answers nothing", async () => {
  const all = cluster();
  const [, b] = [await joined("a", all), await joined("b", all)];
  all.blind("b");
  expect(held(b)).toBeUndefined();
  all.leave("b");
  expect(held(b)).toBeDefined();
});

test("a paused replica syncs with its peers before it answers, and stays ready meanwhile", async () => {
  const all = cluster();
  const [a, b] = [await joined("a", all), await joined("b", all)];
  // For a moment b does not answer, so a skips it and b misses a's write.
  const { handler } = b.replicas;
  Object.assign(b.replicas, { handler: () => undefined });
  a.store.observeVersion("101");
  await a.replicas.publishWrites([{ resource, version: "101" }]);
  for (const end = performance.now() + 600; performance.now() < end;);
  const read = held(b);
  expect(read).toBeDefined();
  expect(b.replicas.isReady()).toBe(true);
  const answered = vi.fn();
  void read?.then(answered);
  await vi.waitFor(() => expect(a.requests).toContain("/replicas/hello"));
  Object.assign(b.replicas, { handler });
  await new Promise(setImmediate);
  expect(answered).not.toHaveBeenCalled();
  b.store.observeVersion("101");
  await read;
});

describe("a replica that comes", () => {
  test("knows earlier writes, and gets later ones from peers that have not observed it yet", async () => {
    const all = cluster();
    const a = await start("a", all, () => false);
    all.join(a.peer);
    await a.replicas.syncWithPeers();
    a.store.observeVersion("200");
    await a.replicas.publishWrites([{ resource, version: "101" }]);
    const b = await start("b", all);
    expect(b.replicas.isReady()).toBe(false);
    all.join(b.peer);
    await b.replicas.syncWithPeers();
    const read = held(b);
    expect(read).toBeDefined();
    b.store.observeVersion("101");
    await read;
    await a.replicas.publishWrites([{ resource, version: "102" }]);
    expect(held(b)).toBeDefined();
  });

  test("does not wait for members that are dead", async () => {
    const all = cluster();
    all.join({ identity: "killed", url: "http://127.0.0.1:1" });
    const a = await start("a", all);
    all.join(a.peer);
    expect(await took(a.replicas.syncWithPeers())).toBeLessThan(1000);
    expect(all.dropped).toEqual(["killed"]);
    expect(a.replicas.isReady()).toBe(true);
  });
});
