// Reports of a replica across rejoins and parked watches: each new Lease reports every object.
import pino from "pino";
import { expect, test } from "vitest";
import type { ConfigMap } from "../api/builtin.ts";
import type { KubeClient } from "../client/client.ts";
import { startReporting, toReport } from "./replica-acknowledgement.ts";
import type { Membership } from "./membership.ts";
import { keyOf, type KubeObject, type ObjectKey } from "../api/object.ts";
import type { ObjectOf, ResourceRef } from "../api/resource-ref.ts";
import { WritableStore } from "../cache/store.ts";

const Rule: ResourceRef = { group: "test", version: "v1", kind: "Rule", plural: "rules", namespaced: true };
const rule = (namespace: string): KubeObject => ({
  apiVersion: "test/v1",
  kind: "Rule",
  metadata: { name: "one", namespace, uid: `u-${namespace}`, generation: 1, resourceVersion: "1" },
});

function begin(first: string | undefined) {
  let life = first;
  const listeners = new Set<() => void>();
  const kept = new Map<string, ObjectOf<typeof ConfigMap>>();
  const faults: string[] = [];
  const client = {
    find: async (_ref: unknown, key: ObjectKey) => kept.get(keyOf(key)),
    apply: async (_ref: unknown, object: ObjectOf<typeof ConfigMap>) => void kept.set(keyOf(object.metadata), object),
  } as unknown as KubeClient;
  const membership = {
    identity: "r",
    ownerReference: () => (life === undefined ? undefined : { apiVersion: "v1", kind: "Lease", name: "r", uid: life }),
    onChange: (listener: () => void) => (listeners.add(listener), () => listeners.delete(listener)),
  } as unknown as Membership;
  const store = new WritableStore<KubeObject>(Rule, { onFault: (error) => faults.push(String(error)) });
  const halt = new AbortController();
  const log = pino({ level: "warn" }, { write: (line: string) => void faults.push(line) });
  const start = () =>
    startReporting({
      client,
      store,
      membership,
      location: { namespace: "system", label: "of", annotation: "on" },
      apply: () => undefined,
      signal: halt.signal,
      log,
    });
  return {
    store,
    start,
    faults,
    live: (next: string | undefined) => {
      life = next;
      for (const listener of listeners) listener();
    },
    reports: () => [...kept.values()].map((one) => `${toReport(one)?.uid} ${toReport(one)?.leaseUid}`).sort(),
    end: () => halt.abort(),
  };
}

test("a new Lease while nothing is readable reports every object once it is", async () => {
  const { store, start, live, reports, faults, end } = begin("first");
  store.setState("watching");
  store.replace([rule("a")], "1");
  const reporting = start();
  await reporting.idle();
  expect(reports()).toEqual(["u-a first"]);
  store.setState("parked", "Forbidden");
  live(undefined);
  live("second");
  store.setState("watching");
  store.replace([rule("a")], "1");
  await reporting.idle();
  expect(reports()).toEqual(["u-a second"]);
  end();
  await reporting.stopped;
  expect(faults).toEqual([]);
});

test("readable namespaces are reported at once, others under the Lease of the time when they become readable", async () => {
  const { store, start, live, reports, faults, end } = begin("first");
  store.switchToNamespaces();
  const [a, b] = [store.namespaceStore("a"), store.namespaceStore("b")];
  a.replace([rule("a")], "1");
  b.setState("parked", "Forbidden");
  const reporting = start();
  await reporting.idle();
  expect(reports()).toEqual(["u-a first"]);
  b.setState("watching");
  b.replace([rule("b")], "1");
  await reporting.idle();
  expect(reports()).toEqual(["u-a first", "u-b first"]);
  b.setState("parked", "Forbidden");
  live("second");
  await reporting.idle();
  expect(reports()).toEqual(["u-a second", "u-b first"]);
  b.setState("watching");
  b.replace([rule("b")], "1");
  await reporting.idle();
  expect(reports()).toEqual(["u-a second", "u-b second"]);
  end();
  await reporting.stopped;
  expect(faults).toEqual([]);
});

test("a process that is no member applies objects and reports nothing, without errors", async () => {
  const { store, start, live, reports, faults, end } = begin(undefined);
  store.setState("watching");
  store.replace([rule("a")], "1");
  const reporting = start();
  await reporting.idle();
  expect([reports(), faults]).toEqual([[], []]);
  live("first");
  await reporting.idle();
  expect(reports()).toEqual(["u-a first"]);
  end();
  await reporting.stopped;
});
