// Which namespaces are ours, asked one by one or all at once; and that those which went are not remembered for ever.
import { expect, test } from "vitest";
import { Namespace } from "./builtin.ts";
import { createNamespaces, GONE } from "./namespaces.ts";
import type { KubeObject } from "./object.ts";
import type { Store } from "./reader.ts";
import type { ResourceRef } from "./resource-ref.ts";
import { FedStore } from "./store.ts";

const Thing: ResourceRef = { group: "test", version: "v1", kind: "Thing", plural: "things", namespaced: true };
const namespace = (name: string, more: Partial<KubeObject["metadata"]> = {}): KubeObject => ({ apiVersion: "v1", kind: "Namespace", metadata: { name, uid: name, labels: { ours: name.startsWith("no") ? "no" : "yes" }, resourceVersion: "1", ...more } });

function begin() {
  const store = new FedStore<KubeObject>(Namespace as unknown as ResourceRef, { onFault: (error) => expect.unreachable(String(error)) });
  const namespaces = createNamespaces({ labelSelector: "ours", always: ["base"], holds: (_ref, labels) => labels?.["ours"] !== "no" }, () => store as Store);
  const told: (string | undefined)[] = [];
  namespaces.onChange((one) => void told.push(one));
  return { store, namespaces, told };
}

test("says of one namespace what it says of all", () => {
  const { store, namespaces } = begin();
  expect([namespaces.known, namespaces.of(Thing), namespaces.holds(Thing, "a")]).toEqual([false, ["base"], false]);
  store.replace([namespace("b"), namespace("a"), namespace("nobody")], "1");
  expect([namespaces.complete, namespaces.of(Thing)]).toEqual([true, ["a", "b", "base"]]);
  for (const name of ["a", "b", "base", "nobody", "c"]) expect([name, namespaces.holds(Thing, name)]).toEqual([name, namespaces.of(Thing).includes(name)]);
});

test("tells which one came or went, and remembers of those that went the last only", () => {
  const { store, namespaces, told } = begin();
  expect(namespaces.known).toBe(false);
  store.replace([], "1");
  store.upsert(namespace("lost"));
  store.remove(namespace("lost"));
  expect(namespaces.isGone("lost")).toBe(false);
  for (let at = 0; at <= GONE; at++) {
    store.upsert(namespace(`n${at}`));
    store.remove(namespace(`n${at}`, { deletionTimestamp: "2026-01-01T00:00:00Z" }));
  }
  expect(told.slice(-2)).toEqual([`n${GONE}`, `n${GONE}`]);
  expect([namespaces.isGone("n0"), namespaces.isGone("n1"), namespaces.isGone(`n${GONE}`)]).toEqual([false, true, true]);
});
