// `cup clusters detach`: a cluster leaves the platform with its apps. What the platform made there runs on, and has no mark of the platform any more.
import { setTimeout as delay } from "node:timers/promises";
import { BUNDLE_KINDS } from "../../crds/cluster-bundle/bundle-kinds.ts";
import { Cluster } from "../../crds/cluster/cluster.ts";
import { SYSTEM_NAMESPACE } from "../../crds/groups.ts";
import { LRP } from "../../crds/lrp/lrp.ts";
import { RouteBinding } from "../../crds/route-binding/route-binding.ts";
import { TaskRun } from "../../crds/task-run/task-run.ts";
import { Namespace, NetworkPolicy, Secret, SelfSubjectAccessReview } from "../../kube/api/builtin.ts";
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

/** A write that was under way when the platform let go comes to its end within a look or two. */
const MAX_LOOKS = 5;
const LOOK_MS = 1_000;

const ADMINISTRATOR = "use a context of an administrator of that cluster";

/** May be repeated, also when the platform has forgotten the cluster already. */
export async function detachCluster(
  kube: KubeClient,
  name: string,
  { force, progress, ...context }: DetachOptions & { progress: Progress },
): Promise<Result> {
  const { items } = await kube.list(Cluster, { namespace: SYSTEM_NAMESPACE });
  const cluster = items.find(({ metadata }) => metadata.name === name);
  const markers = toRemoteMarkers(cluster?.status?.hub ?? (await readHubId(kube)));
  const hub = await readUID(kube);
  const server = await withSpoke(
    context,
    async (spoke, access) => {
      const refusal = judgeContext(name, { uid: await readUID(spoke), hub, clusters: items });
      if (refusal) throw refusal;
      await requireRights(spoke, markers);
      return access.server;
    },
    ADMINISTRATOR,
  );
  await confirm(
    `Detach cluster ${name}, ${server}? Its apps run on there without this platform, which starts them on other clusters as well, and fails its tasks there.`,
    force,
  );
  if (cluster) {
    progress.step(`Letting cluster ${name} go`);
    await forgetObjects(kube, name, "");
  }
  progress.step("Taking the marks of the platform off");
  return present(name, await withSpoke(context, (spoke) => release(spoke, markers), ADMINISTRATOR));
}

async function readUID(kube: KubeClient): Promise<string | undefined> {
  return (await kube.get(Namespace, { name: "kube-system" })).metadata.uid;
}

/** Whether the context is that of the cluster, or of one that the platform does not have any more. Pure. */
export function judgeContext(
  name: string,
  { uid, hub, clusters }: { uid: string | undefined; hub: string | undefined; clusters: readonly Cluster[] },
): Failure | undefined {
  const next = "name the right context: --kubeconfig FILE --context CONTEXT";
  if (uid === undefined || uid === hub) return new Failure("the context is of the platform's own cluster", { next });
  const cluster = clusters.find(({ metadata }) => metadata.name === name);
  if (cluster && cluster.status?.clusterUID === undefined)
    return new Failure(`the platform has never reached cluster ${name}`, { next: `cup clusters forget ${name}` });
  const other = clusters.find(({ status }) => status?.clusterUID === uid);
  if (other && other.metadata.name !== name)
    return new Failure(`the context is of cluster ${other.metadata.name}`, {
      next: `cup clusters detach ${other.metadata.name}, or ${next}`,
    });
  return cluster && !other ? new Failure(`the context is of another cluster than ${name}`, { next }) : undefined;
}

/** Before anything is let go: whether all kinds can be read, and changed. @throws Failure */
async function requireRights(spoke: KubeClient, markers: RemoteMarkers): Promise<void> {
  for (const ref of KINDS) {
    await listMarked(spoke, ref, markers).next();
    const { group, plural: resource } = ref;
    const resourceAttributes = { group, resource, verb: "patch" };
    const { status } = await spoke.review(SelfSubjectAccessReview, { spec: { resourceAttributes } });
    if (status?.allowed !== true)
      throw new Failure(`the user of the context may not patch ${resource} there`, {
        next: ADMINISTRATOR,
      });
  }
}

/** Number of objects by kind. @throws Failure when somebody goes on marking them */
async function release(spoke: KubeClient, markers: RemoteMarkers): Promise<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (let look = 0; look < MAX_LOOKS; look++) {
    if (look > 0) await delay(LOOK_MS);
    if (!(await releaseSeen(spoke, markers, counts))) return counts;
  }
  throw new Failure("objects there get the marks of the platform again and again", {
    next: "see that no replica of the platform runs with an old Cluster, and repeat this",
  });
}

/** Adds to the counts. False when nothing has the marks. */
async function releaseSeen(
  spoke: KubeClient,
  markers: RemoteMarkers,
  counts: Record<string, number>,
): Promise<boolean> {
  let isSeen = false;
  for (const ref of KINDS)
    for await (const object of listMarked(spoke, ref, markers)) {
      isSeen = true;
      if (await releaseObject(spoke, ref, object, markers)) counts[ref.plural] = (counts[ref.plural] ?? 0) + 1;
    }
  return isSeen;
}

/** False for one whose status was written meanwhile, or that has gone: the next look tells. */
async function releaseObject(
  spoke: KubeClient,
  ref: ResourceRef,
  object: KubeObject,
  markers: RemoteMarkers,
): Promise<boolean> {
  const { name, namespace } = object.metadata;
  const body = { metadata: withoutHubMarks(object, markers) };
  return spoke.patch(ref, { name, ...(namespace !== undefined && { namespace }) }, { type: "merge", body }).then(
    () => true,
    (error: unknown) => {
      if (isConflict(error) || isNotFound(error)) return false;
      throw error;
    },
  );
}

/** None where the cluster lacks the kind. */
async function* listMarked(
  spoke: KubeClient,
  ref: ResourceRef,
  { hubLabel, hub }: RemoteMarkers,
): AsyncGenerator<KubeObject, void> {
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
