// The gate of a process: undecided while policies are not known, and told of changes of the kinds that rules read.
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { CONSTRAINTS_GROUP } from "../../crds/groups.ts";
import type { Constraint } from "../../crds/policy-template/constraint.ts";
import { NO_POLICIES, preparePolicies, type Policies } from "../../crds/policy-template/policies.ts";
import { PolicyTemplate } from "../../crds/policy-template/policy-template.ts";
import { toNamespaceLabels } from "../../crds/space/namespace-labels.ts";
import { Task } from "../../crds/task/task.ts";
import { anApp, makeObject } from "../../crds/testing/objects.ts";
import { Namespace } from "../../kube/api/builtin.ts";
import type { KubeObject } from "../../kube/api/object.ts";
import type { ResourceRef } from "../../kube/api/resource-ref.ts";
import { createDynamicWatches, type DynamicWatchesOptions } from "../../kube/cache/dynamic-watches.ts";
import type { Informers } from "../../kube/cache/informers.ts";
import { WritableStore } from "../../kube/cache/store.ts";
import { startStartGate, type RunningStartGate } from "./start-gate.ts";

const spec = PolicyTemplate.spec.parse({
  kind: "Demo",
  title: "Demo",
  subjects: ["App"],
  reads: [{ as: "tasks", kind: "Task", scope: "space" }],
  rules: [{ expression: "refs.tasks.size() == 0", message: "a task runs" }],
});
const policies = preparePolicies({
  templates: [makeObject(PolicyTemplate, "demo", { spec, status: { inForce: { generation: 1, spec } } })],
  constraintsOf: () => [
    {
      apiVersion: `${CONSTRAINTS_GROUP}/v1alpha1`,
      kind: "Demo",
      metadata: { name: "c", generation: 1 },
      spec: { enforcement: { action: "deny" } },
    } as Constraint,
  ],
  now: new Date(0),
});
const task = makeObject(Task, "t", {
  spec: { appRef: { name: "shop" }, command: "x" },
  metadata: { resourceVersion: "3" },
});
const space: KubeObject = {
  apiVersion: "v1",
  kind: "Namespace",
  metadata: {
    name: "acme-dev",
    resourceVersion: "1",
    labels: toNamespaceLabels({ org: { name: "acme" }, space: { name: "dev" } }),
  },
};

let stores: Map<string, WritableStore<KubeObject>>;
let gate: RunningStartGate;
let known: { policies: Policies; gap: string | undefined };
let change: () => void;
let isMember: boolean;
let changeMembership: () => void;

const storeOf = ({ kind }: { kind: string }): WritableStore<KubeObject> => {
  const found = stores.get(kind);
  if (!found) throw new Error(`${kind} is not watched`);
  return found;
};

beforeEach(() => {
  vi.useFakeTimers();
  stores = new Map();
  known = { policies: NO_POLICIES, gap: undefined };
  const ensure = (ref: ResourceRef) => {
    const onFault = (error: unknown): never => {
      throw error;
    };
    if (!stores.has(ref.kind)) stores.set(ref.kind, new WritableStore<KubeObject>(ref, { onFault }));
    return { store: storeOf(ref), release: () => undefined };
  };
  const informers = {
    ensure,
    dynamicWatches: (options: object) =>
      createDynamicWatches({
        ...(options as DynamicWatchesOptions),
        log: {} as never,
        ensure: ({ ref }) => ensure(ref),
      }),
    read: {
      find: (ref: ResourceRef, key: { name: string }) => storeOf(ref).find(key),
      list: (ref: ResourceRef, filter: object) => storeOf(ref).list(filter),
    },
  } as unknown as Informers;
  const live = {
    policies: () => known.policies,
    gap: () => known.gap,
    onChange: (listener: () => void) => {
      change = listener;
      return () => undefined;
    },
    check: () => true as const,
    report: () => ({ applied: [] }),
    close: () => Promise.resolve(),
  };
  isMember = true;
  const membership = {
    isMember: () => isMember,
    onChange: (listener: () => void) => {
      changeMembership = listener;
      return () => undefined;
    },
  };
  gate = startStartGate({ policies: live, informers, membership });
});
afterEach(async () => {
  await gate.close();
  vi.useRealTimers();
});

function fill(ref: ResourceRef, ...objects: KubeObject[]): void {
  storeOf(ref).replace(objects, "2");
  storeOf(ref).setState("watching");
}

test("without a constraint nothing is held back, also before namespaces are known", () => {
  expect(gate.judge([anApp()])).toMatchObject({ denied: [], undecided: [] });
});

test("while policies are not known a start is undecided, and says why", () => {
  known.gap = "they are being listed";
  expect(gate.judge([anApp()])).toMatchObject({
    denied: [],
    undecided: [expect.stringContaining("they are being listed")],
  });
});

test("a start is undecided, denied and allowed as the kinds become known and change, and each change is told", async () => {
  const told = vi.fn();
  gate.onChange(told);
  known.policies = policies;
  change();
  expect(gate.judge([anApp()]).undecided).toEqual([expect.stringContaining("labels of namespace acme-dev")]);
  fill(Namespace as ResourceRef, space);
  expect(gate.judge([anApp()]).undecided).toEqual([
    expect.stringContaining("Task objects cannot be read or are more than 1000"),
  ]);
  fill(Task as ResourceRef, task);
  expect(gate.judge([anApp()])).toMatchObject({ denied: ["Demo: a task runs (policy c)"], undecided: [] });
  await vi.advanceTimersByTimeAsync(1_000);
  told.mockClear();
  storeOf(Task).remove(task);
  await vi.advanceTimersByTimeAsync(1_000);
  expect([told.mock.calls.length, gate.judge([anApp()])]).toEqual([
    1,
    { denied: [], undecided: [], readsOthers: true },
  ]);
});

test("a process that others do not count decides no start, also without a constraint, until it is a member again", async () => {
  const told = vi.fn();
  gate.onChange(told);
  isMember = false;
  expect(gate.judge([anApp()])).toMatchObject({ denied: [], undecided: [expect.stringContaining("catches up")] });
  await vi.advanceTimersByTimeAsync(1_000);
  told.mockClear();
  isMember = true;
  changeMembership();
  await vi.advanceTimersByTimeAsync(1_000);
  expect([told.mock.calls.length, gate.judge([anApp()]).undecided]).toEqual([1, []]);
});
