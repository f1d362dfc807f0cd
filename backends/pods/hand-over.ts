// Hands the workload of a detached LRP over to people: the marks of the platform go, and the pods stay as they are.
import { toRanges } from "../../crds/lrp/index-pool.ts";
import { LABELS, ANNOTATIONS } from "../../crds/labels.ts";
import { LRP } from "../../crds/lrp/lrp.ts";
import { PodDisruptionBudget } from "../../kube/api/builtin.ts";
import type { KubeObject, ManagedFieldsEntry } from "../../kube/api/object.ts";
import type { ResourceRef } from "../../kube/api/resource-ref.ts";
import type { ReconcileContext } from "../../kube/controller/controller.ts";
import { isLive } from "./pod-progress.ts";
import type { PodObject } from "./slim-pod.ts";

export interface Holder {
  /** The kind that makes the pods. */
  workload: ResourceRef;
  fieldManager: string;
  finalizer: string;
}

/**
 * Once for each hand-over, and the finalizer goes last: until then a deletion of the LRP ends its pods. The objects are read live, since the cache may not
 * have them yet. The template is not touched, so that no pod is replaced.
 */
export async function handOver(
  lrp: LRP,
  { workload, fieldManager, finalizer }: Holder,
  context: ReconcileContext,
): Promise<void> {
  const { finalizers = [], resourceVersion } = lrp.metadata;
  if (!finalizers.includes(finalizer)) return;
  for (const ref of [workload, PodDisruptionBudget]) await release(ref, lrp, { fieldManager, client: context.client });
  const body = { metadata: { resourceVersion, finalizers: finalizers.filter((name) => name !== finalizer) } };
  await context.client.patch(LRP, lrp.metadata, { type: "merge", body });
}

/** Managers in managedFields go, too: a person who applies fewer fields than we did has no conflict with us. */
async function release(
  ref: ResourceRef,
  { metadata: { name, namespace = "", uid } }: LRP,
  { client, fieldManager }: { client: ReconcileContext["client"]; fieldManager: string },
): Promise<void> {
  const found = await client.find(ref, { namespace, name });
  if (!found || found.metadata.labels?.[LABELS.ownerUid] !== uid) return;
  await client.patch(
    ref,
    { namespace, name },
    { type: "merge", body: { metadata: withoutMarks(found, uid, fieldManager) } },
  );
}

/** The patch of metadata that takes our marks off. Pure. */
export function withoutMarks(
  { metadata }: KubeObject,
  ownerUid: string | undefined,
  fieldManager: string,
): Record<string, unknown> {
  const managed: readonly ManagedFieldsEntry[] = metadata.managedFields ?? [];
  return {
    resourceVersion: metadata.resourceVersion,
    labels: { [LABELS.ownerUid]: null, [LABELS.managedBy]: null },
    annotations: { [ANNOTATIONS.owner]: null },
    ownerReferences: (metadata.ownerReferences ?? []).filter(({ uid }) => uid !== ownerUid),
    managedFields: managed.filter(({ manager }) => manager !== fieldManager),
  };
}

/** The LRP with the instances that its pods are: how many there are is decided by people, or their autoscaler. Pure. */
export function withLiveInstances(
  lrp: LRP,
  pods: readonly PodObject[],
  indexOf: (pod: PodObject) => number | undefined,
): LRP {
  const indexes = pods.filter(isLive).flatMap((pod) => indexOf(pod) ?? []);
  const { restartInstances: _ours, ...spec } = lrp.spec;
  return { ...lrp, spec: { ...spec, instances: new Set(indexes).size, indexes: toRanges(indexes) } };
}
