// Reads by key are verified by one live read each, so that a stale cache is detected before a write.
import { expect, test, vi } from "vitest";
import type { KubeClient } from "../client/client.ts";
import { createReadSet } from "./recorded-reads.ts";
import type { KubeObject, ObjectKey } from "../api/object.ts";
import type { Reader } from "../cache/reader.ts";
import { NotSynced } from "../cache/errors.ts";
import type { ResourceRef } from "../api/resource-ref.ts";

const Thing: ResourceRef = { group: "example.org", version: "v1", kind: "Thing", plural: "things", namespaced: true };
const key = { namespace: "one", name: "a" };
const thing = (resourceVersion: string): KubeObject => ({
  apiVersion: "example.org/v1",
  kind: "Thing",
  metadata: { ...key, resourceVersion },
});

function inputs(cached: KubeObject | undefined, live: KubeObject | undefined) {
  const find = vi.fn(async () => live);
  const recorded = createReadSet(
    { find: (_ref: ResourceRef, _key: ObjectKey) => cached } as unknown as Reader,
    { find } as unknown as KubeClient,
  );
  return { ...recorded, find };
}

test("unchanged objects verify, with one read each", async () => {
  const { read, verify, find } = inputs(thing("1"), thing("1"));
  read.find(Thing, key);
  read.find(Thing, key);
  await verify();
  await verify();
  expect(find).toHaveBeenCalledTimes(1);
});

test.each([
  ["has changed", thing("1"), thing("2")],
  ["is gone", thing("1"), undefined],
  ["has appeared", undefined, thing("1")],
])("an object that %s does not verify", async (_what, cached, live) => {
  const { read, verify } = inputs(cached, live);
  read.find(Thing, key);
  await expect(verify()).rejects.toBeInstanceOf(NotSynced);
});

test("an object that the cache would not hold counts as absent", async () => {
  const verifyOf = (live: KubeObject): Promise<void> => {
    const reader = { find: () => undefined } as unknown as Reader;
    const client = { find: () => Promise.resolve(live) } as unknown as KubeClient;
    const { read, verify } = createReadSet(reader, client, (_ref, { metadata }) => metadata.labels?.["mine"] === "yes");
    read.find(Thing, key);
    return verify();
  };
  await verifyOf(thing("1"));
  const mine = { ...thing("1"), metadata: { ...thing("1").metadata, labels: { mine: "yes" } } };
  await expect(verifyOf(mine)).rejects.toBeInstanceOf(NotSynced);
});

test("an object that we have written since verifies", async () => {
  const { read, add, verify } = inputs(thing("1"), thing("2"));
  read.find(Thing, key);
  add(Thing, thing("2"));
  await verify();
});

test("nothing is read from the server before verify", () => {
  const { read, find } = inputs(thing("1"), thing("1"));
  read.find(Thing, key);
  expect(find).not.toHaveBeenCalled();
});

test("live reads have a deadline and bounded concurrency", async () => {
  let open = 0;
  let most = 0;
  const deadlines: number[] = [];
  const find = async (_ref: unknown, _key: unknown, { deadlineMs }: { deadlineMs: number }) => {
    deadlines.push(deadlineMs);
    most = Math.max(most, ++open);
    await Promise.resolve();
    open--;
    return undefined;
  };
  const { read, verify } = createReadSet(
    { find: () => undefined } as unknown as Reader,
    { find } as unknown as KubeClient,
  );
  for (let at = 0; at < 100; at++) read.find(Thing, { namespace: "one", name: `n${at}` });
  await verify();
  expect(deadlines).toHaveLength(100);
  expect(Math.max(...deadlines)).toBeLessThanOrEqual(10_000);
  expect(most).toBeLessThanOrEqual(8);
});
