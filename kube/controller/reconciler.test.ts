// Replicas with stale caches do not fight: no retry at a rejected version, no child overwritten from an old owner.
import pino from "pino";
import { expect, test, vi } from "vitest";
import { localMarking } from "./child-marking.ts";
import { createOwnedObjects } from "./owned-objects.ts";
import type { KubeClient } from "../client/client.ts";
import { KubeError } from "../client/errors.ts";
import { defineController, type OwnershipMarkers, type ReconcileResult } from "./controller.ts";
import type { KubeObject } from "../api/object.ts";
import type { Reader, Store } from "../cache/reader.ts";
import { createReconciler } from "./reconciler.ts";
import { NO_CLUSTERS } from "./remote-children.ts";
import type { ResourceRef } from "../api/resource-ref.ts";
import { WritableStore } from "../cache/store.ts";

const log = pino({ level: "silent" });
const platform: OwnershipMarkers = {
  fieldManagerPrefix: "test",
  ownerLabel: "owner",
  controllerLabel: "controller",
  ownerAnnotation: "owner-key",
  pausedAnnotation: "paused",
};
const Thing: ResourceRef = { group: "example.org", version: "v1", kind: "Thing", plural: "things", namespaced: true };
const Part: ResourceRef = { group: "example.org", version: "v1", kind: "Part", plural: "parts", namespaced: true };
const key = { namespace: "one", name: "a" };

const thing = (resourceVersion: string, text: string): KubeObject => ({
  apiVersion: "example.org/v1",
  kind: "Thing",
  metadata: { ...key, uid: "u1", generation: 1, resourceVersion },
  spec: { text },
});
const part = (resourceVersion: string, text: string): KubeObject => ({
  apiVersion: "example.org/v1",
  kind: "Part",
  metadata: {
    ...key,
    uid: "u2",
    resourceVersion,
    labels: { owner: "u1", controller: "copy" },
    annotations: { "owner-key": "one/a" },
    ownerReferences: [{ apiVersion: "example.org/v1", kind: "Thing", name: "a", uid: "u1", controller: true }],
    managedFields: [
      {
        manager: "test-copy",
        operation: "Apply",
        apiVersion: "example.org/v1",
        fieldsV1: {
          "f:text": {},
          "f:metadata": {
            "f:labels": { "f:owner": {}, "f:controller": {} },
            "f:annotations": { "f:owner-key": {} },
            "f:ownerReferences": { 'k:{"uid":"u1"}': {} },
          },
        },
      },
    ],
  } as KubeObject["metadata"],
  text,
});

function filled(ref: ResourceRef, ...objects: KubeObject[]): WritableStore<KubeObject> {
  const store = new WritableStore<KubeObject>(ref, { onFault: (error) => expect.unreachable(String(error)) });
  store.setState("watching");
  store.replace(objects, objects[0]?.metadata.resourceVersion ?? "1");
  return store;
}

function copying(
  things: WritableStore<KubeObject>,
  parts: WritableStore<KubeObject>,
  client: Partial<Record<keyof KubeClient, unknown>>,
  { hasOptimisticLock = false, ...more }: ReconcileResult & { hasOptimisticLock?: boolean } = {},
) {
  const controller = defineController({
    name: "copy",
    for: Thing,
    owns: [Part],
    reconcile: (object) => ({
      children: [
        { apiVersion: "example.org/v1", kind: "Part", metadata: key, text: (object["spec"] as { text: string }).text },
      ],
      ...more,
    }),
  });
  const stores: Store[] = [parts];
  const children = createOwnedObjects({
    client: client as KubeClient,
    marking: localMarking(platform, "copy", Thing),
    controller: "copy",
    stores,
    completeStores: [],
  });
  const context = {
    read: {} as Reader,
    client: client as KubeClient,
    now: () => new Date(0),
    log,
    recordEvent: () => undefined,
    clusters: NO_CLUSTERS,
    signal: new AbortController().signal,
  };
  return createReconciler({
    controller,
    client: client as KubeClient,
    fieldManager: "test-copy",
    pausedAnnotation: platform.pausedAnnotation,
    store: things,
    ownedObjects: children,
    context,
    log,
    hasOptimisticLock,
  });
}

