// Deletes the contents of a space's namespace: all objects of our kinds, with their finalizers, before the namespace itself.
import { DEFINITIONS } from "../../crds/definitions.ts";
import { LRP } from "../../crds/lrp/lrp.ts";
import { ServiceBroker } from "../../crds/service-broker/service-broker.ts";
import { ServiceOffering } from "../../crds/service-offering/service-offering.ts";
import { ServicePlan } from "../../crds/service-plan/service-plan.ts";
import { ServiceInstance } from "../../crds/service-instance/service-instance.ts";
import type { FinalizeResult, ReconcileContext } from "../../kube/controller/controller.ts";
import type { KubeObject } from "../../kube/api/object.ts";
import type { ResourceRef } from "../../kube/api/resource-ref.ts";
import { deleteAll } from "../shared/history-limits.ts";

const STAGES = ["first", "early", undefined, "last"] as const;

/** Every kind that lives in spaces, in order of deletion: kinds that create others come first, so that nothing is created again. */
export const SPACE_CONTENT_KINDS: readonly ResourceRef[] = STAGES.flatMap((stage) =>
  DEFINITIONS.filter(({ livesIn, deletedWithSpace }) => livesIn?.includes("space") && deletedWithSpace === stage),
);

/** Objects of our kinds in a namespace, by kind. */
type SpaceContents = readonly { ref: ResourceRef; objects: readonly KubeObject[] }[];

/** The contents according to the cache. */
export function listCachedContents(namespace: string, { read }: ReconcileContext): SpaceContents {
  return SPACE_CONTENT_KINDS.map((ref) => ({ ref, objects: read.list(ref, { namespace }) }));
}

/** The contents, read live: the last check before an adopted namespace is released, because a stalled watch may have missed objects. */
export async function listLiveContents(namespace: string, { client }: ReconcileContext): Promise<SpaceContents> {
  return await Promise.all(
    SPACE_CONTENT_KINDS.map(async (ref) => ({ ref, objects: (await client.list(ref, { namespace })).items })),
  );
}

/** A broker is asked to delete its instances, so it goes after them. */
function withoutBrokersInUse(remaining: SpaceContents): SpaceContents {
  if (!remaining.some(({ ref }) => ref === ServiceInstance)) return remaining;
  return remaining.filter(({ ref }) => ref !== ServiceBroker && ref !== ServicePlan && ref !== ServiceOffering);
}

/** Deletes the contents, but for LRPs that were handed over: people end these. Undefined when the namespace has none. */
export async function deleteContents(
  namespace: string,
  contents: SpaceContents,
  { client }: ReconcileContext,
): Promise<FinalizeResult> {
  const remaining = contents.filter(({ objects }) => objects.length > 0);
  const ours = remaining
    .map(({ ref, objects }) => ({ ref, objects: objects.filter((object) => !isDetached(ref, object)) }))
    .filter(({ objects }) => objects.length > 0);
  for (const { ref, objects } of withoutBrokersInUse(ours))
    await deleteAll(
      client,
      ref,
      objects.filter((object) => !object.metadata.deletionTimestamp),
    );
  if (remaining.length === 0) return undefined;
  if (ours.length === 0) return waitForDetached(namespace, remaining);
  const counts = ours.map(({ ref, objects }) => `${objects.length} ${ref.plural}`).join(", ");
  // Each deletion enqueues the Space; the delay covers an object that was deleted before its watch event.
  const message = `waiting until namespace ${namespace} is empty: ${counts}`;
  return { ready: { status: "False", reason: "ContentsRemain", message }, requeueAfterMs: 1000 };
}

/** An LRP whose workload people took over. */
export function isDetached(ref: ResourceRef, object: KubeObject): boolean {
  return ref === LRP && (object as LRP).spec.detached === true;
}

const MAX_NAMED = 5;

/** The deletion of an LRP enqueues the Space. */
function waitForDetached(namespace: string, remaining: SpaceContents): FinalizeResult {
  const names = remaining.flatMap(({ objects }) => objects.map(({ metadata }) => metadata.name));
  const more = names.length > MAX_NAMED ? `, and ${names.length - MAX_NAMED} more` : "";
  const message = `namespace ${namespace} has workloads that people took over: ${names.slice(0, MAX_NAMED).join(", ")}${more}; delete them, and then their LRPs: kubectl delete cflrp NAME -n ${namespace}`;
  return { ready: { status: "False", reason: "DetachedWorkloads", message, isFailure: true } };
}
