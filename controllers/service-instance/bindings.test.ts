// The order in which an instance and its bindings end.
import { expect, test } from "vitest";
import { ServiceBinding } from "../../crds/service-binding/service-binding.ts";
import { ServiceInstance } from "../../crds/service-instance/service-instance.ts";
import { makeObject } from "../../crds/testing/objects.ts";
import type { ReconcileContext } from "../../kube/controller/controller.ts";
import { removeBindings } from "./bindings.ts";

const instance = makeObject(ServiceInstance, "db", { metadata: { namespace: "dev" }, spec: { type: "managed" } });
/** No controller has seen it: it has no status, and so no finalizer. */
const fresh = makeObject(ServiceBinding, "fresh", {
  metadata: { namespace: "dev" },
  spec: { type: "key", instanceRef: { name: "db" } },
});
const ofOther = makeObject(ServiceBinding, "other", {
  metadata: { namespace: "dev" },
  spec: { type: "key", instanceRef: { name: "cache" } },
});

function contextOf(cached: readonly ServiceBinding[], live: readonly ServiceBinding[]) {
  const left = [...live];
  const context = {
    now: () => new Date("2026-01-01T00:00:00Z"),
    read: { byIndex: () => cached.filter(({ metadata }) => left.some((one) => one.metadata.name === metadata.name)) },
    client: {
      list: () => Promise.resolve({ items: left }),
      delete: (_ref: unknown, { name }: { name: string }) => {
        left.splice(
          left.findIndex(({ metadata }) => metadata.name === name),
          1,
        );
        return Promise.resolve();
      },
    },
  } as unknown as ReconcileContext;
  return { context, left };
}

test.each([
  ["is in the cache", [fresh]],
  ["is too new for the cache", []],
])("a binding without status that %s goes before its instance, and others stay", async (_where, cached) => {
  const { context, left } = contextOf(cached, [fresh, ofOther]);
  // The broker is not asked to remove the instance in the pass that deletes the binding.
  expect(await removeBindings(instance, context)).toMatchObject({ ready: { reason: "BindingsLeft" } });
  expect(left).toEqual([ofOther]);
  expect(await removeBindings(instance, context)).toBeUndefined();
});
