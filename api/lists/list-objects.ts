// Lists of the objects that the caller can see, filtered by the common and the list's own filters, and sorted. Remembered, and kept current change by change.
import { firstFailing } from "../../kube/api/binary-search.ts";
import type { KubeObject } from "../../kube/api/object.ts";
import type { ResourceRef } from "../../kube/api/resource-ref.ts";
import type { Session, ListScope } from "../access/session.ts";
import type { ClusterCache } from "../cache/cluster-cache.ts";
import { metadataOf } from "../http/metadata.ts";
import { timeFilter, type ListParameters } from "../http/query.ts";
import { createdAt, updatedAt } from "../cache/object-times.ts";
import { matchesTimeFilter, type TimeFilter } from "../http/timestamps.ts";
import type { ItemOrder } from "./listed-items.ts";
import { placeOf } from "../cache/change-log.ts";
import { recordSources, rememberedItems, rememberedList, withoutPaging } from "./remembered-lists.ts";

/** The parts of a list that differ between resources. */
export interface ListOptions<T> {
  /** The narrower the cheaper. */
  scope?: ListScope;
  /** The list's own filters. They read the object itself, and other kinds only. */
  filter?: (object: T) => boolean;
  /** An index, and the values under which it has all matching objects: saves the walk over all objects. */
  lookUp?: readonly [index: string, values: readonly string[]] | undefined;
  /** Sort keys of order_by values besides created_at and updated_at. */
  sortKeys?: Record<string, (object: T) => string>;
  /** Sort key without order_by; by creation unless given. */
  defaultSortKey?: (object: T) => string;
  /** Other kinds that filters, order and presentation read. */
  dependsOn?: readonly ResourceRef[];
  /** Those that filters and order of this very request read: a change of one finds the list again. All of `dependsOn` unless given. */
  filterReads?: readonly ResourceRef[];
  /** Namespaces in which their changes count: those of the list unless given. */
  readsIn?: readonly string[] | "anywhere";
  /** `url` of the request; without it the list is not remembered. */
  url?: string;
}

/** The whole list, filtered and sorted: page it afterwards. */
export function listObjects<T extends KubeObject>(
  session: Session,
  ref: ResourceRef<T>,
  query: ListParameters,
  options: ListOptions<T> = {},
): readonly T[] {
  const { url, scope = {}, dependsOn = [], filterReads = dependsOn } = options;
  const order = orderOf(query.order_by, options);
  if (query.guids) {
    const [isInScope, filter] = [scopeFilter(session, ref, scope), filterOf(query, options)];
    return sorted(
      byGUIDs(session, ref, query.guids).filter((object) => isInScope(object) && filter(object)),
      order,
    );
  }
  if (url === undefined || !session.canCacheLists)
    return sorted(session.list(ref, scope, filterOf(query, options)), order);
  if (scope.index) return listByIndex(session, ref, { ...options, url }, { query, order });
  const key = `list ${withoutPaging(url)}`;
  let filter: ((object: T) => boolean) | undefined;
  const items = rememberedItems<T, T>(session, {
    ref,
    key,
    scope,
    findAll: () => {
      const found = matching(session, ref, query, options);
      return order === byCreation ? found : sorted(found, order);
    },
    itemsOf: (object) => ((filter ??= filterOf(query, options))(object) ? [object] : []),
    order,
    reads: filterReads,
    readsIn: options.readsIn,
  });
  recordSources(items, session, { ref, key, dependsOn });
  return items;
}

/** Lists the matches, sorted, among objects that the caller sees by another rule than RBAC alone. */
export function listAmong<T extends KubeObject>(
  { cache, ref, objects }: { cache: ClusterCache; ref: ResourceRef<T>; objects: readonly T[] },
  query: ListParameters,
  options: Pick<ListOptions<T>, "filter" | "sortKeys" | "defaultSortKey">,
): readonly T[] {
  const filter = filterOf(query, options);
  const found = objects.filter((object) => isOneOf(query.guids, cache.guid(ref, object)) && filter(object));
  return sorted(found, orderOf(query.order_by, options));
}

