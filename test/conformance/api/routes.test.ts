// Routes, destinations and domains.
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { Domain } from "../../../crds/domain/domain.ts";
import { Route } from "../../../crds/route/route.ts";
import { type ApiHarness, fault, startApiHarness, to } from "./harness.ts";
import { shapeProblems } from "./response-shape.ts";
import type { Answer } from "./test-env.ts";

let bench: ApiHarness;
let org: { guid: string };
let space: { guid: string };
let other: { guid: string };
let domain: { guid: string };
let privateDomain: { guid: string };
beforeAll(async () => {
  bench = await startApiHarness();
  org = await bench.org("org");
  [space, other] = [await bench.space(org, "space"), await bench.space(org, "other")];
  domain = (await bench.read("/v3/domains?names=apps.example")).resources[0];
  privateDomain = await bench.make("/v3/domains", { name: "own.test", relationships: { organization: to(org) } });
});
afterAll(() => bench.testEnv.stop());

const wanted = (
  host: string | undefined,
  more: { path?: string; port?: number; in?: { guid: string }; at?: { guid: string }; options?: object } = {},
): object => {
  const { in: place = space, at = domain, ...rest } = more;
  return { ...(host !== undefined && { host }), ...rest, relationships: { space: to(place), domain: to(at) } };
};
const create = (...args: Parameters<typeof wanted>): Promise<Answer> =>
  bench.call("POST", "/v3/routes", wanted(...args));
const make = (...args: Parameters<typeof wanted>): ReturnType<ApiHarness["make"]> =>
  bench.make("/v3/routes", wanted(...args));

