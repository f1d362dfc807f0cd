// A process's policies follow templates and constraints, kinds that come and go, and the ends of exceptions.
import { pino } from "pino";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { CONSTRAINTS_GROUP } from "../../crds/groups.ts";
import { PolicyTemplate } from "../../crds/policy-template/policy-template.ts";
import { makeObject } from "../../crds/testing/objects.ts";
import type { KubeObject } from "../../kube/api/object.ts";
import { resourceId, type ResourceRef } from "../../kube/api/resource-ref.ts";
import { createDynamicWatches, type DynamicWatchesOptions } from "../../kube/cache/dynamic-watches.ts";
import type { Informers } from "../../kube/cache/informers.ts";
import { WritableStore } from "../../kube/cache/store.ts";
import { startLivePolicies, type LivePolicies } from "./live-policies.ts";

const NOW = new Date("2026-06-01T00:00:00Z");
const spec = PolicyTemplate.spec.parse({
  kind: "Demo",
  title: "Demo",
  subjects: ["App"],
  rules: [{ expression: "false" }],
});
const template = (inForce: boolean): KubeObject =>
  makeObject(PolicyTemplate, "demo", {
    spec,
    status: inForce ? { inForce: { generation: 1, spec } } : {},
    metadata: { resourceVersion: inForce ? "4" : "3" },
  });
const constraint = (match: object = {}): KubeObject => ({
  apiVersion: `${CONSTRAINTS_GROUP}/v1alpha1`,
  kind: "Demo",
  metadata: { name: "c", uid: "1", generation: 1, resourceVersion: "2" },
  spec: { match, enforcement: { action: "deny" } },
});

let stores: Map<string, WritableStore<KubeObject>>;
let live: LivePolicies;

const log = pino({ level: "silent" });

function storeOf(ref: ResourceRef): WritableStore<KubeObject> {
  const onFault = (error: unknown): never => {
    throw error;
  };
  const store = stores.get(resourceId(ref)) ?? new WritableStore<KubeObject>(ref, { onFault });
  stores.set(resourceId(ref), store);
  return store;
}

beforeEach(() => {
  vi.useFakeTimers({ now: NOW });
  stores = new Map();
  const ensure = (ref: ResourceRef) => ({ store: storeOf(ref), release: () => undefined });
  const informers = {
    ensure,
    store: storeOf,
    dynamicWatches: (options: object) =>
      createDynamicWatches({ ...(options as DynamicWatchesOptions), log, ensure: ({ ref }) => ensure(ref) }),
  } as unknown as Informers;
  live = startLivePolicies({ informers, log });
});
afterEach(async () => {
  await live.close();
  vi.useRealTimers();
});

const settle = (): Promise<unknown> => vi.advanceTimersByTimeAsync(100);
const templates = (): WritableStore<KubeObject> => storeOf(PolicyTemplate as unknown as ResourceRef);
const constraints = (): WritableStore<KubeObject> | undefined => stores.get(`demo.${CONSTRAINTS_GROUP}`);

async function list(store: WritableStore<KubeObject> | undefined, ...objects: KubeObject[]): Promise<void> {
  store?.replace(objects, "2");
  store?.setState("watching");
  await settle();
}

test("constraints are in force once their template's rules are; each change makes another set", async () => {
  expect(live.check()).toMatch(/being listed/);
  await list(templates(), template(false));
  expect([live.check(), constraints()]).toEqual([true, undefined]);
  templates().upsert(template(true));
  await settle();
  expect(live.check()).toMatch(/being listed/);
  await list(constraints(), constraint());
  expect([live.check(), [...live.policies().byConstraint.keys()]]).toEqual([true, ["Demo/c"]]);
  const before = live.policies();
  constraints()?.remove(constraint());
  await settle();
  expect([before.bySubject.size, live.policies().bySubject.size]).toEqual([1, 0]);
});

test("constraints whose rules read others are reported, by generation, and so is a right that is missing", async () => {
  const reading = { ...spec, reads: [{ as: "apps", kind: "App", scope: "space" as const }] };
  const object = { ...template(true), status: { inForce: { generation: 7, spec: reading } } };
  await list(templates(), object);
  await list(constraints(), constraint());
  expect(live.report()).toEqual({ applied: ["1/1/7"] });
  constraints()?.setState("parked", "Forbidden");
  await settle();
  expect(live.report()?.error).toContain("may not watch demo.constraints.cupola.dev");
});

test("a change counts from the moment at which it is received", async () => {
  await list(templates(), template(true));
  await list(constraints(), constraint());
  constraints()?.remove(constraint());
  expect(live.policies().byConstraint.size).toBe(0);
});

test("a kind that vanishes takes its constraints along, and the process stays ready", async () => {
  await list(templates(), template(true));
  await list(constraints(), constraint());
  constraints()?.setState("parked", "NoKind");
  await settle();
  expect([live.policies().bySubject.size, live.check()]).toEqual([0, true]);
});

test("a permission that is taken away leaves policy to the API server, and says so", async () => {
  await list(templates(), template(true));
  await list(constraints(), constraint());
  expect(live.gap()).toBeUndefined();
  const told = vi.fn();
  live.onChange(told);
  templates().setState("parked", "Forbidden");
  await settle();
  expect([live.gap(), told.mock.calls.length]).toEqual(["this process may not watch policytemplates.cupola.dev", 1]);
  expect([live.policies().bySubject.size, live.check()]).toEqual([
    0,
    { degraded: expect.stringContaining("may not watch policytemplates.cupola.dev") },
  ]);
});

test("a constraint holds again when its exception ends", async () => {
  const except = [{ space: "acme/dev", until: "2026-06-01T01:00:00Z", reason: "x" }];
  await list(templates(), template(true));
  await list(constraints(), constraint({ except }));
  const before = live.policies();
  expect(before.expires).toBe(NOW.getTime() + 3_600_000);
  await vi.advanceTimersByTimeAsync(3_600_000);
  expect([live.policies().expires, live.policies() === before]).toEqual([Infinity, false]);
});