/** The visible objects that match, in the order of creation. The list's index finds them if it has one; else a binary search applies `created_ats`. */
function matching<T extends KubeObject>(
  session: Session,
  ref: ResourceRef<T>,
  query: ListParameters,
  options: ListOptions<T>,
): readonly T[] {
  const { scope = {}, lookUp } = options;
  const created = timeFilter(query, "created_ats");
  if (!lookUp)
    return filtered(
      createdWithin(visibleObjects(session, ref, scope), created),
      filterOf(query, options, created?.in ? { in: created.in } : false),
    );
  const [index, values] = lookUp;
  const store = session.cache.store(ref);
  if (!store.synced) store.list();
  const isInScope = scopeFilter(session, ref, scope);
  const found = [...new Set(values)].flatMap((value) => store.byIndex(index, value));
  const filter = filterOf(query, options);
  const isShown = (object: T): boolean => isInScope(object) && filter(object) && session.canSee(ref, object);
  return sorted([...new Set(found)].filter(isShown), byCreation);
}

/** Those within the bounds of the filter; its exact times (`in`) are left. */
function createdWithin<T extends KubeObject>(objects: readonly T[], created: TimeFilter | undefined): readonly T[] {
  if (!created) return objects;
  const { gt = -Infinity, gte = -Infinity, lt = Infinity, lte = Infinity } = created;
  const secondAt = (at: number): number => secondsOf(createdAt(objects[at] as T));
  const start = firstFailing(0, objects.length, (at) => !(secondAt(at) > gt && secondAt(at) >= gte));
  return objects.slice(
    start,
    firstFailing(0, objects.length, (at) => secondAt(at) < lt && secondAt(at) <= lte),
  );
}

/** The few objects below one value of an index. */
function listByIndex<T extends KubeObject>(
  session: Session,
  ref: ResourceRef<T>,
  options: ListOptions<T> & { url: string },
  { query, order }: { query: ListParameters; order: ObjectOrder<T> },
): readonly T[] {
  const { scope, dependsOn = [] } = options;
  const [index, value] = scope?.index ?? ["", ""];
  // Routes of other namespaces may lead to the app.
  const below = (): readonly T[] => session.cache.store(ref).byIndex(index, value);
  return rememberedList<T>(session, {
    ref,
    url: options.url,
    reads: [ref, ...(options.filterReads ?? dependsOn)],
    ...(index === "app" && {
      namespaces: [...new Set([value.split("/")[0] ?? "", ...below().map(({ metadata }) => metadata.namespace ?? "")])],
    }),
    dependsOn,
    find: () => sorted(session.list(ref, scope, filterOf(query, options)), order),
  });
}

/** A list whose items are parts of objects. */
export interface PartsList<T extends KubeObject, Item> {
  ref: ResourceRef<T>;
  url: string;
  /** The matches among all objects that the caller sees, in order. */
  findAll(objects: readonly T[]): readonly Item[];
  itemsOf(object: T): readonly Item[];
  order: ItemOrder<Item>;
}

/** The parts of the objects that the caller sees, as `listObjects` lists the objects. Its pages show nothing else. */
export function listItems<T extends KubeObject, Item>(
  session: Session,
  { ref, url, findAll, itemsOf, order }: PartsList<T, Item>,
): readonly Item[] {
  if (!session.canCacheLists) return findAll(session.list(ref));
  const key = `list ${withoutPaging(url)}`;
  const items = rememberedItems<T, Item>(session, {
    ref,
    key,
    scope: {},
    findAll: () => findAll(visibleObjects(session, ref)),
    itemsOf,
    order,
    reads: [],
  });
  recordSources(items, session, { ref, key, dependsOn: [] });
  return items;
}

/** All objects of a kind that the caller sees, in the order of creation. Lists with filters search them, so that rights and claims are looked up once. */
export function visibleObjects<T extends KubeObject>(
  session: Session,
  ref: ResourceRef<T>,
  scope: Pick<ListScope, "namespaces"> = {},
): readonly T[] {
  return rememberedItems<T, T>(session, {
    ref,
    key: `visible ${scope.namespaces?.join(" ") ?? "*"}`,
    scope,
    findAll: () => sorted<T>(session.list(ref, scope), byCreation),
    itemsOf: (object) => [object],
    order: byCreation,
    reads: [],
  });
}

function byGUIDs<T extends KubeObject>(session: Session, ref: ResourceRef<T>, guids: readonly string[]): T[] {
  return [...new Set(guids)].flatMap((guid) => session.find(ref, guid) ?? []);
}

