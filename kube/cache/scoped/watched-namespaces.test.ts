// Which namespaces are ours, asked one by one or all at once, seen or unseen; and that those which went are not remembered for ever.
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
  const told: (string | undefined)[] = [];
  namespaces.onChange((one) => void told.push(one));
  return { store, namespaces, told, look };
}

test("says of one namespace what it says of all", () => {
  const { store, namespaces } = begin();
  expect([namespaces.isKnown, namespaces.listFor(Thing), namespaces.has(Thing, "a")]).toEqual([false, ["base"], false]);
  store.replace([namespace("b"), namespace("a"), namespace("nobody")], "1");
  expect([namespaces.isComplete, namespaces.listFor(Thing)]).toEqual([true, ["a", "b", "base"]]);
  for (const name of ["a", "b", "base", "nobody", "c"])
    expect([name, namespaces.has(Thing, name)]).toEqual([name, namespaces.listFor(Thing).includes(name)]);
});

test("tells which one came or went, and remembers of those that went the last only", () => {
  const { store, namespaces, told } = begin();
  expect(namespaces.isKnown).toBe(false);
  store.replace([], "1");
  store.upsert(namespace("lost"));
  store.remove(namespace("lost"));
  expect(namespaces.removalOf("lost")).toBe("unselected");
  for (let at = 0; at <= MAX_DELETED; at++) {
    store.upsert(namespace(`n${at}`));
    store.remove(namespace(`n${at}`, { deletionTimestamp: "2026-01-01T00:00:00Z" }));
  }
  expect(told.slice(-2)).toEqual([`n${MAX_DELETED}`, `n${MAX_DELETED}`]);
  expect(["n0", "n1", `n${MAX_DELETED}`].map((name) => namespaces.removalOf(name))).toEqual([
    "unselected",
    "deleted",
    "deleted",
  ]);
});

test("those that are unseen stay what they were, and of any other one nothing is known", () => {
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
  ["is not there any more", undefined, "deleted"],
  ["is another one by now", namespace("a", { uid: "other" }), "deleted"],
  ["is being deleted", namespace("a", { deletionTimestamp: "2026-01-01T00:00:00Z" }), "deleted"],
  ["has lost the label only", namespace("a"), "unselected"],
])("one that a list does not name any more is ours until it was asked for: it %s", async (_what, found, farewell) => {
  const { store, namespaces, told, look } = begin();
  namespaces.listFor(Thing);
  store.replace([namespace("a"), namespace("b")], "1");
  store.setState("parked", "Forbidden");
  look.mockResolvedValue(found);
  told.length = 0;
  store.setState("watching");
  store.replace([namespace("b")], "2");
  expect(namespaces.listFor(Thing)).toEqual(["a", "b", "base"]);
  await vi.waitFor(() => expect(told.at(-1)).toBe("a"));
  expect([namespaces.listFor(Thing), namespaces.removalOf("a"), look.mock.calls.map(([name]) => name)]).toEqual([
    ["b", "base"],
    farewell,
    ["a"],
  ]);
});

test("first asked for while none can be seen: they are ours as soon as they can, and one that went meanwhile is asked for", async () => {
  const { store, namespaces, told } = begin();
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
  await vi.waitFor(() => expect(told.at(-1)).toBe("a"));
  expect(namespaces.removalOf("a")).toBe("deleted");
});

test("nobody answers: it is asked for again; it comes back: it is not asked for any more", async () => {
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
  // Made anew within one list: it has never been missing.
  store.replace([namespace("a", { uid: "anew" })], "3");
  await vi.advanceTimersByTimeAsync(120_000);
  expect([namespaces.listFor(Thing), look.mock.calls.length]).toEqual([["a", "base"], 1]);
});
