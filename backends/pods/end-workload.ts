// Ends what a runner made for an object: pods first.
import { Pod } from "../../kube/api/builtin.ts";
import type { FinalizeResult, ReconcileContext } from "../../kube/controller/controller.ts";
import type { KubeObject } from "../../kube/api/object.ts";
import type { ResourceRef } from "../../kube/api/resource-ref.ts";
import { LABELS } from "../../crds/labels.ts";
import type { LRP } from "../../crds/lrp/lrp.ts";

/** A pod that should have ended this long ago is on a node that does not answer: Kubernetes keeps it until the node is back or removed. */
const LOST_AFTER_MS = 30_000;

/**
 * As endWorkload, but it does not wait for pods of lost nodes, since the app's next version would not start. Services send them nothing.
 * The controller must watch the pods.
 */
export async function endInstances(ref: ResourceRef, lrp: LRP, context: ReconcileContext): Promise<FinalizeResult> {
  const ending = await endWorkload(ref, lrp, context);
  if (!ending) return undefined;
  const { namespace = "", name } = lrp.metadata;
  const lostBefore = context.now().getTime() - LOST_AFTER_MS;
  const pods = context.read.list(Pod, { namespace, labels: { [LABELS.lrp]: name } });
  const areLost = pods.every(({ metadata }) => Date.parse(metadata.deletionTimestamp ?? "") <= lostBefore);
  return pods.length > 0 && areLost ? undefined : { ...ending, requeueAfterMs: LOST_AFTER_MS };
}

/** Deletes the owner's object of the same name in the foreground: the garbage collector removes it after its pods. Undefined when it is gone. */
export async function endWorkload(
  ref: ResourceRef,
  owner: KubeObject,
  { client }: ReconcileContext,
): Promise<FinalizeResult> {
  const found = await client.find(ref, owner.metadata);
  // It may belong to a later owner of the same name.
  if (!found || !isWorkloadOf(owner, found)) return undefined;
  const { uid, deletionTimestamp } = found.metadata;
  if (!deletionTimestamp)
    await client.delete(ref, found.metadata, {
      propagationPolicy: "Foreground",
      preconditions: { ...(uid && { uid }) },
    });
  return { ready: { status: "False", reason: "Stopping", message: "its pods are ending" } };
}

/** A workload without owners was handed over, and its runner has not taken it back yet. */
function isWorkloadOf({ metadata: { name, uid } }: KubeObject, { metadata }: KubeObject): boolean {
  const owners = metadata.ownerReferences ?? [];
  return owners.some((owner) => owner.uid === uid) || (owners.length === 0 && metadata.labels?.[LABELS.lrp] === name);
}
