// When a broker is asked for its catalog: once for a generation and its credentials, again with back-off, never twice at once.
import { describe, expect, test, vi } from "vitest";
import type { ServiceBroker } from "../../crds/service-broker/service-broker.ts";
import type { Reader } from "../../kube/cache/reader.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { createBrokerPace, toPacedBroker } from "../shared/osb/broker-pace.ts";
import { createCatalogs, retryDelayMs, type FetchContext } from "./catalogs.ts";
import type { FetchedCatalog } from "./fetch-catalog.ts";

const broker = (generation = 1, status: object = {}): ServiceBroker =>
  ({
    metadata: { uid: "uid", namespace: "cupola-system", name: "mine", generation },
    spec: { name: "mine", url: "https://broker", credentialsSecretRef: { name: "secret" } },
    status,
  }) as unknown as ServiceBroker;

const GOOD: FetchedCatalog = { catalog: { services: [] } };
const BAD = { reason: "BrokerFailed", message: "no" };

/** Catalogs, and one that reconciles whenever it is enqueued. */
function start(...answers: FetchedCatalog[]) {
  let isWhole = true;
  let status: object = {};
  let password = "one";
  let time = 0;
  const encoded = (text: string): string => Buffer.from(text).toString("base64");
  const secret = () => ({
    metadata: { labels: { "cupola.dev/env": "allowed" } },
    data: { username: encoded("u"), password: encoded(password) },
  });
  const client = { find: () => Promise.resolve(secret()) } as unknown as KubeClient;
  const read = { find: () => undefined } as unknown as Reader;
  const context: FetchContext = { client, read, signal: new AbortController().signal, now: () => new Date(time) };
  const fetch = vi.fn(() => Promise.resolve(answers.shift() ?? GOOD));
  const catalogs = createCatalogs(createBrokerPace(), fetch);
  const enqueue = vi.fn();
  catalogs.start(enqueue);
  return {
    fetch,
    catalogs,
    context,
    find: (generation = 1) => catalogs.find(broker(generation, status), context, () => isWhole),
    /** Finds, waits for the broker's answer, finds again. */
    async settle(generation = 1) {
      const before = enqueue.mock.calls.length;
      const found = this.find(generation);
      if (found.outcome) return found;
      await vi.waitFor(() => expect(enqueue.mock.calls.length).toBeGreaterThan(before));
      return this.find(generation);
    },
    setPassword: (text: string) => void (password = text),
    pass: (ms: number) => void (time += ms),
    /** The next leader's term. */
    startTerm(left: object, whole = true) {
      [status, isWhole] = [left, whole];
      catalogs.start(enqueue);
    },
    setWhole: (whole: boolean) => void (isWhole = whole),
    enqueue,
  };
}

describe("a catalog", () => {
  test("is fetched once, whoever asks", async () => {
    const bench = start();
    expect([bench.find(), bench.find()]).toEqual([{}, {}]);
    await vi.waitFor(() => expect(bench.enqueue).toHaveBeenCalledWith({ namespace: "cupola-system", name: "mine" }));
    expect([bench.find().outcome?.kind, bench.fetch.mock.calls.length]).toEqual(["fetched", 1]);
  });

  test.each([
    ["at a new generation", { generation: 2 }, 2],
    ["not while nothing changes", {}, 1],
    ["not when the credentials are found the same", { ms: 300_000 }, 1],
    ["when the credentials have changed", { ms: 300_000, password: "two" }, 2],
    ["in a new term of the leader, when the status says nothing", { isNewTerm: true }, 2],
  ])("is fetched again %s", async (_, change: Record<string, unknown>, times) => {
    const bench = start();
    await bench.settle();
    bench.pass((change["ms"] as number | undefined) ?? 0);
    bench.setPassword((change["password"] as string | undefined) ?? "one");
    if (change["isNewTerm"]) bench.catalogs.start(bench.enqueue);
    const found = await bench.settle((change["generation"] as number | undefined) ?? 1);
    expect([found.outcome?.kind, bench.fetch.mock.calls.length]).toEqual(["fetched", times]);
  });

  test("that failed is fetched again later and later, and is well then", async () => {
    const bench = start(BAD, BAD, GOOD);
    expect(await bench.settle()).toMatchObject({
      outcome: { kind: "failed", ...BAD },
      againInMs: 10_000,
      failures: { count: 1, at: new Date(0) },
    });
    bench.pass(10_000);
    expect(await bench.settle()).toMatchObject({ outcome: { kind: "failed" }, againInMs: 20_000 });
    bench.pass(20_000);
    expect(await bench.settle()).toMatchObject({ outcome: { kind: "fetched" } });
  });
});