test("a rejected version is not retried before the cache has a newer one", async () => {
  const things = filled(Thing, thing("1", "x"));
  const patch = vi.fn(async () => {
    throw new KubeError({ code: 409, reason: "Conflict" });
  });
  const reconciler = copying(things, filled(Part, part("1", "x")), { patch });
  for (let turn = 0; turn < 3; turn++) expect(await reconciler.reconcile(key)).toEqual({ kind: "retry" });
  expect(patch).toHaveBeenCalledTimes(1);
  things.upsert(thing("2", "x"));
  await reconciler.reconcile(key);
  expect(patch).toHaveBeenCalledTimes(2);
});

test("a paused object is not reconciled, and is once it is not", async () => {
  const paused = thing("1", "x");
  paused.metadata.annotations = { paused: "true" };
  const things = filled(Thing, paused);
  const patch = vi.fn(async () => thing("3", "x"));
  const reconciler = copying(things, filled(Part, part("1", "x")), { patch });
  expect(await reconciler.reconcile(key)).toEqual({ kind: "done" });
  expect(patch).not.toHaveBeenCalled();
  things.upsert(thing("2", "x"));
  await reconciler.reconcile(key);
  expect(patch).toHaveBeenCalled();
});

test("an object for another namespace that is being deleted holds up no child", async () => {
  const elsewhere = { apiVersion: "example.org/v1", kind: "Part", metadata: { namespace: "two", name: "a" } };
  const causes = [{ reason: "NamespaceTerminating" }];
  const apply = vi.fn(async (_ref: ResourceRef, { metadata }: KubeObject) => {
    if (metadata.namespace === "two") throw new KubeError({ code: 403, reason: "Forbidden", details: { causes } });
    return part("2", "new");
  });
  const patch = vi.fn(async () => thing("2", "new"));
  const things = filled(Thing, thing("1", "new"));
  const reconciler = copying(
    things,
    filled(Part),
    { apply, patch, find: async () => undefined },
    { createOnce: [elsewhere] },
  );
  expect(await reconciler.reconcile(key)).toEqual({ kind: "done" });
  expect(apply.mock.calls.map(([, { metadata }]) => metadata.namespace)).toEqual(["two", "one"]);
  expect(JSON.stringify(patch.mock.calls)).not.toContain("Forbidden");
});

test("an object of create that another replica has made meanwhile is awaited, since it may be of another plan", async () => {
  const created = { apiVersion: "example.org/v1", kind: "Part", metadata: { namespace: "one", name: "made" } };
  const create = vi.fn(() => Promise.reject(new KubeError({ code: 409, reason: "AlreadyExists" })));
  const patch = vi.fn(async () => thing("2", "new"));
  const client = { create, patch, apply: async () => part("2", "new"), find: async () => undefined };
  const parts = filled(Part);
  const reconciler = copying(filled(Thing, thing("1", "new")), parts, client, { create: [created] });
  expect(await reconciler.reconcile(key)).toEqual({ kind: "retry" });
  expect(patch).not.toHaveBeenCalled();
  parts.upsert({ ...part("1", "other"), metadata: { ...created.metadata, resourceVersion: "1" } });
  expect(await reconciler.reconcile(key)).toEqual({ kind: "done" });
  expect(create).toHaveBeenCalledOnce();
  expect(JSON.stringify(patch.mock.calls)).toContain("Reconciled");
});

test("a child written by another replica is not overwritten from a stale owner", async () => {
  const things = filled(Thing, thing("1", "old"));
  const parts = filled(Part, part("1", "old"));
  const apply = vi.fn(async () => part("9", "new"));
  const client = { patch: async () => thing("1", "old"), find: async () => thing("5", "new"), apply };
  const reconciler = copying(things, parts, client);
  await reconciler.reconcile(key);
  parts.upsert(part("6", "new"));
  expect(await reconciler.reconcile(key)).toEqual({ kind: "retry" });
  expect(apply).not.toHaveBeenCalled();
});

