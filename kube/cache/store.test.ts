// Stores: indexes, changes and waiting.
import { describe, expect, it } from "vitest";
import type { KubeObject } from "../api/object.ts";
import { NotInCache } from "./errors.ts";
import type { ResourceRef } from "../api/resource-ref.ts";
import { WritableStore } from "./store.ts";
import { hasReached } from "../api/resource-version.ts";

const Thing: ResourceRef = { group: "test", version: "v1", kind: "Thing", plural: "things", namespaced: true };
let version = 0;
const thing = (name: string, labels: Record<string, string> = {}, uid = `u-${name}`): KubeObject => ({
  apiVersion: "test/v1",
  kind: "Thing",
  metadata: { name, namespace: name.slice(0, 1), uid, labels, resourceVersion: String(++version) },
});
const names = (objects: Iterable<KubeObject>) => [...objects].map(({ metadata }) => metadata.name);

function store(objects: KubeObject[] = []) {
  const faults: unknown[] = [];
  const made = new WritableStore<KubeObject>(Thing, {
    indexes: { tier: ({ metadata }) => metadata.labels?.["tier"]?.split("+") ?? [] },
    freeze: true,
    onFault: (error) => faults.push(error),
  });
  made.replace(objects, String(version));
  return { made, faults };
}

describe("store", () => {
  it("reads by key, uid, namespace, labels and index, also after changes of each", () => {
    const { made } = store([
      thing("a1", { tier: "x+y" }),
      thing("a2", { tier: "y", color: "red" }),
      thing("b1", { color: "red" }),
    ]);
    expect(names(made.byIndex("tier", "y"))).toEqual(["a1", "a2"]);
    expect(names(made.list({ namespace: "a" }))).toEqual(["a1", "a2"]);
    expect(names(made.list({ labels: { color: "red" } }))).toEqual(["a2", "b1"]);
    expect(names(made.list({ namespace: "b", labels: { color: "red" } }))).toEqual(["b1"]);
    made.upsert(thing("a2", { tier: "x", color: "blue" }));
    made.remove(thing("b1"));
    expect(names(made.byIndex("tier", "y"))).toEqual(["a1"]);
    expect(names(made.byIndex("tier", "x"))).toEqual(["a1", "a2"]);
    expect(made.list({ labels: { color: "red" } })).toEqual([]);
    expect(names(made.list({ labels: { color: "blue" } }))).toEqual(["a2"]);
    expect(made.byUid("u-b1")).toBeUndefined();
    expect(() => made.get({ namespace: "b", name: "b1" })).toThrow(NotInCache);
    expect(
      names(
        made.getMany([
          { namespace: "a", name: "a2" },
          { namespace: "b", name: "b1" },
        ]),
      ),
    ).toEqual(["a2"]);
    expect(() => made.byIndex("nope", "x")).toThrow("known: kube/namespace, tier");
  });

  it("emits a recreation as deletion and addition", () => {
    const { made } = store([thing("a")]);
    const seen: string[] = [];
    made.onChange(({ type, object }) => seen.push(`${type} ${object.metadata.uid}`));
    made.upsert(thing("a", {}, "second"));
    expect(seen).toEqual(["deleted u-a", "added second"]);
  });

  it("survives listeners and indexes that throw, and reports them", () => {
    const { made, faults } = store();
    made.addIndex("bad", () => {
      throw new Error("bad index");
    });
    made.onChange(() => {
      throw new Error("bad listener");
    });
    made.upsert(thing("a"));
    expect(names(made.list())).toEqual(["a"]);
    expect(faults.map(String)).toEqual(["Error: bad index", "Error: bad listener"]);
  });

  it("does not wait for a reached version, and resolves all waiters when stopped", async () => {
    const { made } = store([thing("a")]);
    expect(await made.waitForVersion("1", 0)).toBe(true);
    const waiting = made.waitForVersion(String(version + 1000), 60_000);
    made.setState("stopped");
    expect(await waiting).toBe(false);
  });

  it("compares versions as numbers of any length", () => {
    expect(hasReached("10", "9")).toBe(true);
    expect(hasReached("9", "10")).toBe(false);
    expect(hasReached("18446744073709551616", "18446744073709551615")).toBe(true);
    expect(hasReached("", "1")).toBe(false);
    expect(hasReached("1", "abc")).toBe(false);
  });
});
