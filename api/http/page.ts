// One page of a list: the slice, and CF's pagination object with absolute links that carry the filters on.
import { LRUCache } from "lru-cache";

/** What a list handler knows about the request. */
export interface PageRequest {
  base: string;
  /** Path and query as received. */
  url: string;
  query: { page: number; per_page: number };
  /** `view.changes()`, where what is presented rests on the view alone: a page of the same list is then not even presented again before something changes. */
  changeCount?: number;
}

/** The items of the page that is asked for. */
export function pageItems<T>(items: readonly T[], { page, per_page }: PageRequest["query"]): T[] {
  return items.slice((page - 1) * per_page, page * per_page);
}

/** CF's `pagination` member. */
export function pagination(total: number, request: PageRequest): object {
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

function pageUrl({ base, url, query }: PageRequest, page: number): string {
  const end = url.indexOf("?");
  const path = end < 0 ? url : url.slice(0, end);
  const parameters = new URLSearchParams(end < 0 ? "" : url.slice(end + 1));
  parameters.set("page", String(page));
  parameters.set("per_page", String(query.per_page));
  parameters.sort();
  return `${base}${path}?${parameters}`;
}

/** A list answer as the bytes of its JSON. `items` is the whole list in order; `present` is called for the page only and may give JSON text. */
export function presentPage<T>(
  items: readonly T[],
  request: PageRequest,
  present: (item: T) => object | string,
  included?: (page: readonly T[]) => object,
): Buffer {
  const key = `${request.base}${request.url}`;
  const known = pages.get(key);
  if (known?.items === items && known.changes !== undefined && known.changes === request.changeCount) return known.body;
  const page = pageItems(items, request.query);
  const texts = page.map((item) => {
    const presented = present(item);
    return typeof presented === "string" ? presented : JSON.stringify(presented);
  });
  const more = included ? `,"included":${JSON.stringify(included(page))}` : "";
  const parts = [String(items.length), ...texts, more];
  const body =
    known && isSame(known.parts, parts)
      ? known.body
      : Buffer.from(
          `{"pagination":${JSON.stringify(pagination(items.length, request))},"resources":[${texts.join(",")}]${more}}`,
        );
  pages.set(key, { items, changes: request.changeCount, parts, body });
  return body;
}

/** A page that was sent: it is sent again as long as all its parts are what they were. Comparing texts that are remembered themselves costs nothing. */
interface CachedPage {
  items: readonly unknown[];
  changes: number | undefined;
  parts: readonly string[];
  body: Buffer;
}

const maxPageBytes = 16 * 1024 * 1024;
const pages = new LRUCache<string, CachedPage>({ maxSize: maxPageBytes, sizeCalculation: ({ body }) => body.length });

/** What a remembered text depends on beside its object, to be compared one by one. */
type CacheKey = readonly (string | null | undefined)[];

/** JSON text of an object's presentation, remembered for as long as the object is in the cache. `key` names what else it depends on. */
export function cachedJson(object: object, key: CacheKey, present: () => object): string {
  const known = cachedTexts.get(object) ?? [];
  const hit = known.find((one) => isSame(one.key, key));
  if (hit) return hit.text;
  const text = JSON.stringify(present());
  cachedTexts.set(object, [{ key, text }, ...known].slice(0, maxTextsPerObject));
  return text;
}

function isSame(one: CacheKey, other: CacheKey): boolean {
  for (let at = 0; at < one.length; at++) if (one[at] !== other[at]) return false;
  return one.length === other.length;
}

const cachedTexts = new WeakMap<object, { key: CacheKey; text: string }[]>();
const maxTextsPerObject = 4;
