// A store of namespaces watched one by one: unreadable namespaces throw, and evicted objects are not deleted.
import { describe, expect, it } from "vitest";
import type { KubeObject } from "../../api/object.ts";
import { NotPermitted, NotSynced } from "../errors.ts";
import type { ResourceRef } from "../../api/resource-ref.ts";
import { WritableStore } from "../store.ts";
import { parseEqualitySelector, StoreView } from "../filtered-store.ts";

const Thing: ResourceRef = { group: "test", version: "v1", kind: "Thing", plural: "things", namespaced: true };
let version = 0;
const thing = (namespace: string, name: string, labels: Record<string, string> = {}): KubeObject => ({
  apiVersion: "test/v1",
  kind: "Thing",
  metadata: { name, namespace, uid: `u-${namespace}-${name}`, labels, resourceVersion: String(++version) },
});
const names = (objects: Iterable<KubeObject>) => [...objects].map(({ metadata }) => metadata.name);
const newStore = () => {
  const store = new WritableStore<KubeObject>(Thing, {
    indexes: { colour: ({ metadata }) => [metadata.labels?.["colour"] ?? ""] },
    onFault: (error) => expect.fail(String(error)),
  });
  const changes: string[] = [];
  store.onChange(
    (change) =>
      void changes.push(
        `${change.type} ${change.object.metadata.name}${change.type !== "added" && change.evicted ? " evicted" : ""}`,
      ),
  );
  return { store, changes };
};

/** `a` is seen, `b` is not any more. */
const partlyParked = () => {
  const { store, changes } = newStore();
  store.switchToNamespaces();
  const [a, b] = [store.namespaceStore("a"), store.namespaceStore("b")];
  expect(() => store.list()).toThrow(NotSynced);
  a.replace([thing("a", "one", { colour: "red" })], "5");
  expect(store.synced).toBe(false);
  b.replace([thing("b", "two", { colour: "blue" }), thing("b", "three", { colour: "blue" })], "6");
  expect(store.synced).toBe(true);
  for (const feed of [a, b]) feed.setState("watching");
  b.setState("parked", "Forbidden");
  changes.length = 0;
  return { store, changes, a, b };
};

