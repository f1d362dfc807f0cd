// Bound services of an app: read live, once where there are none, and too much is refused in words.
import { expect, test, vi } from "vitest";
import type { App } from "../../crds/app/app.ts";
import { ServiceBinding } from "../../crds/service-binding/service-binding.ts";
import { ServiceInstance } from "../../crds/service-instance/service-instance.ts";
import { credentialsLabels, credentialsSecretName, toSecretData } from "../../crds/service-instance/credentials.ts";
import { Secret } from "../../kube/api/builtin.ts";
import type { ReconcileContext } from "../../kube/controller/controller.ts";
import { snapshotServices } from "./services-snapshot.ts";

const namespace = "space";
const app = { metadata: { name: "shop", namespace, uid: "app-uid" } } as App;
const instance = (n: number) => ({
  metadata: { name: `db-${n}`, namespace, uid: `uid-${n}` },
  spec: { tags: [], type: "user-provided", credentialsSecretRef: { name: credentialsSecretName(`db-${n}`) } },
});
const binding = (n: number) => ({
  metadata: { name: `b-${n}`, namespace, uid: `b-uid-${n}` },
  spec: { appRef: { name: "shop" }, instanceRef: { name: `db-${n}` } },
});

/** A space with so many bound instances, each with credentials of so many bytes. */
function contextOf(count: number, bytes: number) {
  const numbers = Array.from({ length: count }, (_, n) => n);
  const find = (ref: { kind: string }, { name }: { name: string }): Promise<unknown> => {
    const n = Number(/\d+/.exec(name)?.[0]);
    if (ref.kind === ServiceInstance.kind) return Promise.resolve(instance(n));
    const metadata = { name, namespace, labels: credentialsLabels(`uid-${n}`) };
    return Promise.resolve({ kind: Secret.kind, metadata, data: toSecretData({ a: "x".repeat(bytes) }) });
  };
  const list = vi.fn((ref: { kind: string }) =>
    Promise.resolve({ items: ref.kind === ServiceBinding.kind ? numbers.map(binding) : [] }),
  );
  const read = { list: () => numbers.map(instance), byIndex: () => [] };
  return { context: { read, client: { find, list } } as unknown as ReconcileContext, list };
}

test("an app without bindings costs one request", async () => {
  const { context, list } = contextOf(0, 0);
  expect(await snapshotServices({ app, guid: "guid" }, context)).toEqual([]);
  expect(list).toHaveBeenCalledOnce();
});

test("a cache that has no instance yet hides none", async () => {
  const { context } = contextOf(10, 60_000);
  const late = { ...context, read: { list: () => [], byIndex: () => [] } } as unknown as ReconcileContext;
  await expect(snapshotServices({ app, guid: "guid" }, late)).rejects.toMatchObject({ reason: "ServicesTooLarge" });
});

test("more credentials than an environment may have stall the start, in words", async () => {
  const { context } = contextOf(10, 60_000);
  await expect(snapshotServices({ app, guid: "guid" }, context)).rejects.toMatchObject({
    reason: "ServicesTooLarge",
    message: expect.stringMatching(/60\d{4} bytes of credentials; .*unbind/) as string,
  });
});
