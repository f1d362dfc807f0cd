// Clusters are engaged, hang, fall silent, change credentials and are disengaged; others are unaffected.
import { createServer, type AddressInfo, type Socket } from "node:net";
import { pino } from "pino";
import { afterEach, describe, expect, test, vi } from "vitest";
import { createClient } from "../client/create-client.ts";
import { createClusterProvider, type ClusterProvider, type ClusterSource } from "./cluster-provider.ts";
import type { KubeClient } from "../client/client.ts";
import { KubeError } from "../client/errors.ts";
import type { KubeObject } from "../api/object.ts";
import type { ResourceRef } from "../api/resource-ref.ts";
import { refuse, startFakeCollection, type FakeCollection } from "../testing/fake-collection.ts";

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

const ask = async (client: KubeClient, signal: AbortSignal): Promise<void> =>
  void (await client.list(Thing, { signal }));

function provide(attemptMs = 5_000): { provider: ClusterProvider; changes: string[]; deleted: string[] } {
  const [changes, deleted]: [string[], string[]] = [[], []];
  const provider = createClusterProvider({
    log,
    timing: { attemptMs, retry: { minMs: 50, maxMs: 100, jitter: 0 }, probeMs: 30, probeDeadlineMs: 300 },
    verify: (_name, client, signal) => ask(client, signal),
  });
  provider.onChange((name) => {
    changes.push(`${name} ${provider.states()[name]?.phase}`);
    const engagement = provider.find(name);
    if (!engagement || deleted.includes(name)) return;
    const { store } = engagement.informers.ensure(Thing);
    store.onChange((change) => change.type === "deleted" && deleted.push(`${name}/${change.object.metadata.name}`));
  });
  ends.push(() => provider.close());
  return { provider, changes, deleted };
}

const phase = (provider: ClusterProvider, name: string): string | undefined => provider.states()[name]?.phase;

const names = (provider: ClusterProvider, cluster: string): string[] | undefined =>
  provider
    .find(cluster)
    ?.informers.store(Thing)
    .list()
    .map(({ metadata }) => metadata.name)
    .sort();