describe("in a new term of the leader", () => {
  const ready = (status: string, more: object = {}) => ({
    conditions: [{ type: "Ready", status, observedGeneration: 1, ...BAD, ...more }],
  });

  test("a catalog that is all there is not fetched, until something of it is missing", async () => {
    const bench = start();
    bench.startTerm(ready("True"));
    bench.pass(300_000);
    expect((await bench.settle()).outcome?.kind).toBe("kept");
    bench.pass(300_000);
    expect((await bench.settle()).outcome?.kind).toBe("kept");
    expect(bench.fetch).not.toHaveBeenCalled();
    bench.setWhole(false);
    expect((await bench.settle()).outcome?.kind).toBe("fetched");
  });

  test("a kept catalog is fetched when the credentials change", async () => {
    const bench = start();
    bench.startTerm(ready("True"));
    bench.pass(300_000);
    await bench.settle();
    bench.setPassword("two");
    bench.pass(300_000);
    expect((await bench.settle()).outcome?.kind).toBe("fetched");
  });

  test("a refused catalog is asked for when its back-off is over, and later each time", async () => {
    const bench = start(BAD);
    const failed = { ...ready("False"), fetchFailures: 3, fetchFailedAt: new Date(0).toISOString() };
    bench.startTerm(failed);
    bench.pass(39_000);
    expect(bench.find()).toMatchObject({ outcome: { kind: "failed", ...BAD }, againInMs: 1_000 });
    bench.pass(1_000);
    expect(await bench.settle()).toMatchObject({ againInMs: 80_000, failures: { count: 4 } });
  });

  test.each([
    ["of another generation", { observedGeneration: 2 }],
    ["of another thing than the catalog", { reason: "NameTaken" }],
  ])("a failure %s is none of this catalog's", async (_, more) => {
    const bench = start();
    const failed = { ...ready("False", more), fetchFailures: 3, fetchFailedAt: new Date(0).toISOString() };
    bench.startTerm(failed);
    expect((await bench.settle()).outcome?.kind).toBe("fetched");
  });
});

test("222 silent brokers of one space let another's be fetched at once", async () => {
  const enqueue = vi.fn();
  const never = new Promise<FetchedCatalog>(() => undefined);
  const fetch = ({ url }: { url: string }): Promise<FetchedCatalog> =>
    url === "https://silent" ? never : Promise.resolve(GOOD);
  const encoded = Buffer.from("x").toString("base64");
  const secret = {
    metadata: { labels: { "cupola.dev/env": "allowed" } },
    data: { username: encoded, password: encoded },
  };
  const context = {
    client: { find: () => Promise.resolve(secret) },
    read: { find: () => undefined, list: () => [] },
    signal: new AbortController().signal,
    now: () => new Date(0),
  } as unknown as FetchContext;
  const catalogs = createCatalogs(createBrokerPace(), fetch);
  catalogs.start(enqueue);
  const brokerIn = (namespace: string, name: string, url: string): ServiceBroker =>
    ({
      metadata: { uid: `${namespace}/${name}`, namespace, name, generation: 1 },
      spec: { name, url, credentialsSecretRef: { name: "secret" } },
    }) as unknown as ServiceBroker;
  const find = (one: ServiceBroker) => catalogs.find(one, context, () => false);
  const found = Array.from({ length: 222 }, (_, at) => find(brokerIn("evil-dev", `b${at}`, "https://silent")));
  expect(found.filter(({ againInMs }) => againInMs === undefined)).toHaveLength(4);
  const healthy = [brokerIn("acme-dev", "good", "https://good"), brokerIn("cupola-system", "good", "https://good")];
  for (const one of healthy) expect(find(one)).toEqual({});
  await vi.waitFor(() => expect(healthy.map((one) => find(one).outcome?.kind)).toEqual(["fetched", "fetched"]));
});

test.each([
  [1, 10_000],
  [3, 40_000],
  [50, 600_000],
])("after %s failures the next attempt is in %s ms", (failures, ms) => expect(retryDelayMs(failures)).toBe(ms));

test("a broker that has its share of requests about instances is asked for its catalog afterwards", async () => {
  const pace = createBrokerPace({ broker: 1, space: 1, pool: 4 });
  const fetch = vi.fn(() => Promise.resolve(GOOD));
  const catalogs = createCatalogs(pace, fetch);
  const { context, enqueue } = start();
  catalogs.start(enqueue);
  const giveBack = pace.take(toPacedBroker(broker(), context.read));
  expect(catalogs.find(broker(), context, () => true)).toEqual({ againInMs: 1000 });
  expect(fetch).not.toHaveBeenCalled();
  giveBack?.();
  expect(catalogs.find(broker(), context, () => true)).toEqual({});
  await vi.waitFor(() => expect(fetch).toHaveBeenCalledTimes(1));
});
