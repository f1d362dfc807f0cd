// Organizations and spaces, and on them what every list and every kind with metadata does alike.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type ApiHarness, fault, startApiHarness, to } from "./harness.ts";
import { shapeProblems } from "./response-shape.ts";

let bench: ApiHarness;
beforeAll(async () => {
  bench = await startApiHarness();
});
afterAll(() => bench.testEnv.stop());

const kinds = [
  {
    kind: "organization",
    path: "/v3/organizations",
    body: (name: string) => ({ name }),
    taken: (name: string) => `Organization '${name}' already exists.`,
    renamedToTaken: (name: string) => `Organization name '${name}' is already taken.`,
  },
  {
    kind: "space",
    path: "/v3/spaces",
    body: (name: string) => ({ name, relationships: { organization: to(home) } }),
    taken: () => "Name must be unique per organization",
    renamedToTaken: (name: string) => `Organization 'home' already contains a space with name '${name}'.`,
  },
];
let home: { guid: string };
beforeAll(async () => {
  home = await bench.org("home");
});

describe.each(kinds)("$kind", ({ kind, path, body, taken, renamedToTaken }) => {
  test("create, get, list, rename, delete; each is seen at once", async () => {
    const made = await bench.make(path, {
      ...body("One"),
      metadata: { labels: { team: "a" }, annotations: { note: "x y" } },
    });
    expect(shapeProblems(kind, made)).toEqual([]);
    expect(made.metadata).toEqual({ labels: { team: "a" }, annotations: { note: "x y" } });
    expect(await bench.read(`${path}/${made.guid}`)).toEqual(made);
    expect((await bench.read(`${path}?names=One`)).resources).toEqual([made]);
    const patched = await bench.call("PATCH", `${path}/${made.guid}`, {
      name: "Uno",
      metadata: { labels: { team: null, tier: "1" } },
    });
    expect([patched.status, patched.json.name, patched.json.metadata]).toEqual([
      200,
      "Uno",
      { labels: { tier: "1" }, annotations: { note: "x y" } },
    ]);
    expect(await bench.read(`${path}/${made.guid}`)).toEqual(patched.json);
    expect(await bench.column(`${path}?names=One`, "guid")).toEqual([]);
    const job = await bench.job(await bench.call("DELETE", `${path}/${made.guid}`));
    expect(shapeProblems("job", job)).toEqual([]);
    expect([job.operation, job.state, job.errors]).toEqual([`${kind}.delete`, "COMPLETE", []]);
    expect(fault(await bench.call("GET", `${path}/${made.guid}`))).toEqual([
      404,
      "CF-ResourceNotFound",
      `${kind === "space" ? "Space" : "Organization"} not found`,
    ]);
  });

  test("names are unique without regard to case, also by renaming; case alone may change", async () => {
    const one = await bench.make(path, body("Dup"));
    expect(fault(await bench.call("POST", path, body("dUP")))).toEqual([422, "CF-UnprocessableEntity", taken("dUP")]);
    const other = await bench.make(path, body("other"));
    expect(fault(await bench.call("PATCH", `${path}/${other.guid}`, { name: "DUP" }))).toEqual([
      422,
      "CF-UnprocessableEntity",
      renamedToTaken("DUP"),
    ]);
    expect((await bench.call("PATCH", `${path}/${one.guid}`, { name: "DUP" })).json.name).toBe("DUP");
    // The name is still this one's own after that.
    expect((await bench.call("POST", path, body("dup"))).status).toBe(422);
    // A name that was given up is free.
    expect((await bench.call("PATCH", `${path}/${one.guid}`, { name: "renamed" })).status).toBe(200);
    expect((await bench.call("POST", path, body("dup"))).status).toBe(201);
  });

  test.each([
    ["spaces", "a b  c"],
    ["unicode", "Überraschung 🎉 日本"],
    ["symbols", "!@#$%^&*()"],
    ["commas", "a,b"],
    ["percent", "100%2C"],
    ["255 characters", "n".repeat(255)],
    ["255 emoji", "🎉".repeat(255)],
    ["a reserved word", "kube-system"],
    ["quotes", `it's "x"`],
  ])("names may be unusual: %s", async (_what, name) => {
    const made = await bench.make(path, body(name));
    expect(made.name).toBe(name);
    expect(
      await bench.column(
        `${path}?names=${encodeURIComponent(name.replaceAll("%", "%25").replaceAll(",", "%2C"))}`,
        "guid",
      ),
    ).toEqual([made.guid]);
  });

  test.each([
    ["", "Name can't be blank"],
    ["   ", "Name can't be blank"],
    ["n".repeat(256), "Name is too long (maximum is 255 characters)"],
    ["a\nb", "Name must not contain control or zero-width characters"],
    ["a\u200bb", "Name must not contain control or zero-width characters"],
    ["a ", "Name must not begin or end with a blank"],
    [5, "Name must be a string"],
    [null, "Name can't be blank"],
  ])("but not %j", async (name, detail) => {
    expect(fault(await bench.call("POST", path, body(name as string)))).toEqual([
      422,
      "CF-UnprocessableEntity",
      detail,
    ]);
  });

  test("metadata has limits and rules", async () => {
    const { guid } = await bench.make(path, body("labelled"));
    const patch = (metadata: object) => bench.call("PATCH", `${path}/${guid}`, { metadata });
    const many = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, at) => [`k${at}`, "v"]));
    expect(fault(await patch({ labels: many(51) })).slice(0, 2)).toEqual([422, "CF-LabelLimitExceeded"]);
    expect(fault(await patch({ annotations: many(201) })).slice(0, 2)).toEqual([422, "CF-AnnotationLimitExceeded"]);
    expect((await patch({ labels: many(50), annotations: many(200) })).status).toBe(200);
    for (const labels of [
      { "a b": "x" },
      { "x/y/z": "1" },
      { "nodot/x": "1" },
      { "cloudfoundry.org/x": "1" },
      { ok: "-bad-" },
      { ok: "x".repeat(64) },
      { "": "x" },
    ])
      expect([labels, (await patch({ labels })).status]).toEqual([labels, 422]);
    expect((await patch({ annotations: { note: "x".repeat(5001) } })).status).toBe(422);
    expect((await patch({ bogus: {} })).status).toBe(422);
    expect((await patch({ labels: { k0: "" }, annotations: { k0: "" } })).json.metadata.labels.k0).toBe("");
  });
});

