// When a broker is asked for its catalog: once for a generation and its credentials, again with back-off, never twice at once.
import { describe, expect, test, vi } from "vitest";
import type { ServiceBroker } from "../../crds/service-broker/service-broker.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { createBrokerPace } from "../shared/osb/broker-pace.ts";
import { createCatalogs, retryDelayMs, type FetchContext } from "./catalogs.ts";
import type { FetchedCatalog } from "./fetch-catalog.ts";

const broker = (generation = 1): ServiceBroker =>
  ({
    metadata: { uid: "uid", namespace: "cupola-system", name: "mine", generation },
    spec: { name: "mine", url: "https://broker", credentialsSecretRef: { name: "secret" } },
  }) as unknown as ServiceBroker;

const GOOD: FetchedCatalog = { catalog: { services: [] } };
const BAD: FetchedCatalog = { reason: "BrokerFailed", message: "no" };

/** Catalogs, and one that reconciles whenever it is enqueued. */
function start(...answers: FetchedCatalog[]) {
  let password = "one";
  let time = 0;
  const encoded = (text: string): string => Buffer.from(text).toString("base64");
  const secret = () => ({
    metadata: { labels: { "cupola.dev/env": "allowed" } },
    data: { username: encoded("u"), password: encoded(password) },
  });
  const client = { find: () => Promise.resolve(secret()) } as unknown as KubeClient;
  const context: FetchContext = { client, signal: new AbortController().signal, now: () => new Date(time) };
  const fetch = vi.fn(() => Promise.resolve(answers.shift() ?? GOOD));
  const catalogs = createCatalogs(createBrokerPace(4), fetch);
  const enqueue = vi.fn();
  catalogs.start(enqueue);
  return {
    fetch,
    catalogs,
    find: (generation = 1) => catalogs.find(broker(generation), context),
    /** Finds, waits for the broker's answer, finds again. */
    async settle(generation = 1) {
      const before = enqueue.mock.calls.length;
      const found = catalogs.find(broker(generation), context);
      if (found) return found;
      await vi.waitFor(() => expect(enqueue.mock.calls.length).toBeGreaterThan(before));
      return catalogs.find(broker(generation), context);
    },
    setPassword: (text: string) => void (password = text),
    pass: (ms: number) => void (time += ms),
    enqueue,
  };
}

describe("a catalog", () => {
  test("is fetched once, whoever asks", async () => {
    const bench = start();
    expect([bench.find(), bench.find()]).toEqual([undefined, undefined]);
    await vi.waitFor(() => expect(bench.enqueue).toHaveBeenCalledWith({ namespace: "cupola-system", name: "mine" }));
    expect([bench.find()?.outcome.kind, bench.fetch.mock.calls.length]).toEqual(["fetched", 1]);
  });

  test.each([
    ["at a new generation", { generation: 2 }, 2],
    ["not while nothing changes", {}, 1],
    ["not when the credentials are found the same", { ms: 300_000 }, 1],
    ["when the credentials have changed", { ms: 300_000, password: "two" }, 2],
    ["in a new term of the leader", { isNewTerm: true }, 2],
  ])("is fetched again %s", async (_, change: Record<string, unknown>, times) => {
    const bench = start();
    await bench.settle();
    bench.pass((change["ms"] as number | undefined) ?? 0);
    bench.setPassword((change["password"] as string | undefined) ?? "one");
    if (change["isNewTerm"]) bench.catalogs.start(bench.enqueue);
    const found = await bench.settle((change["generation"] as number | undefined) ?? 1);
    expect([found?.outcome.kind, bench.fetch.mock.calls.length]).toEqual(["fetched", times]);
  });

  test("that failed is fetched again later and later, and is well then", async () => {
    const bench = start(BAD, BAD, GOOD);
    expect(await bench.settle()).toEqual({ outcome: { kind: "failed", ...BAD }, againInMs: 10_000 });
    bench.pass(10_000);
    expect(await bench.settle()).toMatchObject({ outcome: { kind: "failed" }, againInMs: 20_000 });
    bench.pass(20_000);
    expect(await bench.settle()).toMatchObject({ outcome: { kind: "fetched" } });
  });
});

test.each([
  [1, 10_000],
  [3, 40_000],
  [50, 600_000],
])("after %s failures the next attempt is in %s ms", (failures, ms) => expect(retryDelayMs(failures)).toBe(ms));
