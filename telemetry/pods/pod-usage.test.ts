// Usage from metrics.k8s.io: one list for a space, remembered, never an error, and absent where nothing measures.
import { expect, test } from "vitest";
import type { KubeClient } from "../../kube/client/client.ts";
import { LABELS } from "../../crds/labels.ts";
import { createPodUsageReader } from "./pod-usage.ts";

const key = { namespace: "acme-dev", name: "shop-web-1" };

function metrics(name: string, index: string, usage: [cpu: string, memory: string][]): object {
  return {
    metadata: { name: `${name}-${index}`, labels: { [LABELS.lrp]: name, [LABELS.instanceIndex]: index } },
    timestamp: "2026-11-21T04:00:00Z",
    containers: usage.map(([cpu, memory], at) => ({ name: String(at), usage: { cpu, memory } })),
  };
}

function reader(answer: () => Promise<object[]>) {
  const state = { time: 1_000_000, lists: 0 };
  const client = {
    list: async () => {
      state.lists++;
      return { items: await answer() };
    },
  } as unknown as Pick<KubeClient, "list">;
  return { state, read: createPodUsageReader({ client, now: () => new Date(state.time) }) };
}

test("sums the containers of each instance of this LRP", async () => {
  const { read } = reader(() =>
    Promise.resolve([
      metrics("shop-web-1", "0", [
        ["1500000n", "20Mi"],
        ["2m", "512Ki"],
      ]),
      metrics("shop-web-1", "1", [["1", "1000"]]),
      metrics("other", "0", [["1", "1"]]),
    ]),
  );
  const usage = await read(key);
  expect([...usage.keys()]).toEqual([0, 1]);
  expect(usage.get(0)?.cpu).toBeCloseTo(0.0035, 6);
  expect(usage.get(0)?.mem).toBe(20.5 * 2 ** 20);
  expect(usage.get(1)).toEqual({ time: "2026-11-21T04:00:00Z", cpu: 1, mem: 1000 });
});

test("asks once for a space in 15 seconds, and then answers with the old list while the new one is under way", async () => {
  let answer = Promise.resolve([metrics("shop-web-1", "0", [["1", "1"]])]);
  const { state, read } = reader(() => answer);
  await Promise.all([read(key), read(key), read({ ...key, name: "other" })]);
  state.time += 14_999;
  await read(key);
  expect(state.lists).toBe(1);
  state.time += 1;
  answer = new Promise(() => undefined);
  expect((await read(key)).get(0)?.cpu).toBe(1);
  expect(state.lists).toBe(2);
});

test("a list of more than a minute ago is not shown", async () => {
  let fails = false;
  const { state, read } = reader(() =>
    fails ? Promise.reject(new Error("gone")) : Promise.resolve([metrics("shop-web-1", "0", [["1", "1"]])]),
  );
  expect((await read(key)).size).toBe(1);
  fails = true;
  state.time += 60_000;
  expect((await read(key)).size).toBe(0);
});

test("without a metrics API it is empty, and is asked again after half a minute", async () => {
  const { state, read } = reader(() => Promise.reject(new Error("404")));
  expect((await read(key)).size).toBe(0);
  state.time += 29_999;
  await read(key);
  expect(state.lists).toBe(1);
  state.time += 1;
  await read(key);
  expect(state.lists).toBe(2);
});

test("a quantity that is none counts as 0", async () => {
  const { read } = reader(() => Promise.resolve([metrics("shop-web-1", "0", [["none", "none"]])]));
  expect((await read(key)).get(0)).toMatchObject({ cpu: 0, mem: 0 });
});
