// The read barrier with one watch per namespace: a list in progress in another namespace neither fails nor delays a wait.
import { describe, expect, test } from "vitest";
import type { KubeObject } from "../../kube/api/object.ts";
import type { ResourceRef } from "../../kube/api/resource-ref.ts";
import { WritableStore } from "../../kube/cache/store.ts";
import { createReadBarrier, type WriteMark } from "./read-barrier.ts";

const ref: ResourceRef = { group: "example.org", version: "v1", kind: "Thing", plural: "things", namespaced: true };
const thing: KubeObject = {
  apiVersion: "example.org/v1",
  kind: "Thing",
  metadata: { name: "x", namespace: "a", uid: "x", resourceVersion: "101" },
};
const gone: WriteMark = { resource: "things.example.org", namespace: "a", version: "101", gone: "x" };

/** A store with two namespaces, of which `a` is synced and has the object. */
function halfListed() {
  const store = new WritableStore<KubeObject>(ref, { onFault: (error) => expect.fail(String(error)) });
  store.switchToNamespaces();
  const [a, b] = [store.namespaceStore("a"), store.namespaceStore("b")];
  a.replace([thing], "101");
  const time = { now: 0 };
  const floors = createReadBarrier({ findStore: () => store, relist: () => Promise.resolve() }, () => time.now);
  return { store, a, b, floors, time };
}

describe("a deletion, while another namespace of its kind is being listed", () => {
  test.each([
    ["for the first time", () => undefined],
    [
      "since it is new",
      ({ store, b }: ReturnType<typeof halfListed>) => (b.replace([], "100"), store.namespaceStore("c")),
    ],
  ])("%s, is waited for as ever", async (_when, before) => {
    const all = halfListed();
    before(all);
    const { a, b, floors, time, store } = all;
    const taken = floors.addAndWait([gone], 10);
    time.now = 300;
    expect(floors.lagMs()).toBe(300);
    expect(await taken).toBe(false);
    a.remove({ ...thing, metadata: { ...thing.metadata, resourceVersion: "102" } });
    if (!store.synced) b.replace([], "102");
    expect(floors.wait(0)).toBeUndefined();
    expect(floors.lagMs()).toBe(0);
    expect(await floors.addAndWait([gone], 0)).toBe(true);
  });
});

test("a request that waits for a version which no list has any more is answered after the list, not at its deadline", async () => {
  const { floors, store } = halfListed();
  store.namespaceStore("b").replace([], "100");
  const lost: WriteMark = { resource: "things.example.org", namespace: "a", version: "999" };
  expect(await floors.addAndWait([lost], 0)).toBe(false);
  const deadlineMs = 600_000;
  expect(await floors.wait(deadlineMs)).toBe(true);
  expect(floors.wait(deadlineMs)).toBeUndefined();
});
