// Which buildpacks a build tries or takes: named ones, and by detection those that are listed, uploaded ones among them.
import { describe, expect, test } from "vitest";
import { planOrder } from "./buildpack-order.ts";
import { builder, digest } from "./testing/fixtures.ts";
import { isOfImage, toOrderToml, type PlacedEntry } from "./placed-buildpacks.ts";

const node = { id: "cupola/nodejs", version: "0.10.0" };
const pages = { id: "cupola/static", version: "1.0.0" };
const procfile = { id: "cupola/procfile", version: "0.1.0" };
const optional = (entry: typeof procfile): typeof procfile & { optional: true } => ({ ...entry, optional: true });
const content = { digest: digest(7), size: 9 };
const rust = { content: digest(7), name: "rust_buildpack" };

const ofImage = (id: string, name = id): { name: string; path: string } => ({ name, path: id });
const all = ["cupola/nodejs", "cupola/static", "cupola/procfile"].map((id) => ofImage(id));
const uploaded = { name: "rust_buildpack", content };

describe("detection", () => {
  const detect = (buildpacks: Parameters<typeof planOrder>[0]["buildpacks"], image = builder) =>
    planOrder({ buildpacks, detect: true }, image, new Set());

  test.each<[string, Parameters<typeof detect>[0]]>([
    ["nothing is listed", []],
    ["what is listed is another builder's", [{ name: "nodejs_buildpack", path: "nodejs" }]],
    ["all of the image's are listed in its order", all],
    ["one was renamed", [ofImage("cupola/nodejs", "js"), ...all.slice(1)]],
  ])("is by the image's own order when %s", (_when, buildpacks) => expect(detect(buildpacks)).toBeUndefined());

  test.each<[string, Parameters<typeof detect>[0], PlacedEntry[][]]>([
    [
      "a moved one is tried at its position",
      [all[1]!, all[0]!, all[2]!],
      [[pages, optional(procfile)], [node, optional(procfile)], [procfile]],
    ],
    ["a disabled one is not tried", [all[0]!, all[2]!], [[node, optional(procfile)], [procfile]]],
    ["a disabled one is left out where it is optional", [all[0]!, all[1]!], [[node], [pages]]],
    [
      "an uploaded one is tried at its position, with the optional ones of the image",
      [all[0]!, uploaded, all[1]!, all[2]!],
      [[node, optional(procfile)], [rust, optional(procfile)], [pages, optional(procfile)], [procfile]],
    ],
    [
      "an uploaded one is before the image's own order when none of that is listed",
      [uploaded],
      [[rust, optional(procfile)], [node, optional(procfile)], [pages, optional(procfile)], [procfile]],
    ],
  ])("%s", (_what, buildpacks, groups) => expect(detect(buildpacks)).toEqual(groups));

  test("of an image that states no order tries its buildpacks one by one behind an uploaded one", () =>
    expect(detect([uploaded], { ...builder, order: [] })).toEqual([
      [rust],
      [node],
      [procfile],
      [{ id: "other/procfile", version: "2.0.0" }],
      [pages],
    ]));

  test("with nothing left to try says which list to look at", () => {
    const order = [
      [
        { id: "a", version: "1" },
        { id: "b", version: "1" },
      ],
    ];
    expect(() => detect([ofImage("b")], { ...builder, order })).toThrow(/cf buildpacks shows which are not$/);
  });
});

describe("detection by an image whose optional buildpack also leads a group", () => {
  const go = { id: "cupola/go", version: "1.0.0" };
  const order = [[optional(procfile), node], [node, optional(procfile)], [pages], [go, optional(procfile)], [procfile]];
  const image = { buildpacks: new Map([...builder.buildpacks, ["cupola/go", ["1.0.0"]]]), order };
  const detect = (...ids: (string | typeof uploaded)[]) =>
    planOrder(
      { buildpacks: ids.map((id) => (typeof id === "string" ? ofImage(`cupola/${id}`) : id)), detect: true },
      image,
      new Set(),
    );

  test.each([
    ["by leaders, as new Buildpacks stand", ["nodejs", "static", "go", "procfile"]],
    ["by first appearance, as earlier versions made them", ["procfile", "nodejs", "static", "go"]],
  ])("keeps the image's order while nobody moved one: %s", (_how, ids) => {
    expect(detect(...ids)).toBeUndefined();
    expect(detect(...ids.filter((id) => id !== "static"))).toEqual(order.filter((group) => group[0] !== pages));
    expect(detect(...ids.flatMap((id) => (id === "static" ? [uploaded, id] : [id])))).toEqual(
      (order as PlacedEntry[][]).toSpliced(2, 0, [rust, optional(procfile)]),
    );
    expect(detect(...ids, uploaded)).toEqual([...order, [rust, optional(procfile)]]);
  });

  test("tries a moved one at its position", () =>
    expect(detect("go", "nodejs", "static", "procfile")).toEqual([order[3], order[0], order[1], order[2], order[4]]));
});

