// The reflector against a scripted HTTP server: every failure of list and watch, and a model test over all of them.
import fc from "fast-check";
import { pino } from "pino";
import { afterEach, describe, expect, it, vi } from "vitest";
import { createClient } from "../client/create-client.ts";
import type { KubeClient } from "../client/client.ts";
import type { KubeObject } from "../api/object.ts";
import { NotPermitted, NotSynced } from "./errors.ts";
import type { ResourceRef } from "../api/resource-ref.ts";
import { type FakeCollection, refuse, startFakeCollection, status } from "../testing/fake-collection.ts";
import { createInformers, type Informers } from "./informers.ts";

const Thing: ResourceRef = { group: "test", version: "v1", kind: "Thing", plural: "things", namespaced: true };
const log = pino({ level: "silent" });
const TIMING = {
  backoff: { minMs: 20, maxMs: 150, jitter: 0 },
  parked: { minMs: 40, maxMs: 100, jitter: 0 },
  watchSeconds: [300, 600] as const,
  shortWatchMs: 30,
};

const cleanUps: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
});

interface Bench {
  fake: FakeCollection;
  client: KubeClient;
  informers: Informers;
  names: () => string[];
  deleted: string[];
  until: (condition: () => boolean) => Promise<void>;
}

async function bench(timing = {}, prepare?: (fake: FakeCollection) => void): Promise<Bench> {
  const fake = await startFakeCollection();
  prepare?.(fake);
  const client = createClient({ server: fake.url });
  const informers = createInformers({ client, log, freeze: true, timing: { ...TIMING, ...timing }, lingerMs: 0 });
  cleanUps.push(
    () => fake.close(),
    () => client.close(),
    () => informers.close(),
  );
  const { store } = informers.ensure(Thing);
  const deleted: string[] = [];
  store.onChange((change) => void (change.type === "deleted" && deleted.push(change.object.metadata.name)));
  const names = () =>
    store
      .list()
      .map((object) => object.metadata.name)
      .sort();
  return {
    fake,
    client,
    informers,
    names,
    deleted,
    until: (condition) => vi.waitFor(() => expect(condition()).toBe(true), { timeout: 5_000, interval: 5 }),
  };
}

const sees = (b: Bench, ...names: string[]) =>
  b.until(() => b.informers.store(Thing).synced && JSON.stringify(b.names()) === JSON.stringify(names));

