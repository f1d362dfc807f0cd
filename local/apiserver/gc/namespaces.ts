// The life of namespaces: the ones that always exist, what each gets at birth, and emptying those that are being deleted.
import type { KubeObject } from "../../../kube/api/object.ts";
import { timestamp, type Core } from "../registry/core.ts";
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
  const left: Remaining[] = [];
  for (const type of types) {
    for (const object of core.store.table(type.storageKey).list(name)) {
      if (!object.metadata.deletionTimestamp)
        await unlessGone(() => removeAsSystem(core, type, object, { preconditions: { uid: object.metadata.uid } }));
    }
    const objects = core.store.table(type.storageKey).list(name);
    if (objects.length > 0) left.push({ title: `${type.resource}.${type.group}`, objects });
  }
  await (left.length === 0 ? release(core, name) : tellRemaining(core, namespace, left));
}

async function release(core: Core, name: string): Promise<void> {
  const type = core.catalogue.find("", "namespaces");
  if (!type) return;
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

/** Objects of a kind, `configmaps.`, that wait for their finalizers. */
interface Remaining {
  title: string;
  objects: readonly KubeObject[];
}

interface NamespaceCondition {
  type: string;
  status: string;
  reason: string;
  message: string;
  lastTransitionTime?: string;
}

/** The conditions of kube-controller-manager for a namespace that objects hold. */
async function tellRemaining(core: Core, namespace: KubeObject, left: readonly Remaining[]): Promise<void> {
  const type = core.catalogue.find("", "namespaces");
  const wanted = toConditions(left);
  if (!type || isTold(namespace, wanted)) return;
  const lastTransitionTime = timestamp(core.now());
  await unlessGone(() =>
    edit(core, type, { namespace: "", name: namespace.metadata.name, subresource: "status" }, (object) => {
      object.status = {
        ...(object.status as object),
        conditions: wanted.map((condition) => ({ ...condition, lastTransitionTime })),
      };
    }),
  );
}

function toConditions(left: readonly Remaining[]): NamespaceCondition[] {
  const finalizers = left.flatMap(({ objects }) => objects.flatMap(({ metadata }) => metadata.finalizers ?? []));
  const counts = [...Map.groupBy(finalizers, (finalizer) => finalizer)].toSorted(([a], [b]) => (a < b ? -1 : 1));
  const resources = left.map(({ title, objects }) => `${title} has ${objects.length} resource instances`).toSorted();
  const holders = counts.map(([finalizer, all]) => `${finalizer} in ${all.length} resource instances`);
  return [
    {
      type: "NamespaceContentRemaining",
      status: "True",
      reason: "SomeResourcesRemain",
      message: `Some resources are remaining: ${resources.join(", ")}`,
    },
    {
      type: "NamespaceFinalizersRemaining",
      status: "True",
      reason: "SomeFinalizersRemain",
      message: `Some content in the namespace has finalizers remaining: ${holders.join(", ")}`,
    },
  ];
}

function isTold({ status }: KubeObject, wanted: readonly NamespaceCondition[]): boolean {
  const { conditions = [] } = (status ?? {}) as { conditions?: NamespaceCondition[] };
  return wanted.every(({ type, message }) => conditions.some((one) => one.type === type && one.message === message));
}
