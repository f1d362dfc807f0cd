// The life of namespaces: the ones that always exist, what each gets at birth, and emptying those that are being deleted.
import type { KubeObject } from "../../../kube/api/object.ts";
import type { Core } from "../registry/core.ts";
import { create } from "../registry/create.ts";
import { edit, removeAsSystem, systemCall } from "../registry/system.ts";
import { StatusError } from "../status.ts";
import { unlessGone } from "./garbage-collector.ts";
import { createWorkQueue } from "./work-queue.ts";

const KEY = "/namespaces";
export const ALWAYS = ["default", "kube-system", "kube-public", "kube-node-lease"];
/** Deleted first: with them goes the right to interfere. */
const FIRST = ["rbac.authorization.k8s.io/rolebindings", "/secrets"];

/** Starts keeping namespaces. @param rootCa put into every namespace as ConfigMap kube-root-ca.crt. */
export async function keepNamespaces(
  core: Core,
  rootCa: string,
  onError: (error: unknown) => void,
): Promise<() => void> {
  const queue = createWorkQueue((name) => settle(core, name, rootCa), onError);
  const table = core.store.table(KEY);
  for (const name of ALWAYS)
    if (!table.find("", name))
      await createAt(core, "namespaces", "", { apiVersion: "v1", kind: "Namespace", metadata: { name } });
  for (const { metadata } of table.list()) queue.add(metadata.name);
  const unsubscribe = core.store.subscribe((storageKey, { type, object }) => {
    if (storageKey === KEY) {
      if (type !== "DELETED") queue.add(object.metadata.name);
      return;
    }
    const { namespace } = object.metadata;
    if (!namespace || type !== "DELETED") return;
    const isBasic = storageKey === "/serviceaccounts" || storageKey === "/configmaps";
    if (isBasic || table.find("", namespace)?.metadata.deletionTimestamp) queue.add(namespace);
  });
  return () => {
    unsubscribe();
    queue.stop();
  };
}

async function settle(core: Core, name: string, rootCa: string): Promise<void> {
  const namespace = core.store.table(KEY).find("", name);
  if (!namespace) return;
  if (namespace.metadata.deletionTimestamp) return empty(core, namespace);
  const has = (storageKey: string, object: string) => core.store.table(storageKey).find(name, object) !== undefined;
  if (!has("/serviceaccounts", "default"))
    await unlessThere(() =>
      createAt(core, "serviceaccounts", name, {
        apiVersion: "v1",
        kind: "ServiceAccount",
        metadata: { name: "default", namespace: name },
      }),
    );
  if (!has("/configmaps", "kube-root-ca.crt")) {
    await unlessThere(() =>
      createAt(core, "configmaps", name, {
        apiVersion: "v1",
        kind: "ConfigMap",
        metadata: { name: "kube-root-ca.crt", namespace: name },
        data: { "ca.crt": rootCa },
      }),
    );
  }
}

async function createAt(core: Core, resource: string, namespace: string, object: KubeObject): Promise<void> {
  const type = core.catalogue.find("", resource);
  if (type) await create(core, systemCall(type, namespace, ""), object);
}

async function unlessThere(act: () => Promise<void>): Promise<void> {
  try {
    await act();
  } catch (error) {
    // It appeared meanwhile, or its namespace began to go.
    if (!(error instanceof StatusError && [403, 404, 409].includes(error.body.code ?? 0))) throw error;
  }
}

/** Deletes everything inside; the namespace is deleted after the last object. */
async function empty(core: Core, namespace: KubeObject): Promise<void> {
  const { name } = namespace.metadata;
  const types = core.catalogue
    .list()
    .filter((type) => type.namespaced && type.storageKey === `${type.group}/${type.resource}`)
    .sort((a, b) => Number(FIRST.includes(b.storageKey)) - Number(FIRST.includes(a.storageKey)));
  let left = 0;
  for (const type of types) {
    for (const object of core.store.table(type.storageKey).list(name)) {
      if (!object.metadata.deletionTimestamp)
        await unlessGone(() => removeAsSystem(core, type, object, { preconditions: { uid: object.metadata.uid } }));
    }
    left += core.store.table(type.storageKey).count(name);
  }
  const type = core.catalogue.find("", "namespaces");
  if (left === 0 && type) {
    await unlessGone(() =>
      edit(core, type, { namespace: "", name, subresource: "finalize" }, (object) => {
        object.spec = {
          ...(object.spec as object),
          finalizers: ((object.spec as { finalizers?: string[] } | undefined)?.finalizers ?? []).filter(
            (finalizer) => finalizer !== "kubernetes",
          ),
        };
      }),
    );
  }
}
