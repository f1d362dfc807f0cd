// `cup clusters detach`: a cluster leaves the platform with its apps. What the platform made there runs on, and has no mark of the platform any more.
import { BUNDLE_KINDS } from "../../crds/cluster-bundle/bundle-kinds.ts";
import { Cluster } from "../../crds/cluster/cluster.ts";
import { SYSTEM_NAMESPACE } from "../../crds/groups.ts";
import { LRP } from "../../crds/lrp/lrp.ts";
import { RouteBinding } from "../../crds/route-binding/route-binding.ts";
import { TaskRun } from "../../crds/task-run/task-run.ts";
import { Namespace, NetworkPolicy, Secret } from "../../kube/api/builtin.ts";
import type { KubeObject } from "../../kube/api/object.ts";
import type { ResourceRef } from "../../kube/api/resource-ref.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { isConflict, isNotFound } from "../../kube/client/errors.ts";
import type { RemoteMarkers } from "../../kube/controller/controller.ts";
import { toRemoteMarkers } from "../../platform/operations/controller-settings.ts";
import { readHubId } from "../../platform/operations/hub-id.ts";
import { confirm } from "../confirm.ts";
import { Failure } from "../failure.ts";
import type { Progress, Result } from "../output.ts";
import { forgetObjects } from "./drain.ts";
import { withSpoke, type SpokeContext } from "./spoke-access.ts";

export interface DetachOptions extends SpokeContext {
  force?: boolean;
}

/** All that the platform makes on another cluster, but the namespaces: by their label the platform's processes there keep their rights. */
const KINDS: readonly ResourceRef[] = [
  ...new Set<ResourceRef>([LRP, TaskRun, RouteBinding, Secret, NetworkPolicy, ...BUNDLE_KINDS]),
];

/** A write that was under way when the platform let go comes to its end within one look more. */
const MAX_LOOKS = 5;

/** May be repeated, also when the platform has forgotten the cluster already. */
export async function detachCluster(
  kube: KubeClient,
  name: string,
  { force, progress, ...context }: DetachOptions & { progress: Progress },
): Promise<Result> {
  const cluster = await kube.find(Cluster, { namespace: SYSTEM_NAMESPACE, name });
  const markers = toRemoteMarkers(cluster?.status?.hub ?? (await readHubId(kube)));
  return withSpoke(context, async (spoke) => {
    if (cluster) await requireSame(cluster, spoke);
    await confirm(
      `Detach cluster ${name}? Its apps run on there without this platform, which starts them on other clusters as well, and fails its tasks there.`,
      force,
    );
    if (cluster) {
      progress.step(`Letting cluster ${name} go`);
      await forgetObjects(kube, name, "");
    }
    progress.step("Taking the marks of the platform off");
    return present(name, await release(spoke, markers));
  });
}

/** @throws Failure */
async function requireSame({ metadata: { name }, status }: Cluster, spoke: KubeClient): Promise<void> {
  const { metadata } = await spoke.get(Namespace, { name: "kube-system" });
  if (status?.clusterUID === metadata.uid) return;
  throw new Failure(
    status?.clusterUID === undefined
      ? `the platform has never reached cluster ${name}`
      : `the context is of another cluster than ${name}`,
    {
      next:
        status?.clusterUID === undefined
          ? `cup clusters forget ${name}`
          : "name the right one: --kubeconfig FILE --context CONTEXT",
    },
  );
}

/** Number of objects by kind. @throws Failure when somebody goes on marking them */
async function release(spoke: KubeClient, markers: RemoteMarkers): Promise<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (let look = 0; look < MAX_LOOKS; look++) {
    let left = 0;
    for (const ref of KINDS) {
      const released = await releaseKind(spoke, ref, markers);
      if (released > 0) counts[ref.plural] = (counts[ref.plural] ?? 0) + released;
      left += released;
    }
    if (left === 0) return counts;
  }
  throw new Failure("objects there get the marks of the platform again and again", {
    next: "see that no replica of the platform runs with an old Cluster, and repeat this",
  });
}

async function releaseKind(spoke: KubeClient, ref: ResourceRef, markers: RemoteMarkers): Promise<number> {
  let count = 0;
  for await (const object of listMarked(spoke, ref, markers)) {
    const { metadata } = object;
    const key = { name: metadata.name, ...(metadata.namespace !== undefined && { namespace: metadata.namespace }) };
    const body = { metadata: withoutHubMarks(object, markers) };
    // A status may be written meanwhile, and what has gone needs nothing: the next look tells.
    await spoke.patch(ref, key, { type: "merge", body }).catch((error: unknown) => {
      if (!isConflict(error) && !isNotFound(error)) throw error;
    });
    count++;
  }
  return count;
}

/** None where the cluster lacks the kind. */
async function* listMarked(
  spoke: KubeClient,
  ref: ResourceRef,
  { hubLabel, hub }: RemoteMarkers,
): AsyncIterable<KubeObject> {
  try {
    for await (const { items } of spoke.pages(ref, { labelSelector: `${hubLabel}=${hub}`, metadata: true }))
      yield* items;
  } catch (error) {
    if (!isNotFound(error)) throw error;
  }
}

/** The patch of metadata that makes an object the cluster's own. Pure. */
export function withoutHubMarks(
  { metadata }: Pick<KubeObject, "metadata">,
  { fieldManager, hubLabel, ownerLabel, ownerAnnotation }: RemoteMarkers,
): Record<string, unknown> {
  return {
    resourceVersion: metadata.resourceVersion,
    labels: { [hubLabel]: null, [ownerLabel]: null },
    annotations: { [ownerAnnotation]: null },
    managedFields: (metadata.managedFields ?? []).filter(({ manager }) => manager !== fieldManager),
  };
}

function present(name: string, released: Record<string, number>): Result {
  const counts = Object.entries(released).map(([plural, count]) => `${count} ${plural}`);
  return {
    json: { name, released },
    text: [
      `Cluster ${name} is detached: ${counts.length > 0 ? counts.join(", ") : "nothing of the platform"} there now belongs to the cluster alone.`,
      `Next: kubectl get lrps -A there; to end the platform's rights: kubectl delete serviceaccount cupola-hub -n ${SYSTEM_NAMESPACE}`,
    ],
  };
}
