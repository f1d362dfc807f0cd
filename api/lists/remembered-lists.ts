// Lists that callers asked for, remembered with what they read. A change of an object moves that object in them; only a change of what decides about all objects finds a list again.
import { LRUCache } from "lru-cache";
import type { KubeObject } from "../../kube/api/object.ts";
import type { ResourceRef } from "../../kube/api/resource-ref.ts";
import type { ListScope, Session } from "../access/session.ts";
import type { ObjectChange } from "../cache/change-log.ts";
import type { ClusterCache } from "../cache/cluster-cache.ts";
import { type ItemOrder, withChanges } from "./listed-items.ts";

/** A list to find, or to bring up to date. */
export interface ListPlan<T extends KubeObject, Item> {
  ref: ResourceRef<T>;
  /** The query, without the caller and the kind. */
  key: string;
  scope: Pick<ListScope, "namespaces">;
  /** Every item, in order. */
  findAll(): readonly Item[];
  /** The items of one object that the caller can see; those that the list shows. */
  itemsOf(object: T): readonly Item[];
  order: ItemOrder<Item>;
  /** Kinds besides its own that decide what is on the list, and where. */
  reads: readonly ResourceRef[];
  /** Namespaces in which their changes count: those of the list unless given. */
  readsIn?: readonly string[] | "anywhere" | undefined;
}

/** Versions of everything that a page may show besides its items. */
export interface PageSources {
  /** Changes with the caller and what was asked for. */
  readonly list: string;
  /** As in ClusterCache. */
  changeCount(): number;
  /** Equal while nothing that any page shows has changed. */
  anywhere(): string;
  /** Equal while nothing that a page with items in these namespaces shows has changed. */
  within(namespaces: readonly string[] | undefined): string;
}

interface RememberedList {
  items: readonly unknown[];
  /** In the change log of the kind. */
  position: number;
  versions: ListVersions;
  /** Count of all changes when the versions were compared last. */
  checkedAt: number;
  /** Where what the list reads counts; undefined: everywhere. */
  namespaces: readonly string[] | undefined;
}

interface ListVersions {
  /** RBAC, and the namespaces of the scope. */
  rights: string;
  /** Version of all filter inputs, cluster-wide: cheap to compare. */
  anywhere: number;
  /** The same in the list's own namespaces. */
  own: number;
}

const MAX_LISTS = 500;
/** References in all lists together: 16 MB. */
const MAX_ITEMS = 2_000_000;
/** A list that nobody requests keeps deleted objects in memory. */
const MAX_IDLE_MS = 10 * 60_000;
const rememberedLists = new WeakMap<object, LRUCache<string, RememberedList>>();

/** The items that the caller sees, in order. Never changed afterwards. */
export function rememberedItems<T extends KubeObject, Item>(
  session: Session,
  plan: ListPlan<T, Item>,
): readonly Item[] {
  const { cache } = session;
  const { ref, scope } = plan;
  const lists = listsOf(cache);
  const key = keyOf(session, ref, plan.key);
  const log = cache.changesOf(ref);
  const known = findCurrent(session, ref, key, plan);
  const changes = known && log.since(known.position);
  if (known && changes) {
    if (changes.length === 0) return known.items as readonly Item[];
    const items = withChangesOf(session, plan, known.items as readonly Item[], changes);
    // A new entry: the cache measures it again.
    lists.set(key, { ...known, items, position: log.position });
    return items;
  }
  const { readsIn = scope.namespaces ?? session.visibleNamespaces(ref) } = plan;
  const namespaces = readsIn === "anywhere" ? undefined : readsIn;
  const { position } = log;
  const items = plan.findAll();
  const versions = versionsOf(session, plan, namespaces);
  lists.set(key, { items, position, versions, checkedAt: cache.changeCount(), namespaces });
  return items;
}

/** A list that is found again with every change of what it reads: for lists that are short, and for kinds that seldom change. */
export interface SimpleList<Item> {
  ref: ResourceRef;
  url: string;
  /** Inputs that decide which items there are: in `namespaces`, or anywhere. */
  reads: readonly ResourceRef[];
  namespaces?: readonly string[];
  /** Inputs of the pages. */
  dependsOn: readonly ResourceRef[];
  find(): readonly Item[];
}

/** The items, found again only when something has changed. */
export function rememberedList<Item>(session: Session, list: SimpleList<Item>): readonly Item[] {
  const { ref, url, reads, namespaces, dependsOn, find } = list;
  if (!session.canCacheLists) return find();
  const key = `list ${withoutPaging(url)}`;
  const plan = { scope: namespaces ? { namespaces } : {}, reads };
  const known = findCurrent(session, ref, keyOf(session, ref, key), plan);
  if (known) return known.items as readonly Item[];
  const items = find();
  const versions = versionsOf(session, plan, namespaces);
  const checkedAt = session.cache.changeCount();
  listsOf(session.cache).set(keyOf(session, ref, key), { items, position: 0, versions, checkedAt, namespaces });
  recordSources(items, session, { ref, key, dependsOn });
  return items;
}

