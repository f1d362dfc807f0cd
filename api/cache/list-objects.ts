// Lists of the objects that the caller can see, filtered by the common and the list's own filters, and sorted. Cached until a dependency changes.
import { LRUCache } from "lru-cache";
import { creationSortKey } from "../../crds/guid.ts";
import type { KubeObject } from "../../kube/api/object.ts";
import type { ResourceRef } from "../../kube/api/resource-ref.ts";
import type { Session, ListScope } from "../access/session.ts";
import { metadataOf } from "../cf/metadata/metadata.ts";
import { timeFilter, type ListParameters } from "../http/query.ts";
import { createdAt, updatedAt } from "./object-times.ts";
import { matchesTimeFilter } from "../http/timestamps.ts";

/** The parts of a list that differ between resources. */
export interface ListOptions<T> {
  /** The narrower the cheaper. */
  scope?: ListScope;
  /** The list's own filters. */
  filter?: (object: T) => boolean;
  /** Sort keys of order_by values besides created_at and updated_at. */
  sortKeys?: Record<string, (object: T) => string>;
  /** Sort key without order_by; by creation unless given. */
  defaultSortKey?: (object: T) => string;
  /** Other kinds that filters, order and presentation read. */
  dependsOn?: readonly ResourceRef[];
  /** `url` of the request; without it the list is not cached. */
  url?: string;
}

/** A list with the state it was built from. */
interface CachedList {
  /** Equal while nothing that the list may depend on has changed in any namespace: cheap to compare. */
  anywhere: string;
  /** Equal while nothing has changed in the list's own namespaces: costs a step for each of them. */
  own: string;
  items: readonly KubeObject[];
}

/** Lists by caller, kind and query. At most 500 lists of references. */
const cachedLists = new WeakMap<object, LRUCache<string, CachedList>>();

/** The whole list, filtered and sorted: page it afterwards. */
export function listObjects<T extends KubeObject>(
  session: Session,
  ref: ResourceRef<T>,
  query: ListParameters,
  options: ListOptions<T> = {},
): readonly T[] {
  if (options.url === undefined || !session.canCacheLists) return findMatching(session, ref, query, options);
  const { cache } = session;
  const lists = cachedListsOf(cache);
  const key = cacheKey(session, ref, options.url);
  const kinds = [ref, ...(options.dependsOn ?? [])] as const;
  const anywhere = versionAnywhere(session, kinds, options.scope);
  const known = lists.get(key);
  const own = known?.anywhere === anywhere ? known.own : versionInNamespaces(session, kinds, options.scope);
  if (known?.own !== own) {
    const items = findMatching(session, ref, query, options);
    lists.set(key, { anywhere, own, items });
    return items;
  }
  known.anywhere = anywhere;
  if (!cache.store(ref).synced) cache.store(ref).list();
  return known.items as readonly T[];
}

function cachedListsOf(cache: object): LRUCache<string, CachedList> {
  let lists = cachedLists.get(cache);
  if (!lists) cachedLists.set(cache, (lists = new LRUCache({ max: 500 })));
  return lists;
}

/** Without page and per_page: all pages of one list share its items. As JSON: names of users and groups may hold any separator. */
function cacheKey({ caller }: Session, ref: ResourceRef, url: string): string {
  const list = url.replace(/(?<=[?&])(?:per_)?page=[^&]*&?/g, "");
  return JSON.stringify([caller.name, caller.groups, ref.plural, list]);
}

/** Changes with every change of these kinds in any namespace, and with the scope. */
function versionAnywhere({ cache }: Session, kinds: readonly ResourceRef[], scope?: ListScope): string {
  return [cache.versionOf(kinds), cache.authorizer.version(), ...(scopeNamespaces(scope) ?? [])].join(" ");
}

/** Changes with every change of these kinds in the namespaces that the list may have objects from, and with those namespaces. */
function versionInNamespaces(
  session: Session,
  kinds: readonly [ResourceRef, ...ResourceRef[]],
  scope?: ListScope,
): string {
  const namespaces = scopeNamespaces(scope) ?? session.visibleNamespaces(kinds[0]);
  const versions = [session.cache.versionOf(kinds, namespaces), session.cache.authorizer.version()];
  return [...versions, ...(namespaces ?? ["*"])].join(" ");
}

/** The namespaces that a scope names; undefined when the caller's permissions decide. */
function scopeNamespaces(scope: ListScope = {}): readonly string[] | undefined {
  return scope.index?.[0] === "app" ? [scope.index[1].split("/")[0] ?? ""] : scope.namespaces;
}

function findMatching<T extends KubeObject>(
  session: Session,
  ref: ResourceRef<T>,
  query: ListParameters,
  options: ListOptions<T>,
): T[] {
  const matches = commonFilter(query);
  const filter = (object: T): boolean => matches(object) && (options.filter?.(object) ?? true);
  const found = query.guids
    ? byGUIDs(session, ref, query.guids).filter(filter)
    : session.list(ref, options.scope, filter);
  return sorted(found, query.order_by, options);
}

function byGUIDs<T extends KubeObject>(session: Session, ref: ResourceRef<T>, guids: readonly string[]): T[] {
  return [...new Set(guids)].flatMap((guid) => session.find(ref, guid) ?? []);
}

/** The filters that every list has. */
function commonFilter(query: ListParameters): (object: KubeObject) => boolean {
  const created = timeFilter(query, "created_ats");
  const updated = timeFilter(query, "updated_ats");
  const labels = query.label_selector;
  return (object) =>
    (!created || matchesTimeFilter(created, Date.parse(createdAt(object)) / 1000)) &&
    (!updated || matchesTimeFilter(updated, Date.parse(updatedAt(object)) / 1000)) &&
    (!labels || labels(metadataOf(object).labels));
}

/** Sorted by `orderBy`, ties by creation. */
function sorted<T extends KubeObject>(items: T[], orderBy: string | undefined, options: ListOptions<T>): T[] {
  const name = orderBy?.replace(/^[+-]/, "") ?? "";
  const descending = orderBy?.startsWith("-") ?? false;
  const first = sortKey(name, options);
  const keyed = items.map((item): [string, string, T] => [first(item), creationSortKey(item), item]);
  const direction = descending ? -1 : 1;
  keyed.sort((a, b) => direction * (compare(a[0], b[0]) || compare(a[1], b[1])));
  return keyed.map((entry) => entry[2]);
}

function sortKey<T extends KubeObject>(name: string, options: ListOptions<T>): (object: T) => string {
  if (name === "") return options.defaultSortKey ?? (() => "");
  if (name === "created_at") return createdAt;
  if (name === "updated_at") return updatedAt;
  return options.sortKeys?.[name] ?? (() => "");
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** Whether a value passes a filter; every value passes an absent one. */
export function isOneOf(values: readonly string[] | undefined, value: string): boolean {
  return !values || values.includes(value);
}
