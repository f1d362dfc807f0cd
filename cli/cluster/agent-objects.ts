// The account, the rights and the namespace of a pull cluster's agent on the hub: made when the cluster is added, removed with it.
import { SYSTEM_NAMESPACE } from "../../crds/groups.ts";
import { pullClusterObjects } from "../../crds/work/agent-objects.ts";
import { AGENT_ACCOUNT, clusterNamespace, WORK_FINALIZER } from "../../crds/work/names.ts";
import { Work } from "../../crds/work/work.ts";
import { Lease, Namespace, Role, RoleBinding, ServiceAccount } from "../../kube/api/builtin.ts";
import type { KubeObject } from "../../kube/api/object.ts";
import { apiVersionOf, type ObjectOf, type ResourceRef } from "../../kube/api/resource-ref.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { ignoreNotFound } from "../../kube/client/ignore-gone.ts";
import { Failure } from "../failure.ts";

const FIELD_MANAGER = "cup";
const REFS: readonly ResourceRef[] = [Namespace, ServiceAccount, Lease, Role, RoleBinding];

/** The namespace of a pull cluster, and all accounts and rights there. */
export async function writeAgentObjects(kube: KubeClient, name: string): Promise<void> {
  for (const object of pullClusterObjects(name, await listControllerAccounts(kube))) {
    const ref = REFS.find(({ kind }) => kind === object.kind);
    if (ref) await applyObject(kube, ref, object);
  }
}

export function applyObject(kube: KubeClient, ref: ResourceRef, object: KubeObject): Promise<KubeObject> {
  const draft = { ...object, apiVersion: apiVersionOf(ref), kind: ref.kind };
  return kube.apply(ref, draft, { fieldManager: FIELD_MANAGER, force: true });
}

/** The accounts of the processes that run controllers. None on a laptop. */
export async function listControllerAccounts(kube: KubeClient): Promise<Subject[]> {
  const { items } = await kube.list(RoleBinding, { namespace: SYSTEM_NAMESPACE });
  return items
    .filter(({ roleRef }) => roleRef?.kind === Role.kind && roleRef.name === "cupola-controllers")
    .flatMap((binding) => binding.subjects ?? []);
}

type Subject = NonNullable<ObjectOf<typeof RoleBinding>["subjects"]>[number];

/** Its account had the namespace before, with Works and Secrets of other apps. @throws Failure */
export async function requireNoLeftovers(kube: KubeClient, cluster: string): Promise<void> {
  const name = clusterNamespace(cluster);
  const found = await kube.find(Namespace, { name });
  if (!found) return;
  if (found.metadata.deletionTimestamp !== undefined)
    throw new Failure(`namespace ${name} of a former cluster ${cluster} is being deleted`, {
      next: "repeat this in a moment",
    });
  throw new Failure(`namespace ${name} of a former cluster ${cluster} is still there, with Secrets of its apps`, {
    next: `cup clusters forget ${cluster} deletes it; then repeat this`,
  });
}

/** No agent calls with this account any more. */
export async function revokeAgent(kube: KubeClient, name: string): Promise<void> {
  await ignoreNotFound(kube.delete(ServiceAccount, { namespace: clusterNamespace(name), name: AGENT_ACCOUNT }));
}

/** Nothing on the cluster is removed. */
export async function removePullObjects(kube: KubeClient, name: string): Promise<void> {
  const namespace = clusterNamespace(name);
  await revokeAgent(kube, name);
  const { items } = await kube.list(Work, { namespace });
  for (const { metadata } of items) {
    const finalizers = (metadata.finalizers ?? []).filter((one) => one !== WORK_FINALIZER);
    await ignoreNotFound(kube.patch(Work, metadata, { type: "merge", body: { metadata: { finalizers } } }));
    await ignoreNotFound(kube.delete(Work, metadata));
  }
  await ignoreNotFound(kube.delete(Namespace, { name: namespace }));
}
