// Catalogs of brokers that mean harm, or grew: refused as a whole, with words, and without holding up whatever else runs.
import { expect, test } from "vitest";
import { MAX_CATALOG_PLANS, parseCatalog } from "./catalog.ts";

const planAt = (at: number, more: object = {}) => ({ id: `p${at}`, name: `plan-${at}`, description: "d", ...more });
const serviceAt = (at: number, plans: unknown, more: object = {}) => ({
  id: `s${at}`,
  name: `service-${at}`,
  description: "d",
  bindable: true,
  plans,
  ...more,
});
const plansFrom = (from: number, count: number, more: object = {}) =>
  Array.from({ length: count }, (_, at) => planAt(from + at, more));

test("a thousand plans are taken, however they are spread", () => {
  const services = Array.from({ length: 10 }, (_, at) => serviceAt(at, plansFrom(at * 100, MAX_CATALOG_PLANS / 10)));
  expect(parseCatalog({ services })).toHaveProperty("catalog");
});

test("the sum of all plans is bounded, not each list alone", () => {
  const services = Array.from({ length: 250 }, (_, at) => serviceAt(at, plansFrom(at * 5, 5)));
  expect(parseCatalog({ services })).toEqual({
    problems: ["it has 1250 plans, and at most 1000 are taken; offer fewer"],
  });
});

test.each<[string, unknown, RegExp]>([
  ["wrong plans by the thousand", { services: [serviceAt(1, Array(90_000).fill(0))] }, /it has 90000 plans/],
  ["wrong services by the thousand", { services: Array(90_000).fill(0) }, /more than 500 elements/],
  [
    "wrong tags by the thousand",
    { services: [serviceAt(1, plansFrom(0, 1), { tags: Array(90_000).fill(0) })] },
    /tags/,
  ],
  ["ids that are there twice, a thousand times", { services: [serviceAt(1, Array(1000).fill(planAt(1)))] }, /p1/],
  [
    "an escape sequence in an id",
    { services: [serviceAt(1, Array(2).fill(planAt(1, { id: "\u001b[31mx" })))] },
    /' \[31mx'/,
  ],
  ["half a character in an id", { services: [serviceAt(1, [planAt(1, { id: "\ud83d" })])] }, /plans.0.id: .*halves/],
  [
    "half a character in a name",
    { services: [serviceAt(1, [planAt(1, { name: "\ud83d" })])] },
    /plans.0.name: .*halves/,
  ],
  [
    "half a character in a version",
    { services: [serviceAt(1, [planAt(1, { maintenance_info: { version: "\ude00" } })])] },
    /version: must be a semantic version/,
  ],
  [
    "a version that is no semantic version",
    { services: [serviceAt(1, [planAt(1, { maintenance_info: { version: "1.2" } })])] },
    /version: must be a semantic version/,
  ],
  [
    "parameters that are no JSON schema",
    { services: [serviceAt(1, plansFrom(0, 1, { schemas: { service_binding: { create: { parameters: [1] } } } }))] },
    /plans.0.schemas.service_binding.create.parameters/,
  ],
  ["schemas that are none", { services: [serviceAt(1, plansFrom(0, 1, { schemas: "s" }))] }, /plans.0.schemas/],
  ["a plan without a description", { services: [serviceAt(1, [{ id: "p", name: "p" }])] }, /plans.0.description/],
  [
    "an empty description",
    { services: [serviceAt(1, plansFrom(0, 1), { description: " " })] },
    /description: is empty/,
  ],
  ["no plan", { services: [serviceAt(1, [])] }, /no plan/],
  ["no list", { services: {} }, /services/],
  ["nothing", undefined, /expected object/],
])("%s: refused, with few and short words", (_, body, words) => {
  const parsed = parseCatalog(body);
  const problems = "problems" in parsed ? parsed.problems : [];
  expect(problems.join()).toMatch(words);
  expect(problems.length).toBeLessThanOrEqual(10);
  expect(problems.join().length).toBeLessThan(10_000);
});

test("names that JavaScript objects have are names", () => {
  const plans = [planAt(1, { id: "__proto__", name: "constructor" })];
  const services = [serviceAt(1, plans, { id: "constructor", name: "__proto__" })];
  expect(parseCatalog({ services })).toMatchObject({ catalog: { services: [{ name: "__proto__" }] } });
});

test("descriptions lose halves of characters, for which the API server would keep something else", () => {
  const parsed = parseCatalog({ services: [serviceAt(1, [planAt(1)], { description: "\ud83d \u{1f600}" })] });
  expect(parsed).toMatchObject({ catalog: { services: [{ description: "\ufffd \u{1f600}" }] } });
});

test("descriptions and tags lose what a terminal would obey", () => {
  const services = [
    serviceAt(1, [planAt(1, { description: "a\u001b[2Jb" })], { tags: ["x\u009by"], description: "c\u0007" }),
  ];
  expect(parseCatalog({ services })).toMatchObject({
    catalog: { services: [{ description: "c ", tags: ["x y"], plans: [{ description: "a [2Jb" }] }] },
  });
});
