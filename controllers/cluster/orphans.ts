// Finds the objects on another cluster whose owners this platform does not have, and deletes those that orphan-plan.ts lets go.
import { App } from "../../crds/app/app.ts";
import type { Cluster } from "../../crds/cluster/cluster.ts";
import { guidOf } from "../../crds/guid.ts";
import { LRP } from "../../crds/lrp/lrp.ts";
import { Process } from "../../crds/process/process.ts";
import { RouteBinding } from "../../crds/route-binding/route-binding.ts";
import { Namespace } from "../../kube/api/builtin.ts";
import { parseKey, type KubeObject, type ObjectKey } from "../../kube/api/object.ts";
import type { ResourceRef } from "../../kube/api/resource-ref.ts";
import { isUnreadable } from "../../kube/cache/errors.ts";
import type { Reader } from "../../kube/cache/reader.ts";
import { isConflict, isNotFound } from "../../kube/client/errors.ts";
import { parseRemoteOwner } from "../../kube/controller/child-marking.ts";
import type {
  ConditionDraft,
  ReconcileContext,
  RemoteCluster,
  RemoteMarkers,
} from "../../kube/controller/controller.ts";
import { planOrphans, toOrphanConditions, type OrphanChild } from "./orphan-plan.ts";

/** A kind of children, and the owners of its objects. */
interface ChildKind {
  child: ResourceRef;
  owner: ResourceRef;
  /** The id by which children name this owner. */
  idOf: (owner: KubeObject, read: Reader) => string | undefined;
}

const CHILD_KINDS: readonly ChildKind[] = [
  { child: LRP, owner: Process, idOf: (owner, read) => processId(owner as Process, read) },
  { child: RouteBinding, owner: RouteBinding, idOf: (owner) => (owner as RouteBinding).spec.routeGUID },
];

/** The kinds on other clusters that may have lost their owners. */
export const ORPHAN_KINDS: readonly ResourceRef[] = CHILD_KINDS.map(({ child }) => child);
/** The kinds that tell whether an owner is there. */
export const OWNER_KINDS: readonly ResourceRef[] = [App, Process, RouteBinding, Namespace];

/** The web process presents its app's GUID. */
function processId({ metadata, spec }: Process, read: Reader): string | undefined {
  if (spec.type !== "web") return guidOf({ metadata } as Process);
  const app = read.find(App, { namespace: metadata.namespace, name: spec.appRef.name });
  return app && guidOf(app);
}

export interface SettledOrphans {
  status: Pick<NonNullable<Cluster["status"]>, "orphans" | "orphansDeleted" | "allowedDeletes">;
  conditions: ConditionDraft[];
}

type Context = Pick<ReconcileContext, "read" | "client" | "log" | "now"> & { markers: RemoteMarkers };

/** Undefined, and nothing is deleted, while a cache of the platform's own cluster cannot be read. `remote`: a cluster all of whose caches can be. */
export async function settleOrphans(
  cluster: Cluster,
  remote: RemoteCluster,
  { clusters: { markers }, ...context }: Omit<Context, "markers"> & Pick<ReconcileContext, "clusters">,
): Promise<SettledOrphans | undefined> {
  if (!markers) return undefined;
  try {
    return await settle(cluster, remote, { ...context, markers });
  } catch (error) {
    if (isUnreadable(error)) return undefined;
    throw error;
  }
}

async function settle(cluster: Cluster, remote: RemoteCluster, context: Context): Promise<SettledOrphans> {
  const seen = listOrphans(remote.read, context);
  const plan = planOrphans(cluster, { seen, lrps: remote.read.list(LRP).length, now: context.now() });
  const { recent } = plan;
  const deleted = await deleteAll(plan.due, remote, context);
  const count = recent.count + (plan.isReleased ? 0 : deleted);
  return {
    status: {
      orphans: plan.orphans.length > 0 ? plan.orphans : undefined,
      orphansDeleted: count > 0 ? { ...recent, count } : undefined,
      allowedDeletes: cluster.spec.allowDeletes,
    },
    conditions: toOrphanConditions(cluster, plan),
  };
}

function listOrphans(there: Reader, { read, markers }: Context): OrphanChild[] {
  return CHILD_KINDS.flatMap((kinds) =>
    there.list(kinds.child).flatMap((object): OrphanChild[] => {
      const { namespace = "", name, uid = "", deletionTimestamp } = object.metadata;
      if (deletionTimestamp) return [];
      const key = ownerOf(object, kinds, markers);
      const owner = key && read.find(kinds.owner, key);
      if (owner && isOwner(owner, object, { ...kinds, read, markers })) return [];
      const hasNoSpace = key?.namespace === undefined || read.find(Namespace, { name: key.namespace }) === undefined;
      return [{ kind: kinds.child.kind, namespace, name, uid, hasNoSpace }];
    }),
  );
}

/** Undefined where somebody has changed the mark. */
function ownerOf({ metadata }: KubeObject, { owner }: ChildKind, markers: RemoteMarkers): ObjectKey | undefined {
  const text = parseRemoteOwner(owner, metadata.annotations?.[markers.ownerAnnotation]);
  return text === undefined ? undefined : parseKey(text);
}

/** An owner whose id is not known now counts as the one that is named. */
function isOwner(
  owner: KubeObject,
  child: KubeObject,
  { idOf, read, markers }: Pick<ChildKind, "idOf"> & Pick<Context, "read" | "markers">,
): boolean {
  const id = idOf(owner, read);
  return id === undefined || id === child.metadata.labels?.[markers.ownerLabel];
}

/** Returns their number. One that fails is tried again at the next look. */
async function deleteAll(due: readonly OrphanChild[], remote: RemoteCluster, context: Context): Promise<number> {
  let count = 0;
  for (const orphan of due)
    try {
      if (await deleteOrphan(orphan, remote, context)) count++;
    } catch (err) {
      context.log.warn({ err, orphan: `${orphan.kind} ${orphan.namespace}/${orphan.name}` }, "an orphan stays");
    }
  return count;
}

/** False when it was not deleted. */
async function deleteOrphan(
  { kind, namespace, name, uid }: OrphanChild,
  remote: RemoteCluster,
  context: Context,
): Promise<boolean> {
  const kinds = CHILD_KINDS.find(({ child }) => child.kind === kind);
  const object = kinds && remote.read.find(kinds.child, { namespace, name });
  if (!kinds || object?.metadata.uid !== uid) return false;
  if (await hasLiveOwner(object, kinds, context)) return false;
  try {
    await remote.client.delete(kinds.child, { namespace, name }, { preconditions: { uid } });
    return true;
  } catch (error) {
    if (isNotFound(error) || isConflict(error)) return false;
    throw error;
  }
}

/** Asks the platform's own API server: a cache may miss an owner. A list, since it fails where the kind is gone, and a get would not. */
async function hasLiveOwner(child: KubeObject, kinds: ChildKind, context: Context): Promise<boolean> {
  const key = ownerOf(child, kinds, context.markers);
  if (!key?.namespace) return false;
  const fieldSelector = `metadata.name=${key.name}`;
  const { items } = await context.client.list(kinds.owner, { namespace: key.namespace, fieldSelector });
  return items.some((owner) => isOwner(owner, child, { ...kinds, ...context }));
}