test("deleting an org deletes its spaces, apps and routes", async () => {
  const org = await bench.org("whole");
  const space = await bench.space(org, "s");
  const app = await bench.app(space, "a");
  const job = await bench.job(await bench.call("DELETE", `/v3/organizations/${org.guid}`));
  expect(job.state).toBe("COMPLETE");
  for (const path of [`/v3/spaces/${space.guid}`, `/v3/apps/${app.guid}`])
    expect((await bench.call("GET", path)).status).toBe(404);
  expect(await bench.org("whole")).toMatchObject({ name: "whole" });
});

test("the same space name in two orgs; filters, include, and unknown organizations", async () => {
  const [one, two] = [await bench.org("first"), await bench.org("second")];
  const spaces = [await bench.space(one, "same"), await bench.space(two, "same")];
  expect(await bench.column("/v3/spaces?names=SAME&order_by=created_at", "guid")).toEqual(
    spaces.map(({ guid }) => guid),
  );
  expect(await bench.column(`/v3/spaces?names=same&organization_guids=${two.guid}`, "guid")).toEqual([spaces[1].guid]);
  expect(await bench.column("/v3/spaces?organization_guids=unknown", "guid")).toEqual([]);
  const { included, resources } = await bench.read(`/v3/spaces?include=organization&names=same`);
  expect([resources.length, included.organizations.map(({ name }: { name: string }) => name).sort()]).toEqual([
    2,
    ["first", "second"],
  ]);
  expect((await bench.read(`/v3/spaces/${spaces[0].guid}?include=organization`)).included.organizations[0].guid).toBe(
    one.guid,
  );
  expect(
    fault(await bench.call("POST", "/v3/spaces", { name: "x", relationships: { organization: to("unknown") } })),
  ).toEqual([
    422,
    "CF-UnprocessableEntity",
    "Invalid organization. Ensure the organization exists and you have access to it.",
  ]);
  expect(fault(await bench.call("POST", "/v3/spaces", { name: "x" }))[2]).toMatch(/^Relationships/);
  expect(
    (await bench.call("POST", "/v3/spaces", { name: "x", suspended: true, relationships: { organization: to(one) } }))
      .json.suspended,
  ).toBe(true);
});

test("space features", async () => {
  const space = await bench.space(home, "featured");
  const { resources } = await bench.read(`/v3/spaces/${space.guid}/features`);
  expect(resources.flatMap((one: object) => shapeProblems("space_feature", one))).toEqual([]);
  expect((await bench.call("PATCH", `/v3/spaces/${space.guid}/features/ssh`, { enabled: false })).json.enabled).toBe(
    false,
  );
  expect((await bench.read(`/v3/spaces/${space.guid}/features/ssh`)).enabled).toBe(false);
  expect(fault(await bench.call("GET", `/v3/spaces/${space.guid}/features/nope`))).toEqual([
    404,
    "CF-ResourceNotFound",
    "Feature not found",
  ]);
});

