// A controller starts when all its caches are synced at the same time, and then enqueues every object.
import pino from "pino";
import { expect, test, vi } from "vitest";
import type { KubeClient } from "../client/client.ts";
import { defineController, type OwnershipMarkers } from "./controller.ts";
import type { KubeObject } from "../api/object.ts";
import { type ResourceRef, resourceId } from "../api/resource-ref.ts";
import { runControllers } from "./run-controllers.ts";
import { WritableStore } from "../cache/store.ts";
import type { Informers } from "../cache/informers.ts";

const platform: OwnershipMarkers = {
  fieldManagerPrefix: "test",
  ownerLabel: "owner",
  controllerLabel: "controller",
  ownerAnnotation: "owner-key",
};
const Thing: ResourceRef = { group: "example.org", version: "v1", kind: "Thing", plural: "things", namespaced: true };
const Claim: ResourceRef = { group: "example.org", version: "v1", kind: "Claim", plural: "claims", namespaced: true };
const one: KubeObject = {
  apiVersion: "example.org/v1",
  kind: "Thing",
  metadata: { namespace: "space", name: "one", uid: "u1", resourceVersion: "1" },
};

function begin(more: { settled?: Promise<void> } = {}) {
  const [things, claims] = [Thing, Claim].map(
    (ref) => new WritableStore<KubeObject>(ref, { onFault: (error) => expect.fail(String(error)) }),
  ) as [WritableStore<KubeObject>, WritableStore<KubeObject>];
  const ensure = (ref: ResourceRef) => ({
    store: resourceId(ref) === resourceId(Thing) ? things : claims,
    fieldsKept: more.settled ?? Promise.resolve(),
    freshAsOf: () => 0,
    release: () => undefined,
  });
  const worked: string[] = [];
  const controller = defineController({
    name: "one",
    for: Thing,
    reads: [Claim],
    writesStatus: false,
    reconcile: ({ metadata }) => (worked.push(metadata.name), {}),
  });
  const stopping = new AbortController();
  const run = runControllers({
    client: {} as KubeClient,
    controllers: [controller],
    informers: { ensure, readPreferring: () => ({}) } as unknown as Informers,
    ownership: platform,
    signal: stopping.signal,
    log: pino({ level: "silent" }),
  });
  const show = (store: WritableStore<KubeObject>, ...objects: KubeObject[]): void => {
    store.setState("watching");
    store.replace(objects, "1");
  };
  const hide = (store: WritableStore<KubeObject>): void => store.setState("parked", "Forbidden");
  return { things, claims, worked, run, show, hide, stop: () => (stopping.abort(), run.stopped) };
}

const turn = () => new Promise((resolve) => setImmediate(resolve));

test("a cache that parks while another syncs delays the start", async () => {
  const { things, claims, worked, run, show, hide, stop } = begin();
  hide(claims);
  show(things, one);
  hide(things);
  show(claims);
  await turn();
  // Objects unchanged after a resync emit no event.
  show(things, one);
  await run.synced;
  await vi.waitFor(() => expect(worked).toEqual(["one"]));
  await stop();
});

test("a cache that parks at the last moment delays the start", async () => {
  const settling = Promise.withResolvers<void>();
  const { things, claims, worked, run, show, hide, stop } = begin({ settled: settling.promise });
  show(things, one);
  show(claims);
  await turn();
  hide(claims);
  settling.resolve();
  await turn();
  expect(worked).toEqual([]);
  show(claims);
  await run.synced;
  await vi.waitFor(() => expect(worked).toEqual(["one"]));
  await stop();
});

test("stopping before the sync rejects synced", async () => {
  const { things, run, show, stop } = begin();
  show(things, one);
  await stop();
  await expect(run.synced).rejects.toThrow("claims.example.org");
});
