// Indexes between the request that gives them and the event that shows them.
import { expect, test } from "vitest";
import { createSentIndexes } from "./sent-indexes.ts";

const lrp = "dev/shop";

test("an index counts until the cache shows it, and a pod never gets another", () => {
  const sent = createSentIndexes();
  sent.record(lrp, "a", 0);
  sent.record(lrp, "a", 1);
  expect(sent.reconcile(lrp, new Map([["a", true]]))).toEqual([]);
  expect(sent.find(lrp, "a")).toBe(0);
  sent.reconcile(lrp, new Map([["a", false]]));
  expect(sent.find(lrp, "a")).toBeUndefined();
});

test("the index of a pod that is gone is free at once", () => {
  const sent = createSentIndexes();
  sent.record(lrp, "a", 0);
  expect(sent.reconcile(lrp, new Map())).toEqual([]);
  expect(sent.find(lrp, "a")).toBeUndefined();
});

test("an index of the last leader is reserved until the cache holds the pod, a minute at most", () => {
  let now = 0;
  const sent = createSentIndexes(() => now);
  sent.recordUnseen(lrp, "a", 0);
  sent.recordUnseen(lrp, "b", 1);
  expect(sent.reconcile(lrp, new Map([["b", true]]))).toEqual([0]);
  expect(sent.find(lrp, "b")).toBe(1);
  now = 60_000;
  expect(sent.reconcile(lrp, new Map())).toEqual([]);
  expect(sent.find(lrp, "b")).toBeUndefined();
});
