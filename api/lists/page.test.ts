// Pagination: totals, links that keep the filters, and pages beyond the end.
import { expect, test } from "vitest";
import { setSources } from "./remembered-lists.ts";
import { presentPage } from "./page.ts";

function page(
  total: number,
  number: number,
  size: number,
  search = "",
): { pagination: Record<string, unknown>; resources: { item: number }[] } {
  const items = Array.from({ length: total }, (_, at) => at + 1);
  const url = `/v3/apps?page=${number}&per_page=${size}${search}`;
  return JSON.parse(
    presentPage(items, { base: "https://api", url, query: { page: number, per_page: size } }, (item) => ({
      item,
    })).toString(),
  ) as { pagination: Record<string, unknown>; resources: { item: number }[] };
}

test.each([
  [0, 1, 50, [], 1, false, false],
  [3, 1, 2, [1, 2], 2, true, false],
  [3, 2, 2, [3], 2, false, true],
  [4, 2, 2, [3, 4], 2, false, true],
  [3, 9, 2, [], 2, false, true],
] as const)("%i items, page %i of %i", (...[total, number, size, resources, pages, next, previous]) => {
  const { pagination, resources: shown } = page(total, number, size);
  expect([
    shown.map(({ item }) => item),
    pagination["total_results"],
    pagination["total_pages"],
    pagination["next"] !== null,
    pagination["previous"] !== null,
  ]).toEqual([resources, total, pages, next, previous]);
});

test("filters stay in the links, commas inside a value encoded twice as they came", () => {
  const { pagination } = page(3, 1, 2, "&names=a%252Cb&order_by=-name");
  expect(pagination["next"]).toEqual({ href: "https://api/v3/apps?names=a%252Cb&order_by=-name&page=2&per_page=2" });
});

test("a page is presented again when its items, their number or what it shows besides them is another, or when it is not cacheable", () => {
  const texts = new Map([
    [1, "one"],
    [2, "two"],
  ]);
  const versions = { here: 1, elsewhere: 1 };
  const read = (items: readonly number[], isCacheable = true): { shown: unknown[]; presented: number } => {
    let presented = 0;
    setSources(items, {
      list: "tests of dev",
      changeCount: () => versions.here + versions.elsewhere,
      anywhere: () => `${versions.here} ${versions.elsewhere}`,
      within: () => String(versions.here),
    });
    const request = { base: "https://api", url: "/v3/tests?per_page=2", query: { page: 1, per_page: 2 }, isCacheable };
    const body = presentPage(items, request, (item) => {
      presented++;
      return { text: texts.get(item) };
    });
    const { resources } = JSON.parse(body.toString()) as { resources: { text: string }[] };
    return { shown: resources.map(({ text }) => text), presented };
  };
  expect(read([1, 2])).toEqual({ shown: ["one", "two"], presented: 2 });
  texts.set(2, "zwei");
  expect(read([1, 2]), "the same items").toEqual({ shown: ["one", "two"], presented: 0 });
  versions.elsewhere++;
  expect(read([1, 2]), "a change elsewhere").toEqual({ shown: ["one", "two"], presented: 0 });
  versions.here++;
  expect(read([1, 2]), "a change of what the page shows").toEqual({ shown: ["one", "zwei"], presented: 2 });
  expect(read([2, 1]), "another order").toEqual({ shown: ["zwei", "one"], presented: 2 });
  expect(read([2, 1, 3]), "another total").toEqual({ shown: ["zwei", "one"], presented: 2 });
  texts.set(1, "eins");
  expect(read([2, 1, 3], false), "not cacheable").toEqual({ shown: ["zwei", "eins"], presented: 2 });
});

test("an item with cached text is presented again only when its key changes", () => {
  const item = { name: "one" };
  let presented = 0;
  const read = (key: string): string =>
    presentPage(
      [item],
      { base: "https://api", url: "/v3/kept", query: { page: 1, per_page: 2 }, textKey: () => [key] },
      ({ name }) => {
        presented++;
        return { name, key };
      },
    ).toString();
  expect([read("a"), read("a")].map((text) => text.includes('"key":"a"'))).toEqual([true, true]);
  expect(presented).toBe(1);
  expect(read("b")).toContain('"key":"b"');
  expect(presented).toBe(2);
});
