// The next step of a managed service instance.
import { expect, test } from "vitest";
import type { ServiceInstance } from "../../crds/service-instance/service-instance.ts";
import type { PlanEntry } from "../../crds/service-instance/pending-update.ts";
import { toTarget } from "../shared/osb/wanted-plan.ts";
import { planInstance, refusedUpdateOf, wantedKey } from "./plan.ts";

const entryOf = (plan: string, allowContextUpdates = false): PlanEntry =>
  ({
    plan: {
      metadata: { name: plan, namespace: "cupola-system" },
      spec: { name: plan, catalogID: `${plan}-id`, maintenanceInfo: { version: "2.0.0" } },
    },
    offering: {
      metadata: { name: "db", namespace: "cupola-system" },
      spec: { name: "db", catalogID: "db-id", tags: [], brokerRef: { name: "b" }, allowContextUpdates },
    },
  }) as unknown as PlanEntry;
const small = entryOf("small");

function instanceOf(spec: object, status?: object): ServiceInstance {
  return {
    metadata: { name: "db", namespace: "space", generation: 2 },
    spec: { type: "managed", tags: [], planRef: { name: "small" }, ...spec },
    ...(status && { status }),
  } as unknown as ServiceInstance;
}

const provided = { ...toTarget(instanceOf({}), small), maintenanceVersion: "1.0.0" };
const did = (type: string, state: string, more: object = {}): object => ({
  provided,
  lastOperation: { type, state, description: "words", createdAt: "", updatedAt: "" },
  ...more,
});
const made = did("create", "succeeded");
const large = { planRef: { name: "large" } };

test.each<[string, object, object | undefined, PlanEntry | undefined, object]>([
  ["a new one", {}, undefined, small, { kind: "begin", type: "create", target: { planID: "small-id" } }],
  ["a new one without a plan", {}, undefined, undefined, { kind: "rest", ready: { reason: "PlanMissing" } }],
  ["begun", {}, did("create", "initial"), small, { kind: "provision" }],
  ["accepted", {}, did("create", "in progress"), small, { kind: "poll" }],
  ["made", {}, made, small, { kind: "rest" }],
  ["made, whose plan has left the catalog", {}, made, undefined, { kind: "rest" }],
  ["failed", {}, did("create", "failed"), small, { kind: "rest", ready: { reason: "ProvisionFailed" } }],
  ["unclear", {}, did("create", "failed", { operation: { isOrphan: true } }), small, { kind: "mitigate" }],
  [
    "another plan",
    large,
    made,
    entryOf("large"),
    { kind: "begin", type: "update", target: { planID: "large-id", maintenanceVersion: "2.0.0" } },
  ],
  ["another plan that may not be used", large, made, undefined, { kind: "rest", ready: { reason: "PlanMissing" } }],
  [
    "other parameters",
    { parametersSecretRef: { name: "p" } },
    made,
    small,
    { kind: "begin", target: { parametersSecret: "p" } },
  ],
  [
    "an upgrade",
    { maintenanceVersion: "2.0.0" },
    made,
    small,
    { kind: "begin", target: { maintenanceVersion: "2.0.0" } },
  ],
  ["another name that the broker is not told", { name: "new" }, made, small, { kind: "rest" }],
  [
    "another name that it is told",
    { name: "new" },
    made,
    entryOf("small", true),
    { kind: "begin", target: { name: "new" } },
  ],
  [
    "an update that the broker has not taken",
    large,
    did("update", "initial", {
      operation: { attempts: 2, target: toTarget(instanceOf(large, made), entryOf("large")) },
    }),
    entryOf("large"),
    { kind: "update" },
  ],
  [
    "another plan than that of the update that the broker has not taken",
    large,
    did("update", "initial", { operation: { attempts: 2, target: toTarget(instanceOf({}, made), small) } }),
    entryOf("large"),
    { kind: "begin", type: "update", target: { planID: "large-id" } },
  ],
  ["an update begun", large, did("update", "initial"), entryOf("large"), { kind: "update" }],
  [
    "an update that failed",
    large,
    did("update", "failed", { refusedUpdate: wantedKey(instanceOf(large)) }),
    entryOf("large"),
    { kind: "rest", ready: { reason: "UpdateFailed" } },
  ],
  [
    "another update after one that failed",
    large,
    did("update", "failed", { refusedUpdate: wantedKey(instanceOf({})) }),
    entryOf("large"),
    { kind: "begin", type: "update" },
  ],
])("%s", (...[, spec, status, entry, step]) => {
  const problem = { status: "False", reason: "PlanMissing", message: "gone" } as const;
  const found = planInstance(instanceOf(spec, status), entry, entry ? undefined : problem);
  expect(found).toMatchObject(step);
  if (!("ready" in step)) expect(found).not.toHaveProperty("ready");
});

test.each([
  [2, true],
  [undefined, true],
  // The spec has changed while the broker was at it.
  [1, false],
])("the failure of generation %s is of what is wanted in generation 2: %s", (generation, isRefused) => {
  const instance = instanceOf(large);
  const last = { type: "update", state: "failed", description: "", createdAt: "", updatedAt: "", generation } as const;
  expect(refusedUpdateOf(instance, last)).toBe(isRefused ? wantedKey(instance) : undefined);
});