describe("routes", () => {
  test("create, get, patch, list, delete", async () => {
    const route = await make("Shop", { path: "/Cart" });
    expect(shapeProblems("route", route)).toEqual([]);
    expect([route.host, route.path, route.port, route.protocol, route.url, route.destinations]).toEqual([
      "Shop",
      "/Cart",
      null,
      "http",
      "Shop.apps.example/Cart",
      [],
    ]);
    expect(await bench.read(`/v3/routes/${route.guid}`)).toEqual(route);
    const patched = await bench.call("PATCH", `/v3/routes/${route.guid}`, { metadata: { labels: { a: "b" } } });
    expect([patched.status, patched.json.metadata.labels]).toEqual([200, { a: "b" }]);
    for (const filter of [
      "hosts=SHOP",
      "paths=%2FCart",
      `domain_guids=${domain.guid}`,
      `space_guids=${space.guid}`,
      `organization_guids=${org.guid}`,
      "label_selector=a=b",
      `guids=${route.guid}`,
    ])
      expect([filter, await bench.column(`/v3/routes?${filter}`, "guid")]).toEqual([filter, [route.guid]]);
    for (const filter of [
      "hosts=x",
      "paths=%2Fcart2",
      "domain_guids=x",
      `space_guids=${other.guid}`,
      "label_selector=a!=b",
      "ports=1",
      "app_guids=x",
    ])
      expect([filter, await bench.column(`/v3/routes?${filter}`, "guid")]).toEqual([filter, []]);
    const { included } = await bench.read("/v3/routes?include=domain,space.organization");
    expect([included.domains[0].guid, included.spaces[0].guid, included.organizations[0].guid]).toEqual([
      domain.guid,
      space.guid,
      org.guid,
    ]);
    expect(fault(await bench.call("GET", `/v3/routes/${route.guid}?include=nope`)).slice(0, 2)).toEqual([
      422,
      "CF-UnprocessableEntity",
    ]);
    expect((await bench.job(await bench.call("DELETE", `/v3/routes/${route.guid}`))).operation).toBe("route.delete");
    expect(fault(await bench.call("GET", `/v3/routes/${route.guid}`))).toEqual([
      404,
      "CF-ResourceNotFound",
      "Route not found",
    ]);
    expect((await create("shop", { path: "/cart" })).status).toBe(201);
  });

  test("options: given, merged, removed", async () => {
    expect((await make("no-options")).options).toBeUndefined();
    const route = await make("options", { options: { loadbalancing: "least-connection" } });
    expect([route.options, shapeProblems("route", route)]).toEqual([{ loadbalancing: "least-connection" }, []]);
    const patch = async (options: object): Promise<unknown> =>
      (await bench.call("PATCH", `/v3/routes/${route.guid}`, { options })).json.options;
    expect(await patch({ loadbalancing: "round-robin" })).toEqual({ loadbalancing: "round-robin" });
    expect(await patch({})).toEqual({ loadbalancing: "round-robin" });
    expect(await patch({ loadbalancing: null })).toEqual({});
  });

  test("an address is somebody's once, whatever its case; a host of a shared domain belongs to one space", async () => {
    await make("taken");
    expect(fault(await create("TAKEN"))).toEqual([
      422,
      "CF-UnprocessableEntity",
      "Route already exists with host 'TAKEN' for domain 'apps.example'.",
    ]);
    expect(fault(await create("taken", { in: other }))[2]).toMatch(/^Route already exists/);
    expect((await create("taken", { path: "/x" })).status).toBe(201);
    expect(fault(await create("taken", { path: "/X" }))[2]).toMatch(
      /^Route already exists with host 'taken' and path '\/X'/,
    );
    expect(fault(await create("taken", { path: "/X/" }))[0]).toBe(422);
    expect(fault(await create("taken", { path: "/y", in: other }))[0]).toBe(422);
    // On a private domain the paths of a host may be in several spaces.
    await make("host", { at: privateDomain });
    expect((await create("host", { at: privateDomain, path: "/y", in: other })).status).toBe(201);
    expect((await create("", { at: privateDomain })).status).toBe(201);
  });

  test("a host is shown in the case it was given, and compared without", async () => {
    const route = await make("MyApp");
    expect([route.host, route.url]).toEqual(["MyApp", "MyApp.apps.example"]);
    expect(fault(await create("myapp")).slice(0, 2)).toEqual([422, "CF-UnprocessableEntity"]);
    expect(fault(await create("MYAPP", { path: "/x", in: other }))[2]).toMatch(/in another space/);
    expect(await bench.column("/v3/routes?hosts=myapp", "guid")).toEqual([route.guid]);
    const reserved = await bench.read(`/v3/domains/${domain.guid}/route_reservations?host=myapp`);
    expect(reserved.matching_route).toBe(true);
  });

  test("a host of a shared domain is another space's to take as soon as the last route on it is gone", async () => {
    for (let turn = 0; turn < 10; turn++) {
      const [here, there] = turn % 2 ? [other, space] : [space, other];
      const routes = [await make("passed-on", { in: here }), await make("passed-on", { in: here, path: "/x" })];
      await bench.job(await bench.call("DELETE", `/v3/routes/${routes[0].guid}`));
      expect(fault(await create("passed-on", { in: there }))[2]).toBe(
        "Route already exists with host 'passed-on' for domain 'apps.example' in another space.",
      );
      await bench.job(await bench.call("DELETE", `/v3/routes/${routes[1].guid}`));
      const taken = await make("passed-on", { in: there });
      await bench.job(await bench.call("DELETE", `/v3/routes/${taken.guid}`));
    }
  });

  test("a domain that kubectl names like a route's host is hidden until the route is gone", async () => {
    const route = await make("inner");
    const key = { namespace: "org", name: "inner" };
    const { kube } = bench.testEnv;
    await kube.create(Domain, { metadata: key, spec: { name: "inner.apps.example" } });
    const shown = (): Promise<unknown> => bench.column("/v3/domains?names=inner.apps.example", "name");
    await vi.waitFor(
      async () =>
        expect((await kube.get(Domain, key)).status?.conditions).toMatchObject([
          { type: "Ready", status: "False", reason: "NameReserved" },
        ]),
      10_000,
    );
    expect(await shown()).toEqual([]);
    await bench.job(await bench.call("DELETE", `/v3/routes/${route.guid}`));
    await vi.waitFor(async () => expect(await shown()).toEqual(["inner.apps.example"]), 10_000);
  });

  test("a route that would be of another domain than was asked for is refused", async () => {
    const guest = await bench.org("shadowed");
    const home = await bench.space(guest, "s");
    const { kube } = bench.testEnv;
    await kube.create(Domain, {
      metadata: { namespace: "shadowed", name: "apps.example" },
      spec: { name: "shadow.test" },
    });
    await vi.waitFor(
      async () => expect(await bench.column("/v3/domains?names=shadow.test", "name")).toEqual(["shadow.test"]),
      10_000,
    );
    expect(fault(await create("lands", { in: home }))).toEqual([
      422,
      "CF-UnprocessableEntity",
      "Invalid domain. In organization 'shadowed' the object name 'apps.example' means another domain than 'apps.example'.",
    ]);
    const [shadow] = (await bench.read("/v3/domains?names=shadow.test")).resources;
    expect((await make("lands", { in: home, at: shadow })).url).toBe("lands.shadow.test");
    expect((await create("lands")).status).toBe(201);
  });

  test("a Route that takes another space's host by kubectl is hidden and blocks nobody", async () => {
    await make("squatted");
    const { kube } = bench.testEnv;
    const key = { namespace: "org-other", name: "squatter" };
    await kube.create(Route, {
      metadata: key,
      spec: { host: "squatted", path: "/login", domainRef: { name: "apps.example" } },
    });
    await vi.waitFor(
      async () =>
        expect((await kube.get(Route, key)).status?.conditions).toMatchObject([
          { type: "Ready", status: "False", reason: "HostTaken" },
        ]),
      10_000,
    );
    expect(await bench.column("/v3/routes?hosts=squatted", "path")).toEqual([""]);
    expect((await create("squatted", { path: "/login" })).status).toBe(201);
    expect(fault(await create("squatted", { path: "/other", in: other }))[0]).toBe(422);
  });

  test.each([
    [() => wanted(""), "Missing host. Routes in shared domains must have a host defined."],
    [() => wanted(undefined), "Missing host. Routes in shared domains must have a host defined."],
    [() => wanted("a.b"), "Host must be either"],
    [() => wanted("-"), ""],
    [() => wanted("x".repeat(64)), "Host is too long (maximum is 63 characters)"],
    [() => wanted("p", { path: "/" }), "Path cannot be exactly /"],
    [() => wanted("p", { path: "x" }), "Path must begin with /"],
    [() => wanted("p", { path: "/a?b" }), "Path cannot contain ?"],
    [() => wanted("p", { path: `/${"x".repeat(128)}` }), "Path is too long (maximum is 128 characters)"],
    [() => wanted("p", { port: 1024 }), "Routes with protocol 'http' do not support ports."],
    [() => wanted("p", { port: 70000 }), "Port"],
    [
      () => wanted("p", { at: { guid: "unknown" } }),
      "Invalid domain. Ensure that the domain exists and you have access to it.",
    ],
    [
      () => wanted("p", { in: { guid: "unknown" } }),
      "Invalid space. Ensure that the space exists and you have access to it.",
    ],
    [
      () => wanted("p", { options: { loadbalancing: "hash" } }),
      "Options Loadbalancing must be one of 'round-robin, least-connection' if present",
    ],
    [
      () => ({ host: "p", relationships: { space: to(space) } }),
      `Relationships Domain can't be blank, Relationships Domain must be structured like this: "domain: {"data": {"guid": "valid-guid"}}"`,
    ],
  ])("row %# is refused: %s", async (body, text) => {
    const [status, title, detail] = fault(await bench.call("POST", "/v3/routes", body()));
    expect([status, title]).toEqual([422, "CF-UnprocessableEntity"]);
    expect(detail).toContain(text);
  });

  test("wildcards, reservations, unmapped routes", async () => {
    expect((await make("*")).url).toBe("*.apps.example");
    const reserved = async (query: string): Promise<boolean> =>
      (await bench.read(`/v3/domains/${domain.guid}/route_reservations?${query}`)).matching_route;
    await make("held", { path: "/a" });
    expect([
      await reserved("host=held&path=/a"),
      await reserved("host=HELD&path=/A"),
      await reserved("host=held"),
      await reserved(""),
    ]).toEqual([true, true, false, false]);
    expect((await bench.call("GET", `/v3/domains/${domain.guid}/route_reservations?bogus=1`)).status).toBe(422);
    const app = await bench.app(other, "mapped");
    const [kept, orphan] = [await make("kept", { in: other }), await make("orphan", { in: other })];
    await bench.call("POST", `/v3/routes/${kept.guid}/destinations`, { destinations: [{ app: { guid: app.guid } }] });
    expect(fault(await bench.call("DELETE", `/v3/spaces/${other.guid}/routes`))[0]).toBe(422);
    for (const [query, what] of [
      ["", "routes"],
      ["?unmapped=false", "mapped routes"],
    ])
      expect(fault(await bench.call("DELETE", `/v3/spaces/${other.guid}/routes${query}`))).toEqual([
        422,
        "CF-UnprocessableEntity",
        `Mass delete not supported for ${what}. Use 'unmapped=true' parameter to delete all unmapped routes.`,
      ]);
    expect((await bench.job(await bench.call("DELETE", `/v3/spaces/${other.guid}/routes?unmapped=true`))).state).toBe(
      "COMPLETE",
    );
    expect(
      (await bench.column(`/v3/routes?space_guids=${other.guid}`, "guid")).filter((guid) =>
        [kept.guid, orphan.guid].includes(guid),
      ),
    ).toEqual([kept.guid]);
  });
});

