// Quotas of numbers: what would exceed one is not put in force, says so, and is looked at again when there is room.
import { ageSortKey } from "../../crds/guid.ts";
import { Org } from "../../crds/org/org.ts";
import {
  findFullPlaces,
  waitingReason,
  wantsRoom,
  type Counted,
  type CountLimits,
  type QuotaPlace,
} from "../../crds/org-quota/counts.ts";
import { OrgQuota } from "../../crds/org-quota/org-quota.ts";
import { SpaceQuota } from "../../crds/space-quota/space-quota.ts";
import { Space } from "../../crds/space/space.ts";
import type { KubeObject, ObjectKey } from "../../kube/api/object.ts";
import type { ResourceRef } from "../../kube/api/resource-ref.ts";
import type { IndexFunction, Reader } from "../../kube/cache/reader.ts";
import { watch, type ReadyDraft, type WatchRule } from "../../kube/controller/controller.ts";
import { findOrgQuota, findSpaceOfNamespace, findSpaceQuota } from "./quotas.ts";
import { findOrgOfNamespace } from "./tenancy.ts";

/** Index of the objects that wait for room in a quota, under one key. */
const WAITING_INDEX = "controllers/waits-for-quota";
const WAITING = "waits";
const ALL_WAITING = { [WAITING_INDEX]: WAITING };

/** A limit of both quotas, or of those of orgs. */
type LimitName =
  | "totalRoutes"
  | "totalReservedPorts"
  | "totalDomains"
  | "totalAppTasks"
  | "totalServiceInstances"
  | "totalServiceKeys";

/** Objects that a limit counts. */
export interface CountedKind<T extends KubeObject> {
  ref: ResourceRef<T>;
  limit: LimitName;
  /** In the plural, for messages. */
  noun: string;
  /** The reason of the Ready condition of objects that wait. Each limit of a kind has its own. */
  reason: string;
  counts: (object: T) => boolean;
  isInForce: (object: T, read: Reader) => boolean;
}

/** For the controller of the kind. */
export const WAITING_INDEXES: Readonly<Record<string, IndexFunction<KubeObject>>> = {
  [WAITING_INDEX]: (object) => (waitingReason(object) ? [WAITING] : []),
};

/** For the controller of the kind: what may make room. */
export function quotaWatches(ref: ResourceRef, ...others: readonly ResourceRef[]): WatchRule[] {
  return [
    ...[ref, ...others].map((each) => watch(each, (object, read) => wakeOrg(ref, each, object, read))),
    watch(OrgQuota, () => ALL_WAITING),
    watch(SpaceQuota, () => ALL_WAITING),
    watch(Org, () => ALL_WAITING),
    watch(Space, () => ALL_WAITING),
  ];
}

/** Those of the object's org that wait. One that goes on waiting makes no room for others that wait for the same reason; a deleted one may have had a place. */
function wakeOrg(ref: ResourceRef, changed: ResourceRef, object: KubeObject, read: Reader): ObjectKey[] {
  const reason = read.find(changed, object.metadata) && waitingReason(object);
  const waiting = read.byIndex(ref, WAITING_INDEX, WAITING).filter((one) => waitingReason(one) !== reason);
  if (waiting.length === 0) return [];
  const org = findOrg(object.metadata.namespace, read);
  return waiting
    .filter(({ metadata }) => findOrg(metadata.namespace, read) === org)
    .map(({ metadata }) => toKey(metadata));
}

function toKey({ namespace, name }: KubeObject["metadata"]): ObjectKey {
  return { ...(namespace && { namespace }), name };
}

/** The org of a namespace: its own, or that of one of its spaces. */
function findOrg(namespace: string | undefined, read: Reader): Org | undefined {
  const space = findSpaceOfNamespace(read, namespace ?? "");
  return findOrgOfNamespace(read, space?.metadata.namespace ?? namespace ?? "");
}

/** Why quotas keep this object out of force; undefined where they do not. */
export function findFullQuota<T extends KubeObject>(
  object: T,
  kind: CountedKind<T>,
  read: Reader,
): ReadyDraft | undefined {
  if (!kind.counts(object) || kind.isInForce(object, read)) return undefined;
  const org = findOrg(object.metadata.namespace, read);
  if (!org) return undefined;
  const spaces = read.list(Space, { namespace: org.status?.namespace ?? "" });
  const limits = findLimits(org, spaces, { limit: kind.limit, read });
  if (limits.organization === undefined && limits.spaces.size === 0) return undefined;
  const others = listCounted(kind, [org, ...spaces], read).filter(({ uid }) => uid !== object.metadata.uid);
  const own = toWaiting(object);
  const [place] = findFullPlaces(own, others, limits);
  return place && toExceeded(kind, { place, limit: limitAt(place, own, limits) });
}

function limitAt(place: QuotaPlace, { namespace }: Counted, { organization, spaces }: CountLimits): number {
  return (place === "space" ? spaces.get(namespace) : organization) ?? 0;
}

/** All of an org and its spaces. */
function listCounted<T extends KubeObject>(
  kind: CountedKind<T>,
  owners: readonly (Org | Space)[],
  read: Reader,
): Counted[] {
  return owners
    .flatMap(({ status }) => status?.namespace ?? [])
    .flatMap((namespace) => read.list(kind.ref, { namespace }))
    .filter(kind.counts)
    .flatMap((one) => toCounted(one, kind, read));
}

function findLimits(
  org: Org,
  spaces: readonly Space[],
  { limit, read }: { limit: LimitName; read: Reader },
): CountLimits {
  const limitOf = (quota: OrgQuota | SpaceQuota | undefined): number | undefined =>
    (quota?.spec as Partial<Record<LimitName, number>> | undefined)?.[limit];
  const ofSpaces = spaces.flatMap((space): [string, number][] => {
    const most = limitOf(findSpaceQuota(read, space));
    const { namespace } = space.status ?? {};
    return most === undefined || namespace === undefined ? [] : [[namespace, most]];
  });
  return { organization: limitOf(findOrgQuota(read, org)), spaces: new Map(ofSpaces) };
}

/** An object that another rule keeps out of force does not count. */
function toCounted<T extends KubeObject>(object: T, kind: CountedKind<T>, read: Reader): Counted[] {
  if (kind.isInForce(object, read)) return [{ ...toWaiting(object), isInForce: true }];
  return wantsRoom(object, kind.reason) ? [toWaiting(object)] : [];
}

function toWaiting(object: KubeObject): Counted {
  const { uid = "", namespace = "" } = object.metadata;
  return { uid, namespace, order: ageSortKey(object), isInForce: false };
}

function toExceeded(
  { noun, reason }: { noun: string; reason: string },
  { place, limit }: { place: QuotaPlace; limit: number },
): ReadyDraft {
  return {
    status: "False",
    reason,
    message: `the quota of the ${place} allows ${limit} ${noun}: delete others, or have the quota raised`,
    isFailure: true,
  };
}
