// A controller starts when all its caches are synced at the same time, and then enqueues every object.
import pino from "pino";
import { expect, test, vi } from "vitest";
import type { KubeClient } from "../client/client.ts";
import { defineController, type OwnershipMarkers } from "./controller.ts";
import type { KubeObject } from "../api/object.ts";
import { type ResourceRef, resourceId } from "../api/resource-ref.ts";
import type { ReconcileTraces } from "../tracing/trace-reconciles.ts";
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

interface Given {
  settled?: Promise<void>;
  traces?: ReconcileTraces;
  /** Each reconcile waits for it. */
  held?: Promise<void>;
}

function begin(more: Given = {}) {
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
  const logged: string[] = [];
  const controller = defineController({
    name: "one",
    for: Thing,
    reads: [Claim],
    writesStatus: false,
    workers: 1,
    reconcile: async ({ metadata }) => {
      worked.push(metadata.name);
      await more.held;
      return {};
    },
  });
  const stopping = new AbortController();
  const run = runControllers({
    client: {} as KubeClient,
    controllers: [controller],
    informers: { ensure, readPreferring: () => ({}) } as unknown as Informers,
    ownership: platform,
    signal: stopping.signal,
    traces: more.traces,
    log: pino({ level: "warn" }, { write: (line: string) => void logged.push(line) }),
  });
  const show = (store: WritableStore<KubeObject>, ...objects: KubeObject[]): void => {
    store.setState("watching");
    store.replace(objects, "1");
  };
  const hide = (store: WritableStore<KubeObject>): void => store.setState("parked", "Forbidden");
  return { things, claims, worked, logged, run, show, hide, stop: () => (stopping.abort(), run.stopped) };
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

test("a key whose kind parks while it waits is no fault where reconciles are traced, and comes again", async () => {
  const held = Promise.withResolvers<void>();
  const traces: ReconcileTraces = { run: (_controller, _object, work) => work() };
  const { things, claims, worked, logged, run, show, hide, stop } = begin({ traces, held: held.promise });
  const two = { ...one, metadata: { ...one.metadata, name: "two", uid: "u2" } };
  show(claims);
  show(things, one, two);
  await run.synced;
  await vi.waitFor(() => expect(worked).toEqual(["one"]));
  hide(things);
  held.resolve();
  await run.idle();
  show(things, one, { ...two, metadata: { ...two.metadata, resourceVersion: "2" } });
  await vi.waitFor(() => expect(worked).toContain("two"));
  expect(logged).toEqual([]);
  await stop();
});

test("stopping before the sync rejects synced", async () => {
  const { things, run, show, stop } = begin();
  show(things, one);
  await stop();
  await expect(run.synced).rejects.toThrow("claims.example.org");
});
