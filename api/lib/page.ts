// One page of a list: the slice, and CF's pagination object with absolute links that carry the filters on.

/** What a list handler knows about the request. */
export interface PageRequest {
  base: string;
  /** Path and query as received. */
  url: string;
  query: { page: number; per_page: number };
}

/** The items of the page that is asked for. */
export function slice<T>(items: readonly T[], { page, per_page }: PageRequest["query"]): T[] {
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

/** A list answer as JSON text. `items` is the whole list in order; `present` is called for the page only and may give JSON text. */
export function presentPage<T>(items: readonly T[], request: PageRequest, present: (item: T) => object | string, included?: (page: readonly T[]) => object): string {
  const page = slice(items, request.query);
  const texts = page.map((item) => {
    const presented = present(item);
    return typeof presented === "string" ? presented : JSON.stringify(presented);
  });
  const more = included ? `,"included":${JSON.stringify(included(page))}` : "";
  return `{"pagination":${JSON.stringify(pagination(items.length, request))},"resources":[${texts.join(",")}]${more}}`;
}

/** JSON text of an object's presentation, remembered for as long as the object is in the cache. `key` names what else it depends on. */
export function remembered(object: object, key: string, present: () => object): string {
  let texts = fragments.get(object);
  if (!texts) fragments.set(object, (texts = new Map()));
  let text = texts.get(key);
  if (text === undefined) {
    if (texts.size >= maxTextsPerObject) texts.clear();
    texts.set(key, (text = JSON.stringify(present())));
  }
  return text;
}

const fragments = new WeakMap<object, Map<string, string>>();
const maxTextsPerObject = 4;