/** Whether an object is in the scope of a list, for those found without a walk over the scope. */
function scopeFilter<T extends KubeObject>(
  { cache }: Session,
  ref: ResourceRef<T>,
  { namespaces, index }: ListScope,
): (object: T) => boolean {
  const below = index && new Set(cache.store(ref).byIndex(index[0], index[1]));
  return (object) => (namespaces?.includes(object.metadata.namespace ?? "") ?? true) && (below?.has(object) ?? true);
}

/** A new array always: each list has its own sources (remembered-lists.ts). */
function filtered<T>(objects: readonly T[], filter: ((object: T) => boolean) | typeof all): readonly T[] {
  return filter === all ? objects.slice() : objects.filter(filter);
}

const all = (): boolean => true;

/** The filters that every list has, and its own; `all` when there are none, which saves asking it. */
function filterOf<T extends KubeObject>(
  query: ListParameters,
  { filter }: ListOptions<T>,
  created: TimeFilter | false | undefined = timeFilter(query, "created_ats"),
): (object: T) => boolean {
  const updated = timeFilter(query, "updated_ats");
  const labels = query.label_selector;
  if (!created && !updated && !labels) return filter ?? all;
  return (object) =>
    (!created || matchesTimeFilter(created, secondsOf(createdAt(object)))) &&
    (!updated || matchesTimeFilter(updated, secondsOf(updatedAt(object)))) &&
    (!labels || labels(labelsOf(object))) &&
    (filter?.(object) ?? true);
}

/** The labels that CF shows, made once for each object. */
function labelsOf(object: KubeObject): Record<string, string> {
  let labels = shownLabels.get(object);
  if (!labels) shownLabels.set(object, (labels = metadataOf(object).labels));
  return labels;
}
const shownLabels = new WeakMap<object, Record<string, string>>();

/** Seconds since the epoch of a time in CF's form. Neighbours in a list were often created in the same second. */
function secondsOf(time: string): number {
  if (time !== lastTime.text) lastTime = { text: time, seconds: Date.parse(time) / 1000 };
  return lastTime.seconds;
}
let lastTime = { text: "", seconds: NaN };

interface ObjectOrder<T> extends ItemOrder<T> {
  /** Sort keys before the creation. */
  first?: ((object: T) => string) | undefined;
  direction: 1 | -1;
}

const ownerOf = ({ metadata }: KubeObject): string => metadata.uid ?? "";
const byCreation: ObjectOrder<KubeObject> = {
  direction: 1,
  ownerOf,
  compare: (one, other) => compareText(placeOf(one), placeOf(other)),
  compareToPlace: (item, place) => compareText(placeOf(item), place),
};

/** By `orderBy`, ties by creation. */
function orderOf<T extends KubeObject>(orderBy: string | undefined, options: ListOptions<T>): ObjectOrder<T> {
  const name = orderBy?.replace(/^[+-]/, "") ?? "";
  const direction = orderBy?.startsWith("-") ? -1 : 1;
  const first = sortKey(name, options);
  if (!first && direction === 1) return byCreation;
  return {
    first,
    direction,
    ownerOf,
    compare: (one, other) =>
      direction * ((first ? compareText(first(one), first(other)) : 0) || compareText(placeOf(one), placeOf(other))),
    compareToPlace: first ? undefined : (item, place) => direction * compareText(placeOf(item), place),
  };
}

/** Undefined: by creation. A creation time is where `placeOf` begins. */
function sortKey<T extends KubeObject>(name: string, options: ListOptions<T>): ((object: T) => string) | undefined {
  if (name === "") return options.defaultSortKey;
  if (name === "created_at") return undefined;
  if (name === "updated_at") return updatedAt;
  return options.sortKeys?.[name];
}

/** As `compare` says, with each key made once. */
function sorted<T extends KubeObject>(items: readonly T[], { first, direction }: ObjectOrder<T>): T[] {
  const keyed = items.map((item): [string, string, T] => [first?.(item) ?? "", placeOf(item), item]);
  keyed.sort((one, other) => direction * (compareText(one[0], other[0]) || compareText(one[1], other[1])));
  return keyed.map((entry) => entry[2]);
}

function compareText(one: string, other: string): number {
  return one < other ? -1 : one > other ? 1 : 0;
}

/** Whether a value passes a filter; every value passes an absent one. */
export function isOneOf(values: readonly string[] | undefined, value: string): boolean {
  return !values || values.includes(value);
}
