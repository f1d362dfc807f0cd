// A child that was just written, and that the cache does not have yet.
import { expect, test } from "vitest";
import type { Draft, KubeClient } from "../client/client.ts";
import { withSpan } from "../tracing/current-span.ts";
import type { Span } from "../tracing/tracing.ts";
import type { ChildMarking } from "./child-marking.ts";
import { createOwnedObjects, type ChildStore } from "./owned-objects.ts";
import { ConfigMap } from "../api/builtin.ts";

const TRACE = "example.dev/trace";
const owner = { id: "owner", object: { apiVersion: "v1", kind: "Owner", metadata: { name: "owner" } } };
const draft = (): Draft => ({ apiVersion: "v1", kind: "ConfigMap", metadata: { namespace: "dev", name: "child" } });

test("is not written again by a reconcile of another trace, or of none", async () => {
  const written: unknown[] = [];
  const store = { ref: ConfigMap, find: () => undefined, list: () => [], resourceVersionIn: () => "1" };
  const owned = createOwnedObjects({
    client: {
      apply: (_ref: unknown, { metadata }: Draft) => {
        written.push(metadata.annotations?.[TRACE]);
        return Promise.resolve({ ...draft(), metadata: { name: "child", resourceVersion: "2" } });
      },
    } as unknown as KubeClient,
    marking: {
      fieldManager: "test",
      ownerLabel: "owner",
      traceAnnotation: TRACE,
      mark: (one: Draft) => one,
      requireOwned: () => undefined,
      mayForceCreation: () => Promise.resolve(true),
    } as unknown as ChildMarking,
    controller: "test",
    stores: [store as unknown as ChildStore],
    completeStores: [],
  });
  const inSpan = (traceparent: string): Promise<void> =>
    withSpan({ traceparent, isOpen: true } as Span, () => owned.sync(owner, [draft()]));
  await inSpan("first");
  await inSpan("second");
  await owned.sync(owner, [draft()]);
  expect(written).toEqual(["first"]);
});