describe("destinations", () => {
  let app: { guid: string };
  let route: { guid: string };
  const path = (): string => `/v3/routes/${route.guid}/destinations`;
  const insert = (...destinations: object[]): Promise<Answer> => bench.call("POST", path(), { destinations });
  beforeAll(async () => {
    app = await bench.app(space, "app");
    route = await make("destined");
  });

  test("insert, again, with a port, with a protocol, remove", async () => {
    const first = await insert({ app: { guid: app.guid } });
    expect([first.status, first.json.destinations.length]).toEqual([200, 1]);
    expect(first.json.destinations.flatMap((one: object) => shapeProblems("destination", one))).toEqual([]);
    expect(first.json.destinations[0]).toMatchObject({
      app: { guid: app.guid, process: { type: "web" } },
      port: 8080,
      protocol: "http1",
      weight: null,
    });
    // The same, said more exactly.
    expect(
      (await insert({ app: { guid: app.guid, process: { type: "web" } }, port: 8080, protocol: "http1" })).json
        .destinations,
    ).toEqual(first.json.destinations);
    expect(fault(await insert({ app: { guid: app.guid }, protocol: "http2" }))).toEqual([
      422,
      "CF-UnprocessableEntity",
      `Cannot add destination with protocol: http2. Destination already exists for route: destined.apps.example, app: ${app.guid}, process: web, and protocol: http1.`,
    ]);
    expect(
      (await insert({ app: { guid: app.guid }, port: 9000 }, { app: { guid: app.guid, process: { type: "worker" } } }))
        .json.destinations.length,
    ).toBe(3);
    expect((await bench.read(`/v3/routes/${route.guid}`)).destinations.length).toBe(3);
    expect((await bench.read(`${path()}?app_guids=x`)).destinations).toEqual([]);
    expect(await bench.column(`/v3/routes?app_guids=${app.guid}`, "guid")).toEqual([route.guid]);
    expect(await bench.column(`/v3/apps/${app.guid}/routes`, "guid")).toEqual([route.guid]);
    const { guid } = first.json.destinations[0];
    const patched = await bench.call("PATCH", `${path()}/${guid}`, { protocol: "http2" });
    expect(shapeProblems("destination", patched.json)).toEqual([]);
    expect([patched.status, patched.json.guid, patched.json.protocol]).toEqual([200, guid, "http2"]);
    expect((await bench.call("DELETE", `${path()}/${guid}`)).status).toBe(204);
    expect(fault(await bench.call("DELETE", `${path()}/${guid}`))).toEqual([
      422,
      "CF-UnprocessableEntity",
      "Unable to unmap route from destination. Ensure the route has a destination with this guid.",
    ]);
    const emptied = await bench.call("PATCH", path(), { destinations: [] });
    expect([emptied.status, emptied.json.destinations]).toEqual([200, []]);
  });

  test("weights are all or none, and make 100", async () => {
    const second = await bench.app(space, "second");
    const replace = (...weights: (number | undefined)[]): Promise<Answer> =>
      bench.call("PATCH", path(), {
        destinations: [app, second].map(({ guid }, at) => ({
          app: { guid },
          ...(weights[at] && { weight: weights[at] }),
        })),
      });
    expect((await replace(60, undefined)).status).toBe(422);
    expect((await replace(60, 30)).status).toBe(422);
    const replaced = await replace(60, 40);
    expect(replaced.json.destinations.map(({ weight }: { weight: number }) => weight).sort()).toEqual([40, 60]);
    expect((await bench.call("DELETE", `${path()}/${replaced.json.destinations[0].guid}`)).status).toBe(422);
    expect((await insert({ app: { guid: app.guid }, port: 9000 })).status).toBe(422);
    expect((await replace()).json.destinations.map(({ weight }: { weight: null }) => weight)).toEqual([null, null]);
  });

  test.each([
    [() => [{ app: { guid: "unknown" } }], 'App(s) with guid(s) "unknown" do not exist or you do not have access.'],
    [
      () => [{ app: { guid: app.guid } }, { app: { guid: app.guid }, port: 8080 }],
      "Destinations cannot contain duplicate entries",
    ],
    [
      () => [{ app: { guid: app.guid }, weight: 10 }],
      "Destinations[0]: weighted destinations can only be used when replacing all destinations.",
    ],
    [() => [], "Destinations must be an array containing between 1 and 100 destination objects."],
    [() => [{ app: { guid: app.guid }, port: 0 }], "Destinations"],
    [() => [{ app: { guid: app.guid }, protocol: "tcp" }], "tcp"],
  ])("row %# is refused", async (destinations, text) => {
    const [status, , detail] = fault(await insert(...destinations()));
    expect(status).toBe(422);
    expect(detail).toContain(text);
  });

  test("an app of another space cannot be a destination; a deleted app is removed from its routes", async () => {
    const foreign = await bench.app(other, "foreign");
    expect(fault(await insert({ app: { guid: foreign.guid } }))[2]).toBe(
      "Routes destinations must be in either the route's space or the route's shared spaces",
    );
    const doomed = await bench.app(space, "doomed");
    const own = await make("doomed");
    await bench.call("POST", `/v3/routes/${own.guid}/destinations`, {
      destinations: [{ app: { guid: doomed.guid } }, { app: { guid: app.guid } }],
    });
    await bench.job(await bench.call("DELETE", `/v3/apps/${doomed.guid}`));
    expect(
      (await bench.read(`/v3/routes/${own.guid}`)).destinations.map((one: { app: { guid: string } }) => one.app.guid),
    ).toEqual([app.guid]);
  });
});