describe("a scoped store", () => {
  it("reads readable namespaces and throws for others", () => {
    const { store } = partlyParked();
    expect(names(store.list({ namespace: "a" }))).toEqual(["one"]);
    expect(store.parkedNamespaces).toEqual(["b"]);
    for (const read of [
      () => store.list({ namespace: "b" }),
      () => store.find({ namespace: "b", name: "two" }),
      () => store.list(),
      () => store.byUid("u-b-two"),
      () => store.byIndex("colour", "blue"),
      () => store.byIndex("colour", "red", "b"),
    ]) {
      expect(read).toThrow(NotPermitted);
    }
    expect(names(store.list({ partial: true }))).toEqual(["one"]);
    expect(names(store.byIndex("colour", "red"))).toEqual(["one"]);
    expect(store.byUid("u-nobody")).toBeUndefined();
    expect(store.byIndex("colour", "green")).toEqual([]);
    // An unknown namespace may be new.
    expect(() => store.find({ namespace: "c", name: "x" })).toThrow(NotSynced);
  });

  it("throws for a label of a tombstone, even for a partial list", () => {
    const { store, b } = partlyParked();
    b.setState("watching");
    b.replace([thing("b", "two", { owner: "x" })], "9");
    expect(names(store.list({ labels: { owner: "x" }, partial: true }))).toEqual(["two"]);
    b.setState("parked", "Forbidden");
    expect(() => store.list({ labels: { owner: "x" }, partial: true })).toThrow(NotPermitted);
    expect(store.list({ labels: { owner: "y" }, partial: true })).toEqual([]);
  });

  it("is not synced while a permitted namespace is being listed", () => {
    const { store } = partlyParked();
    store.namespaceStore("c");
    expect(() => store.byIndex("colour", "green")).toThrow(NotSynced);
    expect(() => store.byUid("u-nobody")).toThrow(NotSynced);
    expect(store.synced).toBe(true);
  });

  it("emits only real changes after a parking, with tombstones as old objects", () => {
    const { store, changes, b } = partlyParked();
    expect(changes).toEqual([]);
    const deleted: KubeObject[] = [];
    store.onChange((change) => void (change.type === "deleted" && deleted.push(change.object)));
    b.setState("watching");
    b.replace([thing("b", "two"), thing("b", "four")], "9");
    expect(changes.sort()).toEqual(["added four", "deleted three evicted", "modified two evicted"]);
    expect(deleted[0]).toEqual({
      apiVersion: "test/v1",
      kind: "Thing",
      metadata: { name: "three", namespace: "b", uid: "u-b-three", resourceVersion: expect.any(String) },
    });
    expect(store.parkedNamespaces).toEqual([]);
  });

  it("drops an unselected namespace without events and emits deletions of a deleted one", () => {
    const { store, changes } = partlyParked();
    store.removeNamespace("a", "unselected");
    expect(changes).toEqual([]);
    store.removeNamespace("b", "deleted");
    expect(changes.sort()).toEqual(["deleted three evicted", "deleted two evicted"]);
  });

  it("keeps tombstones of a namespace in an unknown state", () => {
    const { store, changes } = partlyParked();
    store.removeNamespace("a", "unknown");
    expect(() => store.byUid("u-a-one")).toThrow(NotPermitted);
    store.namespaceStore("a").replace([], "20");
    expect(changes).toEqual(["deleted one evicted"]);
  });

  it("waits for a version of one namespace", async () => {
    const { store, a } = partlyParked();
    expect(await store.waitForVersion("100", 10, "a")).toBe(false);
    a.observeVersion("100");
    expect(await store.waitForVersion("100", 10, "a")).toBe(true);
    expect(await store.waitForVersion("1", 10, "b")).toBe(false);
  });

  it("switches back with a cluster-wide list, which disables the namespaces' writers", () => {
    const { store, changes, a } = partlyParked();
    store.replace([thing("a", "one"), thing("b", "two")], "50");
    store.setState("watching");
    expect(names(store.list())).toEqual(["one", "two"]);
    expect(changes.sort()).toEqual(["deleted three evicted", "modified one", "modified two evicted"]);
    a.upsert(thing("a", "late"));
    expect(store.size).toBe(2);
  });

  it("is synced and empty when no namespace can hold objects", () => {
    const { store } = newStore();
    store.switchToNamespaces();
    expect(store.synced).toBe(false);
    store.markNamespacesComplete();
    expect(store.list()).toEqual([]);
  });
});

describe("a view", () => {
  it("shows only its namespace", () => {
    const { store, a } = partlyParked();
    const [seen, blind] = ["a", "b"].map((namespace) => new StoreView(store, { namespace }));
    expect([seen?.synced, blind?.synced]).toEqual([true, false]);
    expect(names(seen?.list() ?? [])).toEqual(["one"]);
    expect(() => blind?.list()).toThrow(NotPermitted);
    expect(() => blind?.byIndex("colour", "green")).toThrow(NotPermitted);
    const changes: string[] = [];
    seen?.onChange(({ type, object }) => void changes.push(`${type} ${object.metadata.name}`));
    a.remove(thing("a", "one"));
    expect(changes).toEqual(["deleted one"]);
  });

  it.each([
    ["a=b", [["a", "b"]]],
    [
      "x.y/a==b, c",
      [
        ["x.y/a", "b"],
        ["c", undefined],
      ],
    ],
    ["a!=b", undefined],
    ["a in (b)", undefined],
    ["!a", undefined],
    ["a=b,a=c", undefined],
  ])("parses %s or returns undefined", (selector, labels) =>
    expect(parseEqualitySelector(selector)).toEqual(labels && new Map(labels as [string, string | undefined][])),
  );
});
