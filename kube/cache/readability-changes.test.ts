// Readability changes are reported, also when one watch replaces many or many replace one.
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { KubeObject } from "../api/object.ts";
import type { ResourceRef } from "../api/resource-ref.ts";
import { onReadabilityChange } from "./readability-changes.ts";
import { WritableStore } from "./store.ts";

const Thing: ResourceRef = { group: "test", version: "v1", kind: "Thing", plural: "things", namespaced: true };
const newStore = () => new WritableStore<KubeObject>(Thing, { onFault: (error) => expect.fail(String(error)) });

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** Says how often it was countCalls since the last time. */
function follow(store: WritableStore<KubeObject>): () => number {
  const changed = vi.fn();
  onReadabilityChange([store], changed);
  return () => {
    vi.runAllTimers();
    const times = changed.mock.calls.length;
    changed.mockClear();
    return times;
  };
}

/** `seen` is watched, `hole` is refused. */
function halfBlind() {
  const store = newStore();
  store.switchToNamespaces();
  const [seen, hole] = [store.namespaceStore("seen"), store.namespaceStore("hole")];
  seen.replace([], "1");
  seen.setState("watching");
  hole.setState("parked", "Forbidden");
  return { store, hole };
}

test("a namespace parks and resumes", () => {
  const { store, hole } = halfBlind();
  const countCalls = follow(store);
  hole.setState("watching");
  expect(countCalls()).toBe(0);
  hole.replace([], "2");
  expect(countCalls()).toBe(1);
  hole.replace([], "3");
  expect(countCalls()).toBe(0);
  hole.setState("parked", "Forbidden");
  expect(countCalls()).toBe(1);
});

test("a parked namespace that is removed no longer counts", () => {
  const { store } = halfBlind();
  const countCalls = follow(store);
  store.removeNamespace("hole", "deleted");
  expect(countCalls()).toBe(1);
  store.removeNamespace("seen", "deleted");
  expect(countCalls()).toBe(0);
});

test("a namespace is readable again because the cluster-wide watch is", () => {
  const { store } = halfBlind();
  const countCalls = follow(store);
  store.setState("watching");
  store.replace([], "9");
  expect(countCalls()).toBe(1);
  store.setState("parked", "Forbidden");
  expect(countCalls()).toBe(1);
});

test("a store that was unreadable at the start resumes", () => {
  const store = newStore();
  store.setState("parked", "Forbidden");
  const countCalls = follow(store);
  store.setState("watching");
  expect(countCalls()).toBe(0);
  store.replace([], "1");
  expect(countCalls()).toBe(1);
});

test("an unreadable store resumes namespace by namespace", () => {
  const store = newStore();
  store.replace([], "1");
  const countCalls = follow(store);
  store.setState("parked", "NoKind");
  expect(countCalls()).toBe(1);
  store.switchToNamespaces();
  const [seen, hole] = [store.namespaceStore("seen"), store.namespaceStore("hole")];
  hole.setState("parked", "Forbidden");
  expect(countCalls()).toBe(0);
  seen.replace([], "2");
  expect(countCalls()).toBe(1);
  hole.setState("watching");
  hole.replace([], "3");
  expect(countCalls()).toBe(1);
});