/** The remembered list, unless something has changed that decides about more than one object. @throws NotSynced, NotPermitted, as a list found anew */
function findCurrent(session: Session, ref: ResourceRef, key: string, plan: AnyPlan): RememberedList | undefined {
  const { cache } = session;
  cache.authorizer.requireFresh();
  const known = listsOf(cache).get(key);
  if (!known) return undefined;
  const checkedAt = cache.changeCount();
  if (known.checkedAt !== checkedAt && !isCurrent(session, plan, known)) return undefined;
  known.checkedAt = checkedAt;
  const store = cache.store(ref);
  if (!store.synced) store.list();
  return known;
}

/** Without page and per_page: all pages of one list share its items. */
export function withoutPaging(url: string): string {
  if (!url.includes("page=")) return url;
  return url.replace(/(?<=[?&])(?:per_)?page=[^&]*&?/g, "").replace(/[?&]$/, "");
}

/** The key of a list of a caller. */
export function keyOf({ caller }: Session, ref: ResourceRef, list: string): string {
  return `${callerKeyOf(caller)} ${ref.plural} ${list}`;
}

/** By the groups of a review, which requests share. */
const callerKeys = new WeakMap<readonly string[], { name: string; key: string }>();

/** As JSON: names of users and groups may hold any separator. */
function callerKeyOf({ name, groups }: Session["caller"]): string {
  const known = callerKeys.get(groups);
  if (known?.name === name) return known.key;
  const key = JSON.stringify([name, groups]);
  callerKeys.set(groups, { name, key });
  return key;
}

function listsOf(cache: object): LRUCache<string, RememberedList> {
  let lists = rememberedLists.get(cache);
  if (!lists) rememberedLists.set(cache, (lists = newLists()));
  return lists;
}

function newLists(): LRUCache<string, RememberedList> {
  return new LRUCache({
    max: MAX_LISTS,
    maxSize: MAX_ITEMS,
    sizeCalculation: ({ items }) => items.length + 1,
    ttl: MAX_IDLE_MS,
    ttlResolution: 1000,
    ttlAutopurge: true,
    updateAgeOnGet: true,
  });
}

type AnyPlan = Pick<ListPlan<never, never>, "scope" | "reads">;

function versionsOf({ cache }: Session, plan: AnyPlan, namespaces: readonly string[] | undefined): ListVersions {
  return {
    rights: rightsOf(cache, plan.scope),
    anywhere: cache.versionOf(plan.reads),
    own: cache.versionOf(plan.reads, namespaces),
  };
}

function rightsOf(cache: ClusterCache, { namespaces }: AnyPlan["scope"]): string {
  return `${cache.rbacVersion()} ${namespaces?.join(" ") ?? "*"}`;
}

/** Whether nothing has changed that decides about more than one object. */
function isCurrent({ cache }: Session, plan: AnyPlan, { versions, namespaces }: RememberedList): boolean {
  if (versions.rights !== rightsOf(cache, plan.scope)) return false;
  const anywhere = cache.versionOf(plan.reads);
  if (versions.anywhere === anywhere) return true;
  if (versions.own !== cache.versionOf(plan.reads, namespaces)) return false;
  versions.anywhere = anywhere;
  return true;
}

function withChangesOf<T extends KubeObject, Item>(
  session: Session,
  plan: ListPlan<T, Item>,
  items: readonly Item[],
  changes: readonly ObjectChange[],
): readonly Item[] {
  const store = session.cache.store(plan.ref);
  const isInScope = ({ namespace }: ObjectChange): boolean => plan.scope.namespaces?.includes(namespace) ?? true;
  // An object that changed twice is looked up once.
  const concerned = new Map(
    changes.filter(isInScope).map((change) => [`${change.namespace}/${change.name}`, change] as const),
  );
  const added = [...concerned.values()].flatMap(({ namespace, name }) => {
    const object = store.find({ namespace, name });
    return object && session.canSee(plan.ref, object) ? plan.itemsOf(object) : [];
  });
  return concerned.size === 0 ? items : withChanges(items, { changes: changes.filter(isInScope), added }, plan.order);
}

const sources = new WeakMap<readonly unknown[], PageSources>();

/** Remembers what pages of this list show: `dependsOn`, besides the objects on the page. */
export function recordSources(
  items: readonly unknown[],
  session: Session,
  { ref, key, dependsOn }: { ref: ResourceRef; key: string; dependsOn: readonly ResourceRef[] },
): void {
  if (sources.has(items)) return;
  const { cache } = session;
  const versions = (namespaces: readonly string[] | undefined): string =>
    `${cache.rbacVersion()} ${cache.changesOf(ref).resets} ${cache.versionOf(dependsOn, namespaces)}`;
  setSources(items, {
    list: keyOf(session, ref, key),
    changeCount: () => cache.changeCount(),
    anywhere: () => versions(undefined),
    within: versions,
  });
}

export function setSources(items: readonly unknown[], of: PageSources): void {
  sources.set(items, of);
}

/** Versions of all inputs of this list's pages; undefined for a list that is not remembered. */
export function sourcesOf(items: readonly unknown[]): PageSources | undefined {
  return sources.get(items);
}
