// A page of a list: the slice, and CF's pagination object with absolute links that keep the filters.
import type { KubeObject } from "../../kube/api/object.ts";
import { type PageSources, sourcesOf } from "./remembered-lists.ts";
import { cachedJson, type CachedPage, cachedPages, isSame, type CacheKey } from "./cached-json.ts";

/** The request of a list, as its handler knows it. */
export interface PageRequest<T = unknown> {
  base: string;
  /** Path and query as received. */
  url: string;
  query: { page: number; per_page: number };
  /** Set it only when the list's `dependsOn` (list-objects.ts) names every kind that the page shows: a page is then sent again until one of them changes. */
  isCacheable?: boolean;
  /** Everything besides the item that its presentation depends on. With it the item's JSON is cached. */
  textKey?: (item: T) => CacheKey;
  /** Namespaces, besides its own, of what the page shows of an item. */
  namespacesOf?: (item: T) => readonly string[];
}

/** Parts of a page's links. */
type PageAddress = Omit<PageRequest, "textKey" | "namespacesOf">;

/** The items of the requested page. */
export function pageItems<T>(items: readonly T[], { page, per_page }: PageRequest["query"]): T[] {
  return items.slice((page - 1) * per_page, page * per_page);
}

/** CF's `pagination` member. */
export function pagination(total: number, request: PageAddress): object {
  const { page, per_page } = request.query;
  const pages = Math.max(1, Math.ceil(total / per_page));
  const link = (number: number): { href: string } => ({ href: pageUrl(request, number) });
  return {
    total_results: total,
    total_pages: pages,
    first: link(1),
    last: link(pages),
    next: page < pages ? link(page + 1) : null,
    previous: page > 1 ? link(Math.min(page - 1, pages)) : null,
  };
}

function pageUrl({ base, url, query }: PageAddress, page: number): string {
  const end = url.indexOf("?");
  const path = end < 0 ? url : url.slice(0, end);
  const parameters = new URLSearchParams(end < 0 ? "" : url.slice(end + 1));
  parameters.set("page", String(page));
  parameters.set("per_page", String(query.per_page));
  parameters.sort();
  return `${base}${path}?${parameters}`;
}

/**
 * The JSON bytes of a list reply. `items` is the whole sorted list; `present` is called for the page only. With `isCacheable` a page of the same
 * items is not presented again while what it shows besides them is unchanged.
 */
export function presentPage<T>(
  items: readonly T[],
  request: PageRequest<T>,
  present: (item: T) => object,
  included?: (page: readonly T[]) => object,
): Buffer {
  const sources = request.isCacheable ? sourcesOf(items) : undefined;
  const address = `${sources?.list ?? ""} ${request.base}${request.url}`;
  const known = cachedPages.get(address);
  if (known && isSamePage(known, items, request.query) && isCurrent(known, sources, request)) return known.body;
  const page = pageItems(items, request.query);
  const texts = page.map((item) => presentItem(item, request, present));
  const more = presentIncluded(included?.(page));
  const parts = [String(items.length), ...texts, more];
  const toBody = (): Buffer =>
    Buffer.from(
      `{"pagination":${JSON.stringify(pagination(items.length, request))},"resources":[${texts.join(",")}]${more}}`,
    );
  const body = known && isSame(known.parts, parts) ? known.body : toBody();
  cachedPages.set(address, { total: items.length, page, parts, body, ...versionsOf(page, sources, request) });
  return body;
}

function versionsOf<T>(
  page: readonly T[],
  sources: PageSources | undefined,
  request: PageRequest<T>,
): Pick<CachedPage, "checkedAt" | "anywhere" | "within"> {
  if (!sources) return {};
  return {
    checkedAt: sources.changeCount(),
    anywhere: sources.anywhere(),
    within: sources.within(namespacesOn(page, request)),
  };
}

function presentIncluded(included: object | undefined): string {
  return included ? `,"included":${JSON.stringify(included)}` : "";
}

function presentItem<T>(item: T, { textKey }: PageRequest<T>, present: (item: T) => object): string {
  return textKey ? cachedJson(item as object, textKey(item), () => present(item)) : JSON.stringify(present(item));
}

/** Whether nothing that the page shows besides its items has changed, as far as that is known. */
function isCurrent<T>(known: CachedPage, sources: PageSources | undefined, request: PageRequest<T>): boolean {
  if (!sources) return false;
  const checkedAt = sources.changeCount();
  if (known.checkedAt === checkedAt) return true;
  const anywhere = sources.anywhere();
  const isEqual =
    known.anywhere === anywhere || known.within === sources.within(namespacesOn(known.page as readonly T[], request));
  if (!isEqual) return false;
  Object.assign(known, { checkedAt, anywhere });
  return true;
}

function isSamePage(
  { total, page }: CachedPage,
  items: readonly unknown[],
  { page: number, per_page }: PageRequest["query"],
): boolean {
  const start = (number - 1) * per_page;
  if (total !== items.length || page.length !== Math.min(per_page, Math.max(0, total - start))) return false;
  for (let at = 0; at < page.length; at++) if (page[at] !== items[start + at]) return false;
  return true;
}

/** The namespaces of what a page shows; undefined, for all, when its items are no objects. */
function namespacesOn<T>(page: readonly T[], { namespacesOf }: PageRequest<T>): string[] | undefined {
  const namespaces = new Set<string>();
  for (const item of page) {
    const { metadata } = item as Partial<KubeObject>;
    if (!metadata) return undefined;
    namespaces.add(metadata.namespace ?? "");
    for (const namespace of namespacesOf?.(item) ?? []) namespaces.add(namespace);
  }
  return [...namespaces];
}