describe("lists", () => {
  let org: { guid: string };
  const path = (query: string): string => `/v3/spaces?organization_guids=${org.guid}${query}`;
  beforeAll(async () => {
    org = await bench.org("listed");
    for (const [name, labels] of [
      ["b", { env: "prod", tier: "1" }],
      ["a", { env: "dev" }],
      ["c", {}],
    ] as const)
      await bench.make("/v3/spaces", { name, metadata: { labels }, relationships: { organization: to(org) } });
  });

  test("pages carry every filter on, once, and know their ends", async () => {
    const { pagination, resources } = await bench.read(path("&per_page=2&page=1&order_by=-name&label_selector=!x"));
    expect(resources.map(({ name }: { name: string }) => name)).toEqual(["c", "b"]);
    const href = (page: number): string =>
      `${bench.testEnv.replicas[0].url}/v3/spaces?label_selector=%21x&order_by=-name&organization_guids=${org.guid}&page=${page}&per_page=2`;
    expect(pagination).toEqual({
      total_results: 3,
      total_pages: 2,
      first: { href: href(1) },
      last: { href: href(2) },
      next: { href: href(2) },
      previous: null,
    });
    const next = await bench.read(href(2).replace(bench.testEnv.replicas[0].url, ""));
    expect([
      next.resources.map(({ name }: { name: string }) => name),
      next.pagination.next,
      next.pagination.previous.href,
    ]).toEqual([["a"], null, href(1)]);
    expect((await bench.read("/v3/spaces?names=nobody")).pagination).toMatchObject({
      total_results: 0,
      total_pages: 1,
      next: null,
      previous: null,
    });
  });

  test("commas in names survive the links of a page", async () => {
    await bench.make("/v3/spaces", { name: "x,1", relationships: { organization: to(org) } });
    await bench.make("/v3/spaces", { name: "x,2", relationships: { organization: to(org) } });
    const { pagination } = await bench.read(path("&per_page=1&names=x%252C1,x%252C2"));
    expect(pagination.total_results).toBe(2);
    expect(await bench.column(pagination.next.href.replace(bench.testEnv.replicas[0].url, ""), "name")).toEqual([
      "x,2",
    ]);
  });

  test.each([
    ["", "b,a,c"],
    ["&order_by=name", "a,b,c"],
    ["&order_by=%2Bname", "a,b,c"],
    ["&order_by=-name", "c,b,a"],
    ["&order_by=created_at", "b,a,c"],
    ["&order_by=-created_at", "c,a,b"],
  ])("order %s", async (order, names) => {
    expect((await bench.column(path(`&names=a,b,c${order}`), "name")).join()).toBe(names);
  });

  test.each([
    ["env", "b,a"],
    ["!env", "c"],
    ["env=prod", "b"],
    ["env==prod", "b"],
    ["env!=prod", "a,c"],
    ["env in (prod,dev)", "b,a"],
    ["env notin (prod)", "a,c"],
    ["env,tier=1", "b"],
    ["env in (prod,dev),tier", "b"],
  ])("label_selector %s", async (selector, names) => {
    expect(
      (await bench.column(path(`&names=a,b,c&label_selector=${encodeURIComponent(selector)}`), "name")).join(),
    ).toBe(names);
  });

  test("times", async () => {
    const [{ created_at: time }] = (await bench.read(path("&names=a"))).resources;
    expect(await bench.column(path(`&names=a&created_ats=${time}`), "name")).toEqual(["a"]);
    expect(await bench.column(path(`&names=a&created_ats[lt]=${time}`), "name")).toEqual([]);
    expect(await bench.column(path(`&names=a&created_ats[lte]=${time}&created_ats[gte]=${time}`), "name")).toEqual([
      "a",
    ]);
    expect(await bench.column(path(`&names=a&updated_ats[gt]=${time.replace(/^\d{4}/, "2099")}`), "name")).toEqual([]);
  });

  test.each([
    ["page=0", "Page must be a positive integer"],
    ["per_page=5001", "Per page must be between 1 and 5000"],
    ["order_by=nope", "Order by can only be: 'created_at', 'updated_at', 'name'"],
    ["bogus=1", "Unknown query parameter(s): 'bogus'. Valid parameters are: "],
    ["label_selector=", "Missing label_selector value"],
    ["label_selector=a b", "Invalid label_selector value"],
    ["include=nope", "Invalid included resource: 'nope'. Valid included resources are: 'org', 'organization'"],
    ["include=organization,organization", "Duplicate included resource"],
    ["created_ats=yesterday", "has an invalid timestamp format"],
  ])("%s is refused", async (query, detail) => {
    const [status, title, text] = fault(await bench.call("GET", `/v3/spaces?${query}`));
    expect([status, title]).toEqual([400, "CF-BadQueryParameter"]);
    expect(text).toContain("The query parameter is invalid: ");
    expect(text).toContain(detail);
  });
});
