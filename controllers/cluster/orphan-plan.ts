// Objects on another cluster whose owners this platform does not have. Nobody told to delete them, so they wait for an hour, and for a person where many
// would be deleted at once: a platform that lost its own objects must not end the apps that still run. Pure.
import { MAX_ORPHANS, type Cluster, type Orphan } from "../../crds/cluster/cluster.ts";
import type { ConditionDraft } from "../../kube/controller/controller.ts";
import { DELETE_WINDOW_MS, deleteLimit } from "../shared/delete-limit.ts";

/** An object of this platform on a cluster, without its owner. */
export interface OrphanChild extends Omit<Orphan, "since"> {
  /** The space of its owner is gone as well. No deletion of a space leaves children behind, so only a person lets it go. */
  hasNoSpace: boolean;
}

interface ListedOrphan extends OrphanChild {
  since: string;
}

export interface OrphanInput {
  /** Orphans that the cluster has now. */
  seen: readonly OrphanChild[];
  /** Number of LRPs of this platform there. */
  lrps: number;
  now: Date;
}

export interface OrphanPlan {
  /** For the status. */
  orphans: Orphan[];
  /** To be deleted now. */
  due: OrphanChild[];
  /** A person lets those that are due go: they do not count. */
  isReleased: boolean;
  /** Those deleted within ten minutes before. */
  recent: NonNullable<NonNullable<Cluster["status"]>["orphansDeleted"]>;
  /** Those whose hour is over and that are held. */
  held: OrphanChild[];
  /** Number of those with a space for which the status has no room. */
  unlisted: number;
  limit: number;
}

export const HOLD_MS = 60 * 60_000;

export function planOrphans({ spec, status }: Cluster, { seen, lrps, now }: OrphanInput): OrphanPlan {
  const listed = listOrphans(status?.orphans ?? [], seen, now);
  const recent = toWindow(status?.orphansDeleted, now);
  const limit = deleteLimit(lrps);
  const unlisted = countOwn(seen) - countOwn(listed);
  const orphans = listed.map(({ hasNoSpace: _, ...orphan }) => orphan);
  const known = new Set((status?.orphans ?? []).map(({ uid }) => uid));
  // A person lets those go that the status told of.
  const due = listed.filter(({ uid }) => known.has(uid));
  if (isReleased(spec, status)) return { orphans, due, isReleased: true, recent, held: [], unlisted, limit };
  const ripe = listed.filter(({ since }) => now.getTime() - Date.parse(since) >= HOLD_MS);
  const own = ripe.filter(({ hasNoSpace }) => !hasNoSpace);
  const isMany = recent.count + own.length + unlisted > limit;
  const held = isMany ? ripe : ripe.filter(({ hasNoSpace }) => hasNoSpace);
  return { orphans, due: isMany ? [] : own, isReleased: false, recent, held, unlisted, limit };
}

function countOwn(orphans: readonly OrphanChild[]): number {
  return orphans.filter(({ hasNoSpace }) => !hasNoSpace).length;
}

/** A value that was there before the status, as in a restored backup, lets nothing go. */
function isReleased(spec: Cluster["spec"], status: Cluster["status"]): boolean {
  const taken = status?.allowedDeletes;
  return taken !== undefined && spec.allowDeletes !== "" && spec.allowDeletes !== taken;
}

/** Those that are known come first, so that their hour goes on. */
function listOrphans(before: readonly Orphan[], seen: readonly OrphanChild[], now: Date): ListedOrphan[] {
  const since = new Map(before.map((one) => [one.uid, one.since]));
  return seen
    .map((one) => ({ ...one, since: since.get(one.uid) ?? now.toISOString() }))
    .toSorted((a, b) => (sortKey(a) < sortKey(b) ? -1 : 1))
    .slice(0, MAX_ORPHANS);
}

function sortKey({ since, kind, namespace, name }: ListedOrphan): string {
  return `${since} ${kind} ${namespace}/${name}`;
}

function toWindow(before: OrphanPlan["recent"] | undefined, now: Date): OrphanPlan["recent"] {
  const isOver = !before || now.getTime() - Date.parse(before.since) >= DELETE_WINDOW_MS;
  return isOver ? { since: now.toISOString(), count: 0 } : before;
}

/** None while the cluster never had an orphan. */
export function toOrphanConditions(
  { metadata: { name }, status }: Cluster,
  { orphans, ...plan }: OrphanPlan,
): ConditionDraft[] {
  const isSaid = status?.conditions?.some(({ type }) => type === "Orphans") ?? false;
  if (orphans.length === 0 && !isSaid) return [];
  return [toOrphansCondition(name, orphans), toHeldCondition(name, plan)];
}

function toOrphansCondition(cluster: string, orphans: readonly Orphan[]): ConditionDraft {
  const type = "Orphans";
  const [first] = orphans;
  if (!first)
    return { type, status: "False", reason: "None", message: `every object on cluster ${cluster} has its owner` };
  const count = orphans.length < MAX_ORPHANS ? String(orphans.length) : `${MAX_ORPHANS} or more`;
  return {
    type,
    status: "True",
    reason: "OwnersMissing",
    message: `${count} objects on cluster ${cluster} have owners that this platform does not have, such as ${first.kind} ${first.namespace}/${first.name}; each is deleted an hour after it was first seen. Where the owners were lost, restore them before; cup clusters allow-deletes ${cluster} deletes these objects at once`,
  };
}

function toHeldCondition(
  cluster: string,
  { held, unlisted, limit, recent }: Pick<OrphanPlan, "held" | "unlisted" | "limit" | "recent">,
): ConditionDraft {
  const type = "DeletesHeld";
  if (held.length === 0)
    return { type, status: "False", reason: "None", message: `no deletion on cluster ${cluster} is held` };
  const isMany = held.some(({ hasNoSpace }) => !hasNoSpace);
  const why = isMany
    ? `of which at most ${Math.max(limit - recent.count, 0)} may go within ten minutes`
    : "since their spaces are missing, too";
  return {
    type,
    status: "True",
    reason: isMany ? "TooMany" : "SpacesMissing",
    message: `the deletion of ${held.length + (isMany ? unlisted : 0)} objects on cluster ${cluster} is held, ${why}. Where nobody misses them: cup clusters allow-deletes ${cluster}`,
  };
}