describe("detection when every buildpack of the image is disabled", () => {
  const detect = (buildpacks: Parameters<typeof planOrder>[0]["buildpacks"], disabled: readonly string[]) =>
    planOrder({ buildpacks, detect: true }, builder, new Set(disabled));
  const ids = all.map(({ path }) => path);

  test("tries an uploaded one alone", () => expect(detect([uploaded], ids)).toEqual([[rust]]));
  test("leaves no group empty whose members are all optional", () => {
    const image = { ...builder, order: [[optional(procfile)], [node]] };
    expect(planOrder({ buildpacks: [], detect: true }, image, new Set([procfile.id]))).toEqual([[node]]);
  });
  test("tries none, and says where to look", () =>
    expect(() => detect([], ids)).toThrow(/cf buildpacks shows which are not$/));
  test("is by the image's own order when those are another builder's", () =>
    expect(detect([], ["nodejs"])).toBeUndefined());
  test("tries those that became enabled since the build was made", () =>
    expect(detect([], ids.slice(1))).toEqual([[node]]));
});

describe("named buildpacks", () => {
  const order = (...buildpacks: Parameters<typeof planOrder>[0]["buildpacks"]) =>
    planOrder({ buildpacks, detect: false }, builder, new Set());

  test("are one group, the newest version of each, uploaded ones and images among them", () => {
    const image = { name: "docker://example.com/bp:1" };
    expect(order({ name: "cupola/nodejs" }, uploaded, image, { name: "other/procfile" })).toEqual([
      [node, rust, { image: "example.com/bp:1", name: image.name }, { id: "other/procfile", version: "2.0.0" }],
    ]);
  });

  test.each([
    ["cupola/nodejs@0.9.0", "0.9.0"],
    ["urn:cnb:builder:cupola/nodejs@0.1.0", "0.1.0"],
    ["nodejs_buildpack", "0.10.0"],
    ["NodeJS", "0.10.0"],
  ])("%s is found", (name, version) =>
    expect(order({ name })).toEqual([[{ id: "cupola/nodejs", version }, optional(procfile)]]),
  );

  test("one that an admin renamed is found by its id", () =>
    expect(order(ofImage("cupola/nodejs", "js"))).toEqual([[node, optional(procfile)]]));

  test.each([
    ["one of the image", { name: "cupola/static" }, pages],
    ["an uploaded one", uploaded, rust],
  ])("%s leaves the Procfile in force", (_what, named, entry) =>
    expect(order(named)).toEqual([[entry, optional(procfile)]]),
  );

  test.each(["cupola/nodejs", "rust_buildpack"])("%s does not bring back an optional one that is disabled", (name) => {
    const named = name === uploaded.name ? uploaded : { name };
    const [group] = planOrder({ buildpacks: [named], detect: false }, builder, new Set([procfile.id])) ?? [];
    expect(group).toEqual([named === uploaded ? rust : node]);
  });

  test.each([
    [
      "java",
      "the builder image has no buildpack java; it has cupola/nodejs, cupola/procfile, cupola/static, other/procfile",
    ],
    ["procfile", "procfile can be cupola/procfile or other/procfile: name one of them in full"],
    ["cupola/nodejs@7", "the builder image has cupola/nodejs in version 0.1.0, 0.10.0, 0.9.0, not 7"],
    ["https://me:secret@example.com/bp", "builds in Pods fetch no buildpack from https://***:***@example.com/bp: name"],
  ])("%s is not", (name, message) => {
    expect(() => order({ name })).toThrow(message);
    expect(() => order({ name })).not.toThrow("secret");
  });
});

test("an order of the image's buildpacks is a file for the detector; one with others is made where they are unpacked", () => {
  const order = [[node, optional(procfile)]];
  expect(isOfImage(order)).toBe(true);
  expect(toOrderToml(order)).toBe(
    '[[order]]\n[[order.group]]\nid = "cupola/nodejs"\nversion = "0.10.0"\n\n[[order.group]]\nid = "cupola/procfile"\nversion = "0.1.0"\noptional = true\n',
  );
  expect(isOfImage([[rust]])).toBe(false);
  expect(() => toOrderToml([[rust]])).toThrow("rust_buildpack");
});
