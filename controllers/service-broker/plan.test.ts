// Offerings and plans of a catalog: what they say, their stable names, and what stays while instances use it.
import { describe, expect, test } from "vitest";
import type { ServiceOffering } from "../../crds/service-offering/service-offering.ts";
import type { ServicePlan } from "../../crds/service-plan/service-plan.ts";
import { parseCatalog, type Catalog } from "../shared/osb/catalog.ts";
import { planCatalog, planSlice, type KnownCatalog } from "./plan.ts";

const owner = { namespace: "cupola-system", name: "mine", guid: "broker-guid", purged: [] };
const none: KnownCatalog = { offerings: [], plans: [] };
const nobody = (): boolean => false;

function catalogOf(more: object = {}, plan: object = {}): Catalog {
  const services = [
    {
      id: "s1",
      name: "database",
      description: "A database",
      bindable: true,
      plans: [{ id: "p1", name: "small", description: "Small", ...plan }],
      ...more,
    },
  ];
  const parsed = parseCatalog({ services });
  if (!("catalog" in parsed)) throw new Error(parsed.problems.join());
  return parsed.catalog;
}

type Planned = { kind: string; metadata: { name: string; labels: object }; spec: Record<string, unknown> };
const plan = (catalog: Catalog, known = none, isInUse: (plan: ServicePlan) => boolean = nobody): Planned[] =>
  planCatalog(owner, catalog, known, isInUse) as unknown as Planned[];

describe("a catalog", () => {
  test("becomes an offering and its plans, with every default said", () => {
    const [offering, small] = plan(catalogOf());
    expect(offering).toMatchObject({
      apiVersion: "cupola.dev/v1alpha1",
      kind: "ServiceOffering",
      metadata: { namespace: "cupola-system", labels: { "cupola.dev/service-broker-guid": "broker-guid" } },
      spec: { name: "database", brokerRef: { name: "mine" }, catalogID: "s1", bindable: true, available: true },
    });
    expect(small).toMatchObject({
      kind: "ServicePlan",
      spec: { name: "small", offeringRef: { name: offering?.metadata.name }, catalogID: "p1", free: true },
    });
  });

  test("leaves out what was purged", () => {
    const purged = { ...owner, purged: ["s1"] };
    expect(planCatalog(purged, catalogOf(), none, nobody)).toEqual([]);
  });

  test("says nothing of visibility, which is the operators'", () => {
    for (const { spec } of plan(catalogOf())) expect(spec).not.toHaveProperty("visibility");
  });

  test("has names and GUIDs of the ids, which a new name does not change", () => {
    const places = (more: object) => plan(catalogOf(more)).map(({ metadata }) => metadata);
    expect(places({ name: "renamed" })).toEqual(places({}));
    expect(places({ id: "s2" })).not.toEqual(places({}));
  });

  test.each([
    [{ documentationUrl: "https://docs" }, { documentationURL: "https://docs", shareable: false }],
    [{ documentationUrl: { en: "https://docs" } }, { shareable: false }],
    [{ shareable: true }, { shareable: true }],
    [{ shareable: "yes" }, { shareable: false }],
  ])("with metadata %j", (metadata, spec) => {
    const [offering] = plan(catalogOf({ metadata }));
    expect(offering?.spec).toMatchObject({ ...spec, metadata: JSON.stringify(metadata) });
    expect(Object.hasOwn(offering?.spec ?? {}, "documentationURL")).toBe(Object.hasOwn(spec, "documentationURL"));
  });

  test.each<[object, unknown]>([
    [{ metadata: { costs: [{ amount: { usd: 9.5, eur: 8 }, unit: "MONTHLY" }] } }, "two currencies"],
    [{ metadata: { costs: "much" } }, undefined],
    [{ metadata: { costs: [{ amount: null, unit: 1 }] } }, undefined],
    [{ metadata: null }, undefined],
  ])("with costs %j", (more, costs) => {
    const [, small] = plan(catalogOf({}, more));
    const shown = [
      { amount: 9.5, currency: "USD", unit: "MONTHLY" },
      { amount: 8, currency: "EUR", unit: "MONTHLY" },
    ];
    expect(small?.spec["costs"]).toBe(costs === undefined ? undefined : JSON.stringify(shown));
  });
});

describe("what left the catalog", () => {
  const [offering, small] = plan(catalogOf());
  const visibility = { type: "public" };
  const known = {
    offerings: [offering],
    plans: [{ ...small, spec: { ...small?.spec, visibility } }],
  } as unknown as { offerings: ServiceOffering[]; plans: ServicePlan[] };
  const empty: Catalog = { services: [] };

  test("goes, when no instance uses it", () => expect(plan(empty, known)).toEqual([]));

  test("stays unavailable while an instance uses it, and its visibility the operators'", () => {
    expect(
      plan(empty, known, () => true).map(({ kind, spec }) => [kind, spec["available"], spec["visibility"]]),
    ).toEqual([
      ["ServiceOffering", false, undefined],
      ["ServicePlan", false, undefined],
    ]);
  });

  test("is available again once it is back", () => {
    expect(plan(catalogOf(), known, () => true).map(({ spec }) => spec["available"])).toEqual([true, true]);
  });
});

describe("of a large catalog", () => {
  const many = (count: number, description: string): Planned[] =>
    plan(
      catalogOf({
        plans: Array.from({ length: count }, (_, at) => ({ id: `p${at}`, name: `plan-${at}`, description })),
      }),
    );
  type Wanted = Parameters<typeof planSlice>[0];
  const asKnown = (entries: readonly Planned[]): KnownCatalog =>
    ({
      offerings: entries.filter(({ kind }) => kind === "ServiceOffering"),
      plans: entries.filter(({ kind }) => kind === "ServicePlan"),
    }) as unknown as KnownCatalog;

  test("each reconcile makes a slice, and the last one all", () => {
    const wanted = many(119, "d");
    let made: Planned[] = [];
    const slices: [number, boolean][] = [];
    for (let isAll = false; !isAll && slices.length < 10;) {
      const slice = planSlice(wanted as unknown as Wanted, asKnown(made), 50);
      made = slice.children as unknown as Planned[];
      isAll = slice.isAll;
      slices.push([made.length, isAll]);
    }
    expect(slices).toEqual([
      [50, false],
      [100, false],
      [120, true],
    ]);
  });

  test("what waits for its change stays as it is, without its visibility, which is the operators'", () => {
    const before = many(2, "old").map((one) => ({ ...one, spec: { ...one.spec, visibility: { type: "public" } } }));
    const { children, isAll } = planSlice(many(2, "new") as unknown as Wanted, asKnown(before), 1);
    expect([isAll, children.map(({ spec }) => (spec as { description: string }).description)]).toEqual([
      false,
      ["A database", "new", "old"],
    ]);
    expect(children.every(({ spec }) => !("visibility" in spec))).toBe(true);
  });
});