test("a child written by another replica is not overwritten by a new process, nor by one with an older draft", async () => {
  const apply = vi.fn(async () => part("9", "new"));
  const client = { patch: async () => thing("1", "old"), find: async () => thing("5", "new"), apply };
  const fresh = copying(filled(Thing, thing("1", "old")), filled(Part, part("6", "new")), client);
  expect(await fresh.reconcile(key)).toEqual({ kind: "retry" });
  const [things, parts] = [filled(Thing, thing("1", "old")), filled(Part, part("1", "old"))];
  const older = copying(things, parts, client);
  await older.reconcile(key);
  things.upsert(thing("2", "newer"));
  parts.upsert(part("6", "new"));
  expect(await older.reconcile(key)).toEqual({ kind: "retry" });
  expect(apply).not.toHaveBeenCalled();
});

test("a child is created with its finalizers; later it keeps those that it has of us, and gets none", async () => {
  const apply = vi.fn(async (_ref: ResourceRef, draft: KubeObject) => ({ ...part("2", "x"), ...draft }));
  const draft = { ...part("", "x"), metadata: { ...key, finalizers: ["example.org/hold"] } };
  const held = structuredClone(part("2", "old"));
  held.metadata.finalizers = ["example.org/hold", "example.org/other"];
  const fields = held.metadata.managedFields?.[0]?.fieldsV1 as { "f:metadata": Record<string, unknown> };
  fields["f:metadata"]["f:finalizers"] = { 'v:"example.org/hold"': {} };
  for (const parts of [filled(Part), filled(Part, held), filled(Part, part("2", "old"))]) {
    const ownedObjects = createOwnedObjects({
      client: { apply } as unknown as KubeClient,
      marking: localMarking(platform, "copy", Thing),
      controller: "copy",
      stores: [parts as Store],
      completeStores: [],
    });
    await ownedObjects.sync({ id: "u1", object: thing("1", "x") }, [draft]);
  }
  const hold = ["example.org/hold"];
  expect(apply.mock.calls.map(([, { metadata }]) => metadata.finalizers)).toEqual([hold, hold, undefined]);
});

test("a child without another writer is changed without a live read", async () => {
  const things = filled(Thing, thing("1", "old"));
  const parts = filled(Part, part("1", "old"));
  const find = vi.fn(async () => undefined);
  const apply = vi.fn(async () => part("9", "new"));
  const reconciler = copying(things, parts, { patch: async () => thing("2", "new"), find, apply });
  await reconciler.reconcile(key);
  things.upsert(thing("2", "new"));
  await reconciler.reconcile(key);
  expect(apply).toHaveBeenCalledTimes(1);
  expect(find).not.toHaveBeenCalled();
});

/** A controller that names these parts, with what its requests come to. */
function listing(names: readonly string[], refused: Readonly<Record<string, Error>>, found: readonly KubeObject[]) {
  const things = filled(Thing, thing("1", "x"));
  const controller = defineController({
    name: "copy",
    for: Thing,
    owns: [Part],
    reconcile: () => ({
      children: names.map((name) => ({
        apiVersion: "example.org/v1",
        kind: "Part",
        metadata: { namespace: "one", name },
        text: "x",
      })),
      status: { done: true },
    }),
  });
  const done: string[] = [];
  const said = vi.fn(
    async (
      _ref: ResourceRef,
      _key: unknown,
      _patch: { body: { status: { conditions: { reason: string; message: string }[] } } },
    ) => thing("1", "x"),
  );
  const client = {
    apply: async (_ref: unknown, { metadata: { name } }: KubeObject) => {
      if (refused[name]) throw refused[name];
      done.push(`apply ${name}`);
      return part("9", "x");
    },
    delete: async (_ref: unknown, { name }: { name: string }) => void done.push(`delete ${name}`),
    find: async () => thing("1", "x"),
    patch: said,
  } as unknown as KubeClient;
  const children = createOwnedObjects({
    client,
    marking: localMarking(platform, "copy", Thing),
    controller: "copy",
    stores: [filled(Part, ...found)],
    completeStores: [],
  });
  const { signal } = new AbortController();
  const context = {
    read: {} as Reader,
    client,
    clusters: NO_CLUSTERS,
    recordEvent: () => undefined,
    now: () => new Date(0),
    log,
    signal,
  };
  const reconciler = createReconciler({
    controller,
    client,
    fieldManager: "test-copy",
    store: things,
    ownedObjects: children,
    context,
    log,
  });
  return { reconciler, done, condition: () => said.mock.calls.at(-1)?.[2].body.status.conditions[0] };
}

