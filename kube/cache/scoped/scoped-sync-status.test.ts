// A kind watched namespace by namespace while Namespaces cannot be read: only real deletions are emitted.
import pino from "pino";
import { afterEach, expect, test, vi } from "vitest";
import { Namespace } from "../../api/builtin.ts";
import type { KubeClient, ListOptions, WatchEvent, WatchOptions } from "../../client/client.ts";
import { KubeError } from "../../client/errors.ts";
import type { KubeObject } from "../../api/object.ts";
import type { ResourceRef } from "../../api/resource-ref.ts";
import { createInformers } from "../informers.ts";

const Thing: ResourceRef = { group: "test", version: "v1", kind: "Thing", plural: "things", namespaced: true };
const thing = (namespace: string, name: string): KubeObject => ({
  apiVersion: "test/v1",
  kind: "Thing",
  metadata: { name, namespace, uid: `u-${namespace}-${name}`, resourceVersion: "1" },
});
const namespaceOf = (name: string, isOurs: boolean): KubeObject => ({
  apiVersion: "v1",
  kind: "Namespace",
  metadata: { name, uid: `u-${name}`, labels: isOurs ? { ours: "" } : {}, resourceVersion: "1" },
});
const forbidden = () => new KubeError({ code: 403, reason: "Forbidden" });

/** Things may be seen in each namespace and not everywhere; Namespaces as `mayNamespaces` says. */
class Server {
  mayNamespaces = true;
  readonly namespaces = new Map<string, { isOurs: boolean }>();
  readonly things: KubeObject[] = [];
  readonly #watchers = new Map<string, (event: WatchEvent) => void>();
  /** Names that were asked for one by one. */
  readonly asked: string[] = [];

  readonly client = {
    pages: (ref: ResourceRef, options: ListOptions) => this.#pages(ref, options),
    watch: (ref: ResourceRef, options: WatchOptions) => this.#watch(ref, options),
    list: async (_ref: ResourceRef, { fieldSelector = "" }: ListOptions) => {
      const name = fieldSelector.replace("metadata.name=", "");
      this.asked.push(name);
      if (!this.mayNamespaces) throw forbidden();
      const found = this.namespaces.get(name);
      return { metadata: {}, items: found ? [namespaceOf(name, found.isOurs)] : [] };
    },
    review: async (
      _ref: ResourceRef,
      { spec }: { spec: { resourceAttributes: { resource: string; namespace?: string } } },
    ) => ({ status: { allowed: this.#mayWatch(spec.resourceAttributes.resource, spec.resourceAttributes.namespace) } }),
  } as unknown as KubeClient;

  /** Sends an event to the watch of that namespace. */
  remove(namespace: string, name: string): void {
    this.things.splice(
      this.things.findIndex(({ metadata }) => metadata.namespace === namespace && metadata.name === name),
      1,
    );
    this.#watchers.get(`things ${namespace}`)?.({
      type: "DELETED",
      object: { ...thing(namespace, name), metadata: { ...thing(namespace, name).metadata, resourceVersion: "2" } },
    });
  }

  #mayWatch(plural: string, namespace: string | undefined): boolean {
    return plural === "namespaces" ? this.mayNamespaces : namespace !== undefined && this.namespaces.has(namespace);
  }

  async *#pages({ plural }: ResourceRef, { namespace }: ListOptions) {
    if (!this.#mayWatch(plural, namespace)) throw forbidden();
    const ours = [...this.namespaces].filter(([, { isOurs }]) => isOurs).map(([name]) => namespaceOf(name, true));
    yield {
      metadata: { resourceVersion: "1" },
      items: plural === "namespaces" ? ours : this.things.filter(({ metadata }) => metadata.namespace === namespace),
    };
  }

  async *#watch({ plural }: ResourceRef, { namespace, onOpen, signal }: WatchOptions): AsyncIterable<WatchEvent> {
    if (!this.#mayWatch(plural, namespace)) throw forbidden();
    onOpen?.();
    while (!signal?.aborted) {
      yield await new Promise<WatchEvent>((resolve, reject) => {
        signal?.addEventListener("abort", () => reject(new KubeError({ code: 0, reason: "Aborted" })), { once: true });
        this.#watchers.set(`${plural} ${namespace}`, resolve);
      });
    }
  }
}

const ends: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0)) await end();
});

/** Two namespaces of ours, `a` and `b`, each with a Thing `one`; Namespaces have just become unreadable. */
async function unseen() {
  const server = new Server();
  for (const name of ["a", "b"]) {
    server.namespaces.set(name, { isOurs: true });
    server.things.push(thing(name, "one"));
  }
  const never = { minMs: 600_000, maxMs: 600_000, jitter: 0 };
  const informers = createInformers({
    client: server.client,
    log: pino({ level: "silent" }),
    namespaceScope: { labelSelector: "ours" },
    timing: { parked: never },
  });
  ends.push(() => informers.close());
  const { store } = informers.ensure(Thing);
  await vi.waitFor(() => expect(store.synced && store.list()).toHaveLength(2));
  const changes: string[] = [];
  store.onChange(
    ({ type, object: { metadata } }) => void changes.push(`${type} ${metadata.namespace}/${metadata.name}`),
  );
  const state = () => informers.status().find(({ resource }) => resource === "namespaces")?.state;
  server.mayNamespaces = false;
  informers.reopen("namespaces");
  await vi.waitFor(() => expect(state()).toBe("parked"));
  const see = async (): Promise<void> => {
    server.mayNamespaces = true;
    informers.retryNow(Namespace);
    await vi.waitFor(() => expect(state()).toBe("watching"));
  };
  return { server, informers, store, changes, see };
}

const keys = (objects: readonly KubeObject[]) =>
  objects.map(({ metadata }) => `${metadata.namespace}/${metadata.name}`).sort();

test("deletions are emitted while Namespaces cannot be read, and other namespaces continue", async () => {
  const { server, store, changes, see } = await unseen();
  expect(keys(store.list())).toEqual(["a/one", "b/one"]);
  server.remove("b", "one");
  await see();
  await vi.waitFor(() => expect(changes).toEqual(["deleted b/one"]));
  expect(keys(store.list())).toEqual(["a/one"]);
});

test("a namespace deleted while unreadable is looked up, and its objects are deleted", async () => {
  const { server, informers, store, changes, see } = await unseen();
  server.namespaces.delete("b");
  informers.reopen("things.test");
  await vi.waitFor(() => expect(store.parkedNamespaces).toEqual(["b"]));
  expect(changes).toEqual([]);
  await see();
  await vi.waitFor(() => expect(changes).toEqual(["deleted b/one"]));
  expect([server.asked, keys(store.list())]).toEqual([["b"], ["a/one"]]);
});

test("a namespace that lost the label while unreadable is dropped without deletions", async () => {
  const { server, store, changes, see } = await unseen();
  server.namespaces.set("b", { isOurs: false });
  await see();
  await vi.waitFor(() => expect(keys(store.list())).toEqual(["a/one"]));
  expect([server.asked, changes]).toEqual([["b"], []]);
});

test("tombstones stay when a requested namespace is released while unreadable", async () => {
  const { server, informers, store, changes, see } = await unseen();
  server.namespaces.set("c", { isOurs: true });
  server.things.push(thing("c", "one"));
  const { release } = informers.ensure(Thing, { namespace: "c" });
  await vi.waitFor(() => expect(changes).toEqual(["added c/one"]));
  release();
  server.remove("c", "one");
  await see();
  await vi.waitFor(() => expect(changes).toEqual(["added c/one", "deleted c/one"]));
  expect(keys(store.list())).toEqual(["a/one", "b/one"]);
});
