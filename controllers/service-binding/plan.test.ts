// What comes next for a binding of a managed instance.
import { expect, test } from "vitest";
import type { ServiceBinding } from "../../crds/service-binding/service-binding.ts";
import type { ServiceInstance } from "../../crds/service-instance/service-instance.ts";
import { planBinding } from "./plan.ts";

const operation = (type: string, state: string): object => ({ lastOperation: { type, state, description: "words" } });
const ready = operation("create", "succeeded");

test.each<[string, object, object, boolean, object]>([
  ["of a ready instance", {}, ready, true, { kind: "begin" }],
  ["of an instance whose update failed", {}, operation("update", "failed"), true, { kind: "begin" }],
  [
    "of an instance that is being made",
    {},
    operation("create", "initial"),
    true,
    { ready: { reason: "InstanceNotReady" } },
  ],
  [
    "of an instance under update",
    {},
    operation("update", "in progress"),
    true,
    { ready: { reason: "InstanceNotReady" } },
  ],
  ["of one that was not made", {}, operation("create", "failed"), true, { ready: { reason: "InstanceFailed" } }],
  ["of a plan without bindings", {}, ready, false, { ready: { reason: "NotBindable" } }],
  ["begun", operation("create", "initial"), ready, true, { kind: "bind" }],
  ["accepted", operation("create", "in progress"), ready, true, { kind: "poll" }],
  ["bound", operation("create", "succeeded"), ready, true, { kind: "rest" }],
  ["bound, of a plan that no longer allows it", operation("create", "succeeded"), ready, false, { kind: "rest" }],
  ["failed", operation("create", "failed"), ready, true, { kind: "rest", ready: { reason: "ProvisionFailed" } }],
  ["unclear", { ...operation("create", "failed"), operation: { isOrphan: true } }, ready, true, { kind: "mitigate" }],
])("%s", (...[, status, instanceStatus, isBindable, step]) => {
  const binding = { metadata: { name: "b" }, spec: {}, status } as unknown as ServiceBinding;
  const instance = { metadata: { name: "i" }, spec: {}, status: instanceStatus } as unknown as ServiceInstance;
  expect(planBinding(binding, instance, isBindable)).toMatchObject(step);
});
