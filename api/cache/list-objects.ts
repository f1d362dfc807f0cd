// Lists of the objects that the caller can see, filtered by the common and the list's own filters, and sorted. Cached until a dependency changes.
import { LRUCache } from "lru-cache";
import { creationSortKey } from "../../crds/guid.ts";
import type { KubeObject } from "../../kube/api/object.ts";
import type { ResourceRef } from "../../kube/api/resource-ref.ts";
import type { Session, ListScope } from "../access/session.ts";
import { metadataOf } from "../cf/metadata.ts";
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

/** Lists by caller, kind and query, with the version they were built from. At most 500 lists of references. */
const cachedLists = new WeakMap<object, LRUCache<string, { version: string; items: readonly KubeObject[] }>>();

/** The whole list, filtered and sorted: page it afterwards. */
export function listObjects<T extends KubeObject>(
  session: Session,
  ref: ResourceRef<T>,
  query: ListParameters,
  options: ListOptions<T> = {},
): readonly T[] {
  if (options.url === undefined || !session.canCacheLists) return findMatching(session, ref, query, options);
  const { cache, caller } = session;
  let lists = cachedLists.get(cache);
  if (!lists) cachedLists.set(cache, (lists = new LRUCache({ max: 500 })));
  // Without page and per_page: all pages of one list share its items.
  // As JSON: names of users and groups may hold any separator.
  const key = JSON.stringify([
    caller.name,
    caller.groups,
    ref.plural,
    options.url.replace(/(?<=[?&])(?:per_)?page=[^&]*&?/g, ""),
  ]);
  const namespaces = namespacesOf(session, ref, options.scope);
  const versions = [cache.versionOf([ref, ...(options.dependsOn ?? [])], namespaces), cache.authorizer.version()];
  const version = [...versions, ...(namespaces ?? ["*"])].join(" ");
  const hit = lists.get(key);
  if (hit?.version === version) {
    if (!cache.store(ref).synced) cache.store(ref).list();
    return hit.items as readonly T[];
  }
  const items = findMatching(session, ref, query, options);
  lists.set(key, { version, items });
  return items;
}

/** The namespaces that a list may have objects from; undefined when there is no such bound. */
function namespacesOf(session: Session, ref: ResourceRef, scope: ListScope = {}): readonly string[] | undefined {
  if (scope.index?.[0] === "app") return [scope.index[1].split("/")[0] ?? ""];
  return scope.namespaces ?? session.visibleNamespaces(ref);
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
