// When the deletion of an instance has failed with one of its bindings.
import { expect, test } from "vitest";
import type { ServiceBinding } from "../../crds/service-binding/service-binding.ts";
import type { ServiceInstance } from "../../crds/service-instance/service-instance.ts";
import { planFailedUnbind } from "./failed-unbind.ts";

const now = new Date("2026-01-01T01:00:00Z");
const instanceOf = (status?: object, wish?: string) =>
  ({
    metadata: {
      name: "db",
      deletionTimestamp: "2026-01-01T00:00:00Z",
      annotations: { ...(wish !== undefined && { "cupola.dev/deletion-wish": wish }) },
    },
    spec: {},
    status,
  }) as unknown as ServiceInstance;
const bindingOf = (state: string, updatedAt: string, operation: object = {}) =>
  ({
    metadata: { name: "b" },
    status: { lastOperation: { type: "delete", state, description: updatedAt, updatedAt }, operation },
  }) as unknown as ServiceBinding;

test("nothing has failed while unbinding goes on", () => {
  expect(planFailedUnbind(instanceOf(), [bindingOf("in progress", "1")], now)).toBeUndefined();
});

test("the latest failure counts, in Cloud Foundry's words", () => {
  const failed = planFailedUnbind(instanceOf(), [bindingOf("failed", "1"), bindingOf("failed", "2")], now);
  expect(failed?.lastOperation).toMatchObject({
    type: "delete",
    state: "failed",
    description: "Service broker failed to delete service binding for instance db: 2",
    updatedAt: now.toISOString(),
  });
  // Known already, it is not written again.
  expect(planFailedUnbind(instanceOf(failed), [bindingOf("failed", "2")], new Date())).toEqual(failed);
});

test("a failure before the latest wish is none, and one after it says so", () => {
  expect(planFailedUnbind(instanceOf({}, "again"), [bindingOf("failed", "1")], now)).toBeUndefined();
  expect(
    planFailedUnbind(instanceOf({}, "again"), [bindingOf("failed", "1", { wish: "again" })], now)?.operation,
  ).toEqual({ wish: "again" });
});
