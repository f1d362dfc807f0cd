// Pagination: totals, links that keep the filters, and pages beyond the end.
import { expect, test } from "vitest";
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

test("a page is presented again when its list is another, or not cacheable", () => {
  const texts = new Map([
    [1, "one"],
    [2, "two"],
  ]);
  const read = (items: readonly number[], isCacheable: boolean): { shown: unknown[]; presented: number } => {
    let presented = 0;
    const request = { base: "https://api", url: "/v3/tests?per_page=2", query: { page: 1, per_page: 2 }, isCacheable };
    const body = presentPage(items, request, (item) => {
      presented++;
      return { text: texts.get(item) };
    });
    const { resources } = JSON.parse(body.toString()) as { resources: { text: string }[] };
    return { shown: resources.map(({ text }) => text), presented };
  };
  const items = [1, 2];
  expect(read(items, true)).toEqual({ shown: ["one", "two"], presented: 2 });
  texts.set(2, "zwei");
  expect(read(items, true), "the same list").toEqual({ shown: ["one", "two"], presented: 0 });
  expect(read([1, 2], true), "another list").toEqual({ shown: ["one", "zwei"], presented: 2 });
  texts.set(1, "eins");
  expect(read(items, false), "not cacheable").toEqual({ shown: ["eins", "zwei"], presented: 2 });
  expect(read([...items, 3], true), "another total").toEqual({ shown: ["eins", "zwei"], presented: 2 });
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
