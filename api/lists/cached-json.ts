// Caches JSON texts: of an object while the object is in the cache, and of a page while all that it shows is unchanged.
import { LRUCache } from "lru-cache";

/** Everything besides its object that a presentation depends on, compared element by element. */
export type CacheKey = readonly (string | null | undefined)[];

/** The JSON of an object's presentation, cached while the object is in the cache and `key` is unchanged. */
export function cachedJson(object: object, key: CacheKey, present: () => object): string {
  const known = cachedTexts.get(object) ?? [];
  const hit = known.find((one) => isSame(one.key, key));
  if (hit) return hit.text;
  const text = JSON.stringify(present());
  cachedTexts.set(object, [{ key, text }, ...known].slice(0, MAX_TEXTS_PER_OBJECT));
  return text;
}

const MAX_TEXTS_PER_OBJECT = 4;
const cachedTexts = new WeakMap<object, { key: CacheKey; text: string }[]>();

/** A page that was sent: its items, the texts that it consists of, versions of what it shows besides its items, and when these were compared last. */
export interface CachedPage {
  total: number;
  page: readonly unknown[];
  parts: readonly string[];
  body: Buffer;
  checkedAt?: number | undefined;
  anywhere?: string | undefined;
  within?: string | undefined;
}

const MAX_PAGES_BYTES = 32 * 1024 * 1024;

/** Pages by list and address. */
export const cachedPages = new LRUCache<string, CachedPage>({
  maxSize: MAX_PAGES_BYTES,
  sizeCalculation: ({ body }) => body.length,
});

/** Whether two keys have equal elements; comparing a cached string with itself is cheap. */
export function isSame(one: CacheKey, other: CacheKey): boolean {
  for (let at = 0; at < one.length; at++) if (one[at] !== other[at]) return false;
  return one.length === other.length;
}
