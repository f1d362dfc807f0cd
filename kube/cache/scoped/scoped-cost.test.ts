// With namespaces watched one by one, the cost of an event does not grow with their number. Counted, not timed.
import pino from "pino";
import { expect, test, vi } from "vitest";
import type { KubeClient, ListOptions, WatchEvent, WatchOptions } from "../../client/client.ts";
import { KubeError } from "../../client/errors.ts";
import type { KubeList, KubeObject } from "../../api/object.ts";
import type { ResourceRef } from "../../api/resource-ref.ts";
import { WritableStore } from "../store.ts";
import { countSteps } from "../../testing/count-steps.ts";
import { createInformers } from "../informers.ts";

const Thing: ResourceRef = { group: "test", version: "v1", kind: "Thing", plural: "things", namespaced: true };
const thing = (namespace: string, version: number): KubeObject => ({
  apiVersion: "test/v1",
  kind: "Thing",
  metadata: { name: "one", namespace, uid: `u-${namespace}`, resourceVersion: String(version) },
});
const FEW = 100;
const MANY = 1000;
/** Ten times the namespaces: ten times the work and a little more, far from a hundred times. */
const LINEAR = (1.3 * MANY) / FEW;

async function life(count: number): Promise<Record<string, number>> {
  const store = new WritableStore<KubeObject>(Thing, { onFault: (error) => expect.fail(String(error)) });
  store.switchToNamespaces();
  const names = Array.from({ length: count }, (_, at) => `n${at}`);
  const feeds = names.map((name) => ({ name, feed: store.namespaceStore(name) }));
  const each = (work: (one: (typeof feeds)[number], at: number) => void): Promise<number> =>
    countSteps(() => {
      for (let at = 0; at < feeds.length; at++) work(feeds[at] as (typeof feeds)[number], at);
    });
  return {
    listed: await each(({ name, feed }, at) => {
      feed.replace([thing(name, at + 1)], String(at + 1));
      feed.setState("watching");
    }),
    changed: await each(({ name, feed }, at) => feed.upsert(thing(name, 10_000 + at))),
    versions: await each(
      ({ name }) => void [store.resourceVersion, store.resourceVersionIn(name), store.byUid("nobody")],
    ),
    parked: await each(({ feed }) => feed.setState("parked", "Forbidden")),
    resumed: await each(({ name, feed }, at) => {
      feed.setState("watching");
      feed.replace([thing(name, 20_000 + at)], String(20_000 + at));
    }),
    forgotten: await each(({ name }) => store.removeNamespace(name, "deleted")),
  };
}

function expectLinear(few: Record<string, number>, many: Record<string, number>): void {
  const ratios = Object.entries(many).map(([what, steps]): [string, number] => [
    what,
    steps / Math.max(1, few[what] ?? 0),
  ]);
  expect(
    ratios.filter(([, ratio]) => ratio > LINEAR),
    JSON.stringify({ few, many }),
  ).toEqual([]);
}

test("listing, changing, parking, resuming or removing a namespace costs the same among a hundred and a thousand", async () => {
  expectLinear(await life(FEW), await life(MANY));
});

/** A server with namespaces, on which Things may be seen in each of them and not everywhere. */
function server(count: number) {
  const namespace = (name: string): KubeObject => ({
    apiVersion: "v1",
    kind: "Namespace",
    metadata: { name, uid: name, labels: { ours: "" }, resourceVersion: "1" },
  });
  const watchers: ((event: WatchEvent) => void)[] = [];
  const client = {
    async *pages({ plural }: ResourceRef, options: ListOptions): AsyncIterable<KubeList<KubeObject>> {
      if (plural === "things" && !options.namespace) throw new KubeError({ code: 403, reason: "Forbidden" });
      const items =
        plural === "things"
          ? [thing(options.namespace ?? "", 1)]
          : Array.from({ length: count }, (_, at) => namespace(`n${at}`));
      yield { metadata: { resourceVersion: "1" }, items } as unknown as KubeList<KubeObject>;
    },
    async *watch({ plural }: ResourceRef, options: WatchOptions): AsyncIterable<WatchEvent> {
      options.onOpen?.();
      while (!options.signal?.aborted) {
        yield await new Promise<WatchEvent>((resolve, reject) => {
          options.signal?.addEventListener("abort", () => reject(new KubeError({ code: 0, reason: "Aborted" })), {
            once: true,
          });
          if (plural === "namespaces") watchers.push(resolve);
        });
      }
    },
    review: async () => ({ status: { allowed: false } }),
  } as unknown as KubeClient;
  const tell = (type: "ADDED" | "DELETED", name: string): void => {
    const { metadata, ...rest } = namespace(name);
    const object = {
      ...rest,
      metadata: {
        ...metadata,
        resourceVersion: "2",
        ...(type === "DELETED" && { deletionTimestamp: "2026-01-01T00:00:00Z" }),
      },
    };
    for (const push of watchers.splice(0)) push({ type, object } as WatchEvent);
  };
  return { client, tell };
}

async function among(count: number): Promise<Record<string, number>> {
  const { client, tell } = server(count);
  const informers = createInformers({
    client,
    log: pino({ level: "silent" }),
    namespaceScope: { labelSelector: "ours" },
  });
  const { store, freshAsOf } = informers.ensure(Thing);
  const seen = (namespaces: number) =>
    vi.waitFor(
      () =>
        expect([store.synced, informers.status().find(({ resource }) => resource === "things.test")]).toMatchObject([
          true,
          { namespaces, notWatching: [] },
        ]),
      { timeout: 10_000, interval: 5 },
    );
  await seen(count);
  const settled = () => new Promise((resolve) => setImmediate(resolve));
  const counts = {
    shown: await countSteps(() => informers.status()),
    heard: await countSteps(() => Array.from({ length: 50 }, () => freshAsOf())),
    came: await countSteps(() => (tell("ADDED", "new"), settled())),
  };
  await seen(count + 1);
  const went = await countSteps(() => (tell("DELETED", "new"), settled()));
  await seen(count);
  await informers.close();
  return { ...counts, went };
}

test("status, freshness, and adding or removing a namespace cost the same among a hundred and a thousand", async () => {
  const [few, many] = [await among(FEW), await among(MANY)];
  for (const what of ["shown", "came", "went"])
    expect([what, (many[what] ?? 0) <= 2 * (few[what] ?? 0)], JSON.stringify({ few, many })).toEqual([what, true]);
  // Fifty reads cost one iteration.
  expect(many["heard"]).toBeLessThan(10 * MANY);
});