describe("clusters", () => {
  test("an attempt without an answer fails at its deadline, delays no other cluster, and is repeated", async () => {
    const { provider } = provide(400);
    const east = await fake("a");
    const connect = vi.fn(at(await blackHole()).connect);
    provider.engage("west", { hash: "1", connect });
    provider.engage("east", at(east.url));
    await vi.waitFor(() => expect(names(provider, "east")).toEqual(["a"]));
    expect(phase(provider, "west")).toBe("engaging");
    await vi.waitFor(() =>
      expect(provider.states()["west"]).toEqual({
        phase: "failed",
        reason: "did not answer within 0.4 s",
        isSilent: true,
      }),
    );
    await vi.waitFor(() => expect(connect.mock.calls.length).toBeGreaterThan(1));
    expect([provider.find("west"), provider.find("unknown")]).toEqual([undefined, undefined]);
  });

  test("a cluster is engaged as soon as an attempt succeeds, without another call", async () => {
    const { provider } = provide();
    let broken = true;
    const east = await fake("a");
    provider.engage("east", {
      hash: "1",
      connect: () => (broken ? Promise.reject(new Error("no credential")) : at(east.url).connect()),
    });
    await vi.waitFor(() =>
      expect(provider.states()["east"]).toEqual({ phase: "failed", reason: "no credential", isSilent: false }),
    );
    broken = false;
    await vi.waitFor(() => expect(names(provider, "east")).toEqual(["a"]));
  });

  test("a kind that may not be watched fails no engagement", async () => {
    const { provider } = provide();
    const east = await fake("a");
    provider.engage("east", {
      hash: "1",
      connect: async () => ({ ...(await at(east.url).connect()), raw: () => Promise.resolve({}) }),
    });
    await vi.waitFor(() => expect(names(provider, "east")).toEqual(["a"]));
    east.fault("list", refuse(403, "Forbidden"));
    const { store } = provider
      .find("east")!
      .informers.ensure(Thing, { labelSelector: "other", fieldSelector: "metadata.name=b" });
    await vi.waitFor(() => expect(store.state).toBe("parked"));
    expect(phase(provider, "east")).toBe("engaged");
  });

  test("disengaging ends the cluster's watches, emits no deletion and leaves other clusters alone", async () => {
    const { provider, deleted } = provide();
    const [east, west] = [await fake("a"), await fake("b")];
    provider.engage("east", at(east.url));
    provider.engage("west", at(west.url));
    await vi.waitFor(() => expect([names(provider, "east"), names(provider, "west")]).toEqual([["a"], ["b"]]));
    const gone = provider.find("east");
    await provider.disengage("east");
    expect([deleted, gone?.signal.aborted, provider.find("east")]).toEqual([[], true, undefined]);
    expect(Object.keys(provider.states())).toEqual(["west"]);
    const asked = east.requests.length;
    east.put("later");
    west.remove("b");
    await vi.waitFor(() => expect(deleted).toEqual(["west/b"]));
    expect(east.requests).toHaveLength(asked);
  });

  test("a new hash replaces the engagement only once the new one is there", async () => {
    const { provider, deleted } = provide();
    const east = await fake("a");
    provider.engage("east", at(east.url, "one"));
    await vi.waitFor(() => expect(names(provider, "east")).toEqual(["a"]));
    const first = provider.find("east");
    provider.engage("east", at(east.url, "one"));
    expect(provider.find("east")).toBe(first);
    let open: (() => void) | undefined;
    const ready = new Promise<void>((resolve) => (open = resolve));
    provider.engage("east", { hash: "two", connect: () => ready.then(() => at(east.url).connect()) });
    expect([provider.find("east"), first?.signal.aborted]).toEqual([first, false]);
    open?.();
    await vi.waitFor(() => expect(provider.find("east")).not.toBe(first));
    expect(first?.signal.aborted).toBe(true);
    await vi.waitFor(() => expect(names(provider, "east")).toEqual(["a"]));
    expect(deleted).toEqual([]);
  });

  test("an engaged cluster that stops answering is silent, keeps its caches, and returns by itself", async () => {
    const { provider, changes } = provide();
    const east = await fake("a");
    let answers = true;
    const probe = async (): Promise<unknown> => {
      if (!answers) throw new Error("no route");
      return {};
    };
    provider.engage("east", {
      hash: "1",
      connect: async () => ({ ...(await at(east.url).connect()), raw: probe }),
    });
    await vi.waitFor(() => expect(names(provider, "east")).toEqual(["a"]));
    const [engagement] = provider.list();
    answers = false;
    await vi.waitFor(() => expect(provider.states()["east"]).toMatchObject({ phase: "silent", reason: "no route" }));
    expect(provider.find("east")).toBeUndefined();
    expect(provider.list()).toEqual([engagement]);
    expect(engagement?.informers.store(Thing).list()).toHaveLength(1);
    answers = true;
    await vi.waitFor(() => expect(provider.find("east")).toBe(engagement));
    expect(changes).toEqual(["east engaging", "east engaged", "east silent", "east engaged"]);
  });

  test.each([401, 403])(
    "one that answers the credential with %i is not used, keeps its caches, and returns",
    async (code) => {
      const { provider, deleted } = provide();
      const east = await fake("a");
      let isTaken = true;
      const probe = async (): Promise<unknown> => {
        if (!isTaken) throw new KubeError({ code, message: "no" });
        return {};
      };
      provider.engage("east", { hash: "1", connect: async () => ({ ...(await at(east.url).connect()), raw: probe }) });
      await vi.waitFor(() => expect(names(provider, "east")).toEqual(["a"]));
      const [engagement] = provider.list();
      isTaken = false;
      await vi.waitFor(() => expect(provider.states()["east"]).toMatchObject({ phase: "refused", reason: "no" }));
      expect([provider.find("east"), provider.list()]).toEqual([undefined, [engagement]]);
      isTaken = true;
      await vi.waitFor(() => expect(provider.find("east")).toBe(engagement));
      expect(deleted).toEqual([]);
    },
  );

  test("a credential that was renewed is read again once the old one is refused", async () => {
    const { provider, changes } = provide();
    const east = await fake("a");
    let token = "old";
    let sent = token;
    const probes: string[] = [];
    provider.engage("east", {
      hash: "1",
      connect: async () => ({
        ...(await at(east.url).connect()),
        raw: async () => {
          probes.push(sent);
          if (sent !== token) throw new KubeError({ code: 401, message: "no" });
        },
        renew: async () => void (sent = token),
      }),
    });
    await vi.waitFor(() => expect(probes).toContain("old"));
    token = "new";
    await vi.waitFor(() => expect(probes).toContain("new"));
    expect(changes).toEqual(["east engaging", "east engaged"]);
  });

  test("a cluster disengaged while it is engaging leaves nothing behind", async () => {
    const { provider } = provide(60_000);
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
  });
});
