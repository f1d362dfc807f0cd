// Which namespaces are watched, readable or not, and that the memory of deleted ones is bounded.
import { afterEach, expect, test, vi } from "vitest";
import { Namespace } from "../../api/builtin.ts";
import { MAX_DELETED } from "./labelled-namespaces.ts";
import { createWatchedNamespaces } from "./watched-namespaces.ts";
import type { KubeObject } from "../../api/object.ts";
import type { Store } from "../reader.ts";
import type { ResourceRef } from "../../api/resource-ref.ts";
import { WritableStore } from "../store.ts";

const Thing: ResourceRef = { group: "test", version: "v1", kind: "Thing", plural: "things", namespaced: true };
const namespace = (name: string, more: Partial<KubeObject["metadata"]> = {}): KubeObject => ({
  apiVersion: "v1",
  kind: "Namespace",
  metadata: { name, uid: name, labels: { ours: name.startsWith("no") ? "no" : "yes" }, resourceVersion: "1", ...more },
});

afterEach(() => void vi.useRealTimers());

function begin() {
  const store = new WritableStore<KubeObject>(Namespace as unknown as ResourceRef, {
    onFault: (error) => expect.unreachable(String(error)),
  });
  const look = vi.fn(async (_name: string): Promise<KubeObject | undefined> => undefined);
  const { signal } = new AbortController();
  const namespaces = createWatchedNamespaces(
    { labelSelector: "ours", always: ["base"], canHold: (_ref, labels) => labels?.["ours"] !== "no" },
    { watchLabelled: () => store as Store, findLive: look, signal },
  );
  const notified: (string | undefined)[] = [];
  namespaces.onChange((one) => void notified.push(one));
  return { store, namespaces, notified, look };
}

test("has and listFor agree", () => {
  const { store, namespaces } = begin();
  expect([namespaces.isKnown, namespaces.listFor(Thing), namespaces.has(Thing, "a")]).toEqual([false, ["base"], false]);
  store.replace([namespace("b"), namespace("a"), namespace("nobody")], "1");
  expect([namespaces.isComplete, namespaces.listFor(Thing)]).toEqual([true, ["a", "b", "base"]]);
  for (const name of ["a", "b", "base", "nobody", "c"])
    expect([name, namespaces.has(Thing, name)]).toEqual([name, namespaces.listFor(Thing).includes(name)]);
});

test("notifies with the added or removed namespace, and remembers only the last deleted ones", () => {
  const { store, namespaces, notified } = begin();
  expect(namespaces.isKnown).toBe(false);
  store.replace([], "1");
  store.upsert(namespace("lost"));
  store.remove(namespace("lost"));
  expect(namespaces.removalOf("lost")).toBe("unselected");
  for (let at = 0; at <= MAX_DELETED; at++) {
    store.upsert(namespace(`n${at}`));
    store.remove(namespace(`n${at}`, { deletionTimestamp: "2026-01-01T00:00:00Z" }));
  }
  expect(notified.slice(-2)).toEqual([`n${MAX_DELETED}`, `n${MAX_DELETED}`]);
  expect(["n0", "n1", `n${MAX_DELETED}`].map((name) => namespaces.removalOf(name))).toEqual([
    "unselected",
    "deleted",
    "deleted",
  ]);
});

test("unreadable namespaces keep their state, and others are unknown", () => {
  const { store, namespaces } = begin();
  expect(namespaces.removalOf("a")).toBe("unknown");
  store.replace([namespace("a")], "1");
  store.setState("parked", "Forbidden");
  expect([
    namespaces.isComplete,
    namespaces.listFor(Thing),
    namespaces.has(Thing, "a"),
    namespaces.removalOf("b"),
  ]).toEqual([false, ["a", "base"], true, "unknown"]);
});

test.each<[what: string, KubeObject | undefined, farewell: string]>([
  ["does not exist", undefined, "deleted"],
  ["was recreated", namespace("a", { uid: "other" }), "deleted"],
  ["is being deleted", namespace("a", { deletionTimestamp: "2026-01-01T00:00:00Z" }), "deleted"],
  ["lost only the label", namespace("a"), "unselected"],
])("a namespace missing from a list stays watched until its lookup: it %s", async (_what, found, farewell) => {
  const { store, namespaces, notified, look } = begin();
  namespaces.listFor(Thing);
  store.replace([namespace("a"), namespace("b")], "1");
  store.setState("parked", "Forbidden");
  look.mockResolvedValue(found);
  notified.length = 0;
  store.setState("watching");
  store.replace([namespace("b")], "2");
  expect(namespaces.listFor(Thing)).toEqual(["a", "b", "base"]);
  await vi.waitFor(() => expect(notified.at(-1)).toBe("a"));
  expect([namespaces.listFor(Thing), namespaces.removalOf("a"), look.mock.calls.map(([name]) => name)]).toEqual([
    ["b", "base"],
    farewell,
    ["a"],
  ]);
});

test("first used while Namespaces are unreadable: watched once readable, and a namespace deleted meanwhile is looked up", async () => {
  const { store, namespaces, notified } = begin();
  store.replace([namespace("a"), namespace("b")], "1");
  store.setState("parked", "Forbidden");
  expect([namespaces.isKnown, namespaces.isComplete, namespaces.listFor(Thing)]).toEqual([true, false, ["base"]]);
  store.replace([namespace("b")], "1");
  store.setState("watching");
  expect([namespaces.isComplete, namespaces.listFor(Thing), namespaces.has(Thing, "b")]).toEqual([
    true,
    ["b", "base"],
    true,
  ]);
  await vi.waitFor(() => expect(notified.at(-1)).toBe("a"));
  expect(namespaces.removalOf("a")).toBe("deleted");
});

test("a failed lookup is retried, and ends when the namespace reappears", async () => {
  vi.useFakeTimers();
  const { store, namespaces, look } = begin();
  namespaces.listFor(Thing);
  store.replace([namespace("a"), namespace("b")], "1");
  look.mockRejectedValue(new Error("nobody answers"));
  store.replace([], "2");
  await vi.advanceTimersByTimeAsync(10_000);
  expect(look.mock.calls.length).toBeGreaterThan(1);
  expect(namespaces.listFor(Thing)).toEqual(["a", "b", "base"]);
  store.upsert(namespace("a"));
  look.mockReset();
  await vi.advanceTimersByTimeAsync(120_000);
  expect([namespaces.listFor(Thing), look.mock.calls.map(([name]) => name)]).toEqual([["a", "base"], ["b"]]);
  // Recreated within one list: it was never missing.
  store.replace([namespace("a", { uid: "anew" })], "3");
  await vi.advanceTimersByTimeAsync(120_000);
  expect([namespaces.listFor(Thing), look.mock.calls.length]).toEqual([["a", "base"], 1]);
});