describe("reflector", () => {
  it("throws NotSynced before the first list, then holds every page with kind and without managedFields", async () => {
    const b = await bench({}, (fake) => {
      for (let i = 0; i < 1203; i++) fake.put(`t${i}`);
    });
    expect(() => b.names()).toThrow(NotSynced);
    expect(await b.informers.waitSynced(5_000)).toBe(true);
    expect(b.names()).toHaveLength(1203);
    expect(b.fake.countRequests("list")).toBe(3);
    const first = b.informers.read.get(Thing, { namespace: "ns", name: "t0" });
    expect(first.kind).toBe("Thing");
    expect(first.metadata.managedFields).toBeUndefined();
    expect(() => Object.assign(first.metadata, { name: "other" })).toThrow(TypeError);
  });

  it("applies changes in order and resolves waits for a version", async () => {
    const b = await bench();
    await b.informers.waitSynced(5_000);
    const store = b.informers.store(Thing);
    const seen: string[] = [];
    store.onChange(({ type, object }) => seen.push(`${type} ${object.metadata.name}`));
    b.fake.put("a");
    b.fake.put("a", { x: 1 });
    b.fake.remove("a");
    const last = b.fake.put("b");
    expect(await store.waitForVersion(last.metadata.resourceVersion ?? "", 2_000)).toBe(true);
    expect(seen).toEqual(["added a", "modified a", "deleted a", "added b"]);
    expect(await store.waitForVersion(String(Number(b.fake.version) + 1), 30)).toBe(false);
  });

  it("resumes from bookmarks", async () => {
    const b = await bench({ shortWatchMs: 0 });
    await b.informers.waitSynced(5_000);
    await b.until(() => b.fake.countRequests("watch") === 1);
    b.fake.bookmark();
    expect(await b.informers.store(Thing).waitForVersion(b.fake.version, 2_000)).toBe(true);
    b.fake.compact();
    b.fake.endWatches();
    await b.until(() => b.fake.countRequests("watch") === 2);
    expect(b.fake.requests.at(-1)?.query.get("resourceVersion")).toBe(b.fake.version);
    expect(b.fake.requests.at(-1)?.query.get("allowWatchBookmarks")).toBe("true");
    expect(b.fake.countRequests("list")).toBe(1);
  });

  it("waits until a uid is deleted or terminating", async () => {
    const b = await bench({}, (fake) => void fake.put("a"));
    await b.informers.waitSynced(5_000);
    const store = b.informers.store(Thing);
    const uid = store.get({ namespace: "ns", name: "a" }).metadata.uid ?? "";
    expect(await store.waitDeleted(uid, 20)).toBe(false);
    const gone = store.waitDeleted(uid, 2_000);
    b.fake.remove("a");
    expect(await gone).toBe(true);
  });

  const endings: [string, (fake: FakeCollection) => void][] = [
    [
      "the server closes each watch at once",
      (fake) => fake.fault("watch", (response) => (response.writeHead(200).end(), true)),
    ],
    [
      "the server closes each watch after one event",
      (fake) =>
        fake.fault(
          "watch",
          (response) => (
            response.writeHead(200).end(`${JSON.stringify({ type: "MODIFIED", object: fake.objects()[0] })}\n`),
            true
          ),
        ),
    ],
    ["every watch answers 500", (fake) => fake.fault("watch", refuse(500, "InternalError"))],
    ["every list answers 500", (fake) => fake.fault("list", refuse(500, "InternalError"))],
    [
      "every watch ends in a 410 event",
      (fake) =>
        fake.fault(
          "watch",
          (response) => (
            response.writeHead(200).end(`${JSON.stringify({ type: "ERROR", object: status(410, "Expired") })}\n`),
            true
          ),
        ),
    ],
    [
      "every watch sends garbage",
      (fake) => fake.fault("watch", (response) => (response.writeHead(200).end("{nonsense\n"), true)),
    ],
  ];
  it.each(endings)("backs off and recovers when %s", async (_name, breakIt) => {
    const b = await bench({}, (fake) => {
      fake.put("a");
      breakIt(fake);
    });
    await b.until(() => b.fake.requests.length >= 4);
    const begin = performance.now();
    await b.until(() => performance.now() - begin > 200);
    // 20, 40, 80, 150 ms: a hot loop would send hundreds. The first 410 has no delay, and each watch may need a list.
    expect(b.fake.requests.length).toBeLessThan(24);
    b.fake.fault("watch", undefined);
    b.fake.fault("list", undefined);
    b.fake.put("z");
    await sees(b, "a", "z");
    expect(b.deleted).toEqual([]);
  });

  it("resumes at once when the server closes watches that bring news", async () => {
    const b = await bench({ backoff: { minMs: 600_000, maxMs: 600_000, jitter: 0 }, shortWatchMs: 600_000 });
    await b.informers.waitSynced(5_000);
    await b.until(() => b.fake.countRequests("watch") === 1);
    for (const name of ["a", "b", "c"]) {
      const watches = b.fake.countRequests("watch");
      b.fake.put(name);
      b.fake.endWatches();
      await b.until(() => b.fake.countRequests("watch") > watches);
    }
    await sees(b, "a", "b", "c");
    expect(b.fake.countRequests("list")).toBe(1);
  });

  it("honours Retry-After on 429 without listing again", async () => {
    const b = await bench({}, (fake) => {
      let refusals = 0;
      fake.fault(
        "watch",
        (response, query) => refusals++ < 2 && refuse(429, "TooManyRequests", { "retry-after": "0" })(response, query),
      );
    });
    await b.informers.waitSynced(5_000);
    await b.until(() => b.fake.countRequests("watch") === 3);
    b.fake.put("a");
    await sees(b, "a");
    expect(b.fake.countRequests("list")).toBe(1);
  });

  it("resumes at the last version after a broken connection, without a list", async () => {
    const b = await bench();
    await b.informers.waitSynced(5_000);
    await b.until(() => b.fake.countRequests("watch") === 1);
    b.fake.put("a");
    await sees(b, "a");
    b.fake.endWatches(true);
    b.fake.put("b");
    b.fake.remove("a");
    await sees(b, "b");
    expect(b.fake.countRequests("list")).toBe(1);
    expect(b.deleted).toEqual(["a"]);
  });

  it("detects a silent peer", async () => {
    const b = await bench({ watchSeconds: [0, 0], graceMs: 100 });
    await b.informers.waitSynced(5_000);
    // Nothing is sent or closed: only the stall timeout can detect it.
    await b.until(() => b.fake.countRequests("watch") >= 2);
    expect(b.fake.countRequests("list")).toBe(1);
  });

  it("lists again after 410 and emits missed deletions", async () => {
    const b = await bench({ shortWatchMs: 0 }, (fake) => ["a", "b"].forEach((name) => fake.put(name)));
    await sees(b, "a", "b");
    await b.until(() => b.fake.countRequests("watch") === 1);
    b.fake.fault("watch", refuse(503, "Down", { "retry-after": "0" }));
    b.fake.endWatches(true);
    b.fake.remove("a");
    b.fake.put("c");
    b.fake.compact();
    b.fake.fault("watch", undefined);
    await sees(b, "b", "c");
    expect(b.deleted).toEqual(["a"]);
    expect(b.fake.countRequests("list")).toBe(2);
  });

  it.each([
    [403, "Forbidden"],
    [401, "Unauthorized"],
    [404, "NoKind"],
  ])(
    "parks on %i: readers throw, nothing is deleted, and it resumes by itself with the real deletions",
    async (code, reason) => {
      const b = await bench({}, (fake) => ["a", "b"].forEach((name) => fake.put(name)));
      await sees(b, "a", "b");
      await b.until(() => b.fake.countRequests("watch") === 1);
      b.fake.fault("list", refuse(code, reason));
      b.fake.fault("watch", refuse(code, reason));
      b.fake.endWatches(true);
      const store = b.informers.store(Thing);
      await b.until(() => store.state === "parked");
      expect(() => b.names()).toThrow(NotPermitted);
      expect(() => b.informers.read.find(Thing, { namespace: "ns", name: "a" })).toThrow(NotPermitted);
      expect(b.informers.status()).toEqual([
        { resource: "things.test", state: "parked", parkReason: reason, synced: false },
      ]);
      b.fake.remove("a");
      expect(b.deleted).toEqual([]);
      b.fake.fault("list", undefined);
      b.fake.fault("watch", undefined);
      await sees(b, "b");
      expect(b.deleted).toEqual(["a"]);
    },
  );

  it("stays parked without flicker while list is allowed and watch is not", async () => {
    const b = await bench({}, (fake) => void fake.put("a"));
    await sees(b, "a");
    const store = b.informers.store(Thing);
    b.fake.fault("watch", refuse(403, "Forbidden"));
    b.fake.endWatches(true);
    await b.until(() => store.state === "parked");
    const states: string[] = [];
    store.onStateChange((state) => states.push(state));
    const before = b.fake.countRequests("watch");
    await b.until(() => b.fake.countRequests("watch") >= before + 2);
    expect(states).toEqual([]);
    b.fake.fault("watch", undefined);
    await sees(b, "a");
    expect(b.deleted).toEqual([]);
  });

  it("renews its credential once after a 401 before it parks", async () => {
    const fake = await startFakeCollection();
    fake.put("a");
    let isStale = true;
    let renewals = 0;
    const auth = ({ renew = false } = {}) => {
      if (renew && ++renewals === 1) isStale = false;
      return { headers: {} };
    };
    fake.fault("list", (response, query) => isStale && refuse(401, "Unauthorized")(response, query));
    const client = createClient({ server: fake.url, auth });
    const informers = createInformers({ client, log, timing: TIMING });
    cleanUps.push(
      () => fake.close(),
      () => client.close(),
      () => informers.close(),
    );
    const { store } = informers.ensure(Thing);
    const states: string[] = [];
    store.onStateChange((state) => states.push(state));
    expect(await store.waitSynced(5_000)).toBe(true);
    await vi.waitFor(() => expect(store.state).toBe("watching"));
    expect([renewals, states.includes("parked")]).toEqual([1, false]);
    fake.fault("watch", refuse(401, "Unauthorized"));
    fake.endWatches(true);
    await vi.waitFor(() => expect(store.parkReason).toBe("Unauthorized"));
    expect(renewals).toBe(2);
  });

  it.each(["park", "stop", "retry"] as const)("follows the watch's onError: %s", async (verdict) => {
    const b = await bench();
    const heard: unknown[] = [];
    b.fake.fault("list", refuse(verdict === "retry" ? 403 : 500, "Whatever"));
    const { store } = b.informers.ensure(Thing, {
      fieldSelector: "metadata.name=x",
      onError: (error) => (heard.push(error), verdict),
    });
    await b.until(() => store.state === { park: "parked", stop: "stopped", retry: "backoff" }[verdict]);
    expect(heard.length).toBeGreaterThan(0);
    expect(() => store.list()).toThrow(verdict === "park" ? NotPermitted : NotSynced);
    // A relist of a stopped watch resolves at once.
    b.fake.fault("list", undefined);
    if (verdict === "stop") await b.informers.relist(Thing);
  });

  it("retryNow retries a parked watch at once", async () => {
    const b = await bench({ parked: { minMs: 60_000, maxMs: 60_000, jitter: 0 } }, (fake) =>
      fake.fault("list", refuse(403, "Forbidden")),
    );
    await b.until(() => b.informers.status()[0]?.state === "parked");
    b.fake.fault("list", undefined);
    b.fake.put("a");
    b.informers.retryNow(Thing);
    await sees(b, "a");
  });

  it("keeps managedFields of a manager requested later, after one more list and without events", async () => {
    const b = await bench({}, (fake) => void fake.put("a"));
    await sees(b, "a");
    const changes: string[] = [];
    b.informers.store(Thing).onChange(({ type }) => changes.push(type));
    const kept = () => b.informers.store(Thing).list()[0]?.metadata.managedFields;
    expect(kept()).toBeUndefined();
    const handle = b.informers.ensure(Thing, { keepFieldsOf: ["applier"] });
    await handle.fieldsKept;
    expect(kept()).toEqual([{ manager: "applier", operation: "Apply" }]);
    expect(b.fake.countRequests("list")).toBe(2);
    await b.informers.ensure(Thing, { keepFieldsOf: ["applier"] }).fieldsKept;
    expect(b.fake.countRequests("list")).toBe(2);
    b.fake.put("b");
    await sees(b, "a", "b");
    expect(changes).toEqual(["added"]);
  });

  it("a list that started before the request does not count", async () => {
    const b = await bench({}, (fake) => void fake.put("a"));
    await b.until(() => b.fake.countRequests("list") === 1);
    await b.informers.ensure(Thing, { keepFieldsOf: ["applier"] }).fieldsKept;
    expect(b.informers.store(Thing).list()[0]?.metadata.managedFields).toHaveLength(1);
  });

  it("shares a watch, keeps it for lingerMs after its last user, and starts a new one after that", async () => {
    const b = await bench();
    const second = b.informers.ensure(Thing);
    await b.informers.waitSynced(5_000);
    second.release();
    second.release();
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(b.informers.status()).toHaveLength(1);
    const own = b.informers.ensure(Thing, { fieldSelector: "metadata.name=x" });
    expect(b.informers.status()).toHaveLength(2);
    own.release();
    await b.until(() => b.informers.status().length === 1);
    expect(own.store.state).toBe("stopped");
    expect(() => b.informers.read.list({ ...Thing, plural: "others" })).toThrow("others.test is not watched");
  });

  it("model: after any sequence of faults and writes the store equals the server, and additions and deletions of an object alternate", async () => {
    const step = fc.oneof(
      {
        weight: 4,
        arbitrary: fc.record({
          do: fc.constant("put" as const),
          name: fc.constantFrom("a", "b", "c"),
          value: fc.integer({ min: 0, max: 9 }),
        }),
      },
      { weight: 2, arbitrary: fc.record({ do: fc.constant("remove" as const), name: fc.constantFrom("a", "b", "c") }) },
      {
        weight: 3,
        arbitrary: fc.record({
          do: fc.constantFrom(
            "cut" as const,
            "reset" as const,
            "compact" as const,
            "bookmark" as const,
            "forbid" as const,
            "break" as const,
            "pause" as const,
          ),
        }),
      },
    );
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 25 }), async (steps) => {
        const b = await bench({
          backoff: { minMs: 1, maxMs: 4, jitter: 0 },
          parked: { minMs: 1, maxMs: 4, jitter: 0 },
          shortWatchMs: 0,
        });
        const alive = new Set<string>();
        const wrong: string[] = [];
        b.informers.store(Thing).onChange(({ type, object: { metadata } }) => {
          if (alive.has(metadata.uid ?? "") === (type === "added")) wrong.push(`${type} ${metadata.uid}`);
          if (type === "deleted") alive.delete(metadata.uid ?? "");
          else alive.add(metadata.uid ?? "");
        });
        const actions: Record<string, () => void> = {
          cut: () => b.fake.endWatches(),
          reset: () => b.fake.endWatches(true),
          compact: () => b.fake.compact(),
          bookmark: () => b.fake.bookmark(),
          forbid: () => (
            b.fake.fault("list", refuse(403, "Forbidden")),
            b.fake.fault("watch", refuse(403, "Forbidden"))
          ),
          break: () => (
            b.fake.fault("list", refuse(500, "InternalError")),
            b.fake.fault("watch", (response) => (response.destroy(), true))
          ),
          pause: () => (b.fake.fault("list", undefined), b.fake.fault("watch", undefined)),
        };
        for (const each of steps) {
          if (each.do === "put") b.fake.put(each.name, { value: each.value });
          else if (each.do === "remove") b.fake.remove(each.name);
          else actions[each.do]?.();
          await new Promise((resolve) => setImmediate(resolve));
        }
        b.fake.fault("list", undefined);
        b.fake.fault("watch", undefined);
        const shape = (objects: KubeObject[]) =>
          objects.map(({ metadata, spec }) => [metadata.name, metadata.uid, metadata.resourceVersion, spec]).sort();
        const store = b.informers.store(Thing);
        await vi.waitFor(() => expect(store.synced && shape(store.list())).toEqual(shape(b.fake.objects())), {
          timeout: 5_000,
          interval: 2,
        });
        expect(wrong).toEqual([]);
        await b.informers.close();
        await b.client.close();
        await b.fake.close();
        cleanUps.length = 0;
      }),
      { numRuns: 60 },
    );
  }, 60_000);
});