const stale: KubeObject = { ...part("3", "x"), metadata: { ...part("3", "x").metadata, name: "stale", uid: "u9" } };
const invalid = new KubeError({ code: 422, reason: "Invalid", message: "b is not valid" });

test("a rejected child stops neither its siblings nor the pruning", async () => {
  const { reconciler, done, condition } = listing(["b", "c"], { b: invalid }, [stale]);
  await expect(reconciler.reconcile(key)).rejects.toBe(invalid);
  expect(done).toEqual(["apply c", "delete stale"]);
  expect(condition()).toMatchObject({ reason: "Invalid", message: "b is not valid" });
});

test("the status lists every rejected child", async () => {
  const forbidden = new KubeError({ code: 403, reason: "Forbidden", message: "c is forbidden" });
  const { reconciler, condition } = listing(["b", "c"], { b: invalid, c: forbidden }, []);
  await expect(reconciler.reconcile(key)).rejects.toMatchObject({ errors: [invalid, forbidden] });
  expect(condition()).toMatchObject({ reason: "Invalid", message: "b is not valid; c is forbidden" });
});

test("a stale read is retried, also beside an error that waits", async () => {
  const conflict = new KubeError({ code: 409, reason: "Conflict", message: "changed meanwhile" });
  const taken: KubeObject = {
    ...stale,
    metadata: { ...stale.metadata, name: "b", labels: { owner: "another", controller: "copy" } },
  };
  const { reconciler, condition } = listing(["b", "c"], { c: conflict }, [taken]);
  expect(await reconciler.reconcile(key)).toEqual({ kind: "retry" });
  expect(condition()).toMatchObject({ reason: "ChildTaken" });
});

test.each([
  ["says nothing when it has nothing new to say", { keepStatus: true as const }, 0],
  ["says how it went", {}, 1],
])("a reconcile %s", async (_what, more, statuses) => {
  const patch = vi.fn(async () => thing("2", "x"));
  await copying(filled(Thing, thing("1", "x")), filled(Part, part("1", "x")), { patch }, more).reconcile(key);
  expect(patch).toHaveBeenCalledTimes(statuses);
});

test.each([
  ["of a leader carries the version that it was planned on", true, "1"],
  ["of every replica carries none, as long as no condition changes", false, undefined],
])("a status %s", async (_what, hasOptimisticLock, version) => {
  const conditions = [
    { type: "Ready", status: "True", reason: "Reconciled", message: "", lastTransitionTime: "", observedGeneration: 1 },
  ];
  const known = { ...thing("1", "x"), status: { observedGeneration: 1, conditions } };
  const patch = vi.fn(async () => thing("2", "x"));
  const more = { status: { count: 1 }, hasOptimisticLock };
  await copying(filled(Thing, known), filled(Part, part("1", "x")), { patch }, more).reconcile(key);
  const [[, , written] = []] = patch.mock.calls as unknown as [unknown, unknown, { body: object }][];
  expect(written).toMatchObject({ body: { status: { count: 1 } } });
  expect(written?.body).toMatchObject(version === undefined ? {} : { metadata: { resourceVersion: version } });
  if (version === undefined) expect(JSON.stringify(written)).not.toContain("resourceVersion");
});
