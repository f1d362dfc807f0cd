// Pagination: totals, links that carry the filters on, and pages beyond the end.
import { expect, test } from "vitest";
import { presentPage } from "./page.ts";

function page(
  total: number,
  number: number,
  size: number,
  search = "",
): { pagination: Record<string, unknown>; resources: number[] } {
  const items = Array.from({ length: total }, (_, at) => at + 1);
  const url = `/v3/apps?page=${number}&per_page=${size}${search}`;
  return JSON.parse(
    presentPage(items, { base: "https://api", url, query: { page: number, per_page: size } }, String).toString(),
  ) as { pagination: Record<string, unknown>; resources: number[] };
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
    shown,
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

test("a page is presented again when the list, the view or a part of it is another", () => {
  const texts = new Map([
    [1, '"one"'],
    [2, '"two"'],
  ]);
  const read = (items: readonly number[], changes?: number): { text: string; presented: number } => {
    let presented = 0;
    const url = "/v3/tests?per_page=2";
    const body = presentPage(
      items,
      {
        base: "https://api",
        url,
        query: { page: 1, per_page: 2 },
        ...(changes !== undefined && { changeCount: changes }),
      },
      (item) => {
        presented++;
        return texts.get(item) ?? "null";
      },
    );
    return { text: JSON.stringify((JSON.parse(body.toString()) as { resources: unknown }).resources), presented };
  };
  const items = [1, 2];
  expect(read(items, 7)).toEqual({ text: '["one","two"]', presented: 2 });
  texts.set(2, '"zwei"');
  expect(read(items, 7), "nothing is said to have changed").toEqual({ text: '["one","two"]', presented: 0 });
  expect(read([1, 2], 7), "another list").toEqual({ text: '["one","zwei"]', presented: 2 });
  texts.set(1, '"eins"');
  expect(read(items, 8), "another view").toEqual({ text: '["eins","zwei"]', presented: 2 });
  expect(read(items), "nothing known of the view").toEqual({ text: '["eins","zwei"]', presented: 2 });
  expect(read([...items, 3]), "another total").toEqual({ text: '["eins","zwei"]', presented: 2 });
});