describe("domains", () => {
  test("create, get, list, patch, share, delete", async () => {
    const made = await bench.make("/v3/domains", { name: "Team.Test", relationships: { organization: to(org) } });
    expect(shapeProblems("domain", made)).toEqual([]);
    expect(shapeProblems("domain", await bench.read(`/v3/domains/${domain.guid}`))).toEqual([]);
    expect([made.name, made.internal, made.supported_protocols]).toEqual(["team.test", false, ["http"]]);
    expect(await bench.column(`/v3/domains?organization_guids=${org.guid}&names=TEAM.test`, "guid")).toEqual([
      made.guid,
    ]);
    const guest = await bench.org("guest");
    expect(await bench.column(`/v3/organizations/${guest.guid}/domains`, "name")).toEqual(["apps.example"]);
    const sharing = `/v3/domains/${made.guid}/relationships/shared_organizations`;
    expect(fault(await bench.call("POST", sharing, { data: [{ guid: org.guid }] }))[2]).toBe(
      "Domain cannot be shared with owning organization.",
    );
    expect(fault(await bench.call("DELETE", `${sharing}/${guest.guid}`))[2]).toBe(
      "Unable to unshare domain from organization with name 'guest'. Ensure the domain is shared to this organization.",
    );
    const shared = await bench.call("POST", `/v3/domains/${made.guid}/relationships/shared_organizations`, {
      data: [guest].map(({ guid }) => ({ guid })),
    });
    expect([shared.status, shared.json]).toEqual([200, { data: [{ guid: guest.guid }] }]);
    expect(await bench.column(`/v3/organizations/${guest.guid}/domains`, "name")).toEqual([
      "apps.example",
      "team.test",
    ]);
    expect((await bench.call("DELETE", `/v3/domains/${made.guid}`)).status).toBe(422);
    const theirs = await make("x", { in: await bench.space(guest, "s"), at: made });
    expect(
      (await bench.call("DELETE", `/v3/domains/${made.guid}/relationships/shared_organizations/${guest.guid}`)).status,
    ).toBe(422);
    await bench.job(await bench.call("DELETE", `/v3/routes/${theirs.guid}`));
    expect(
      (await bench.call("DELETE", `/v3/domains/${made.guid}/relationships/shared_organizations/${guest.guid}`)).status,
    ).toBe(204);
    expect(
      (await bench.call("PATCH", `/v3/domains/${made.guid}`, { metadata: { annotations: { a: "b" } } })).json.metadata
        .annotations,
    ).toEqual({ a: "b" });
    expect((await bench.job(await bench.call("DELETE", `/v3/domains/${made.guid}`))).operation).toBe("domain.delete");
    expect((await bench.call("GET", `/v3/domains/${made.guid}`)).status).toBe(404);
    expect((await bench.read(`/v3/organizations/${org.guid}/domains/default`)).guid).toBe(domain.guid);
  });

  test("a share ends with its org and blocks nothing", async () => {
    const made = await bench.make("/v3/domains", { name: "lent.test", relationships: { organization: to(org) } });
    const guest = await bench.org("passing");
    await bench.call("POST", `/v3/domains/${made.guid}/relationships/shared_organizations`, {
      data: [{ guid: guest.guid }],
    });
    await bench.job(await bench.call("DELETE", `/v3/organizations/${guest.guid}`));
    const next = await bench.org("passing");
    expect(await bench.column(`/v3/organizations/${next.guid}/domains`, "name")).toEqual(["apps.example"]);
    expect((await bench.job(await bench.call("DELETE", `/v3/domains/${made.guid}`))).operation).toBe("domain.delete");
  });

  test("names are unique, and no org gets a domain around or inside another org's", async () => {
    const stranger = await bench.org("stranger");
    const at = (name: string, who?: { guid: string }): Promise<Answer> =>
      bench.call("POST", "/v3/domains", { name, ...(who && { relationships: { organization: to(who) } }) });
    expect(fault(await at("OWN.test", stranger))[2]).toBe('The domain name "own.test" is already in use');
    expect(fault(await at("sub.own.test", stranger))[0]).toBe(422);
    expect((await at("sub.own.test", org)).status).toBe(201);
    expect(fault(await at("own.test", stranger))[2]).toBe('The domain name "own.test" is already in use');
    expect((await at("deep.around.test")).status).toBe(201);
    expect(fault(await at("around.test", stranger))[2]).toBe(
      'The domain name "around.test" cannot be created because "deep.around.test" is already reserved by another domain',
    );
    expect((await at("around.test")).status).toBe(201);
    await make("web");
    expect(fault(await at("web.apps.example"))[0]).toBe(422);
    expect((await at("mine.apps.example", stranger)).status).toBe(201);
    expect(fault(await create("mine"))[2]).toBe("Route conflicts with domain 'mine.apps.example'.");
    expect((await create("web", { at: (await at("inner.test", stranger)).json })).status).toBe(422);
  });

  test.each([
    ["nodot"],
    ["-x.test"],
    ["x..test"],
    ["a b.test"],
    ["*.test"],
    [`${"x".repeat(64)}.test`],
    [`${"a.".repeat(130)}test`],
    ["ab"],
    [""],
  ])("%s is no domain", async (name) => {
    expect((await bench.call("POST", "/v3/domains", { name })).status).toBe(422);
  });

  test("a name that is no domain is told in CF's words", async () => {
    expect(fault(await bench.call("POST", "/v3/domains", { name: "no_dot" }))[2]).toBe(
      'Name does not comply with RFC 1035 standards, Name must contain at least one ".", Name must consist of alphanumeric characters and hyphens',
    );
  });

  test("internal domains are shared and take hosts only", async () => {
    expect(
      (
        await bench.call("POST", "/v3/domains", {
          name: "in.test",
          internal: true,
          relationships: { organization: to(org) },
        })
      ).status,
    ).toBe(422);
    const internal = await bench.make("/v3/domains", { name: "apps.internal", internal: true });
    expect((await create("x", { at: internal, path: "/p" })).status).toBe(422);
    expect((await create("*", { at: internal })).status).toBe(422);
    expect((await create("x", { at: internal })).status).toBe(201);
    expect((await bench.call("POST", "/v3/domains", { name: "tcp.test", router_group: { guid: "x" } })).status).toBe(
      422,
    );
  });
});
