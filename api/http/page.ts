// One page of a list: the slice, and CF's pagination object with absolute links that keep the filters.
import { cachedJson, cachedPages, isSame, type CacheKey } from "./cached-json.ts";

/** The request of a list, as its handler knows it. */
export interface PageRequest<T = unknown> {
  base: string;
  /** Path and query as received. */
  url: string;
  query: { page: number; per_page: number };
  /** Set it only when the list's `dependsOn` (list-objects.ts) names every kind that the page shows: a page of the same array is sent again. */
  isCacheable?: boolean;
  /** Everything besides the item that its presentation depends on. With it the item's JSON is cached. */
  textKey?: (item: T) => CacheKey;
}

/** The items of the requested page. */
export function pageItems<T>(items: readonly T[], { page, per_page }: PageRequest["query"]): T[] {
  return items.slice((page - 1) * per_page, page * per_page);
}

/** CF's `pagination` member. */
export function pagination(total: number, request: Omit<PageRequest, "textKey">): object {
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

function pageUrl({ base, url, query }: Omit<PageRequest, "textKey">, page: number): string {
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
 * array is not presented again.
 */
export function presentPage<T>(
  items: readonly T[],
  request: PageRequest<T>,
  present: (item: T) => object,
  included?: (page: readonly T[]) => object,
): Buffer {
  const address = `${request.base}${request.url}`;
  const known = cachedPages.get(address);
  if (request.isCacheable && known?.items === items) return known.body;
  const page = pageItems(items, request.query);
  const { textKey } = request;
  const texts = page.map((item) =>
    textKey ? cachedJson(item as object, textKey(item), () => present(item)) : JSON.stringify(present(item)),
  );
  const more = included ? `,"included":${JSON.stringify(included(page))}` : "";
  const parts = [String(items.length), ...texts, more];
  const body =
    known && isSame(known.parts, parts)
      ? known.body
      : Buffer.from(
          `{"pagination":${JSON.stringify(pagination(items.length, request))},"resources":[${texts.join(",")}]${more}}`,
        );
  cachedPages.set(address, { items, parts, body });
  return body;
}
