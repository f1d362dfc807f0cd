// Orgs, spaces, roles, domains and routes by the requests that `cf` sends, as an admin and as people with fewer rights.
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { type Answer, type ApiTestEnv, type TestUser, startApiTestEnv } from "./test-env.ts";

let world: ApiTestEnv;
beforeAll(async () => {
  world = await startApiTestEnv();
});
afterAll(() => world.stop());

const call = (person: TestUser | undefined, method: string, path: string, body?: unknown): Promise<Answer> =>
  world.replicas[0].call(person, method, path, body);
const names = (answer: Answer): string[] => answer.json.resources.map((one: { name: string }) => one.name);
const detail = (answer: Answer): string => answer.json.errors?.[0]?.detail;

async function makeOrg(name: string): Promise<string> {
  const answer = await call("admin", "POST", "/v3/organizations", { name });
  expect([answer.status, answer.json.name]).toEqual([201, name]);
  return answer.json.guid;
}

async function makeSpace(org: string, name: string, person: TestUser = "admin"): Promise<string> {
  const answer = await call(person, "POST", "/v3/spaces", {
    name,
    relationships: { organization: { data: { guid: org } } },
  });
  expect([answer.status, answer.json]).toEqual([201, expect.objectContaining({ name })]);
  return answer.json.guid;
}

async function grant(
  by: TestUser,
  type: string,
  username: string,
  where: { organization: string } | { space: string },
): Promise<Answer> {
  const [kind, guid] = Object.entries(where)[0] as [string, string];
  return call(by, "POST", "/v3/roles", {
    type,
    relationships: { user: { data: { username } }, [kind]: { data: { guid } } },
  });
}

describe("organizations", () => {
  test("are created, shown, listed, renamed and deleted", async () => {
    const guid = await makeOrg("Sales & Co");
    expect((await call("admin", "GET", `/v3/organizations/${guid}`)).json).toMatchObject({
      name: "Sales & Co",
      suspended: false,
      relationships: { quota: { data: { guid: expect.any(String) } } },
    });
    expect(
      names(
        await call("admin", "GET", `/v3/organizations?names=${encodeURIComponent(encodeURIComponent("Sales & Co"))}`),
      ),
    ).toEqual(["Sales & Co"]);
    const renamed = await call("admin", "PATCH", `/v3/organizations/${guid}/`, {
      name: "sales",
      metadata: { labels: { team: "one" } },
    });
    expect([renamed.status, renamed.json.name, renamed.json.metadata.labels]).toEqual([200, "sales", { team: "one" }]);
    expect(names(await call("admin", "GET", "/v3/organizations?names=SALES&label_selector=team=one"))).toEqual([
      "sales",
    ]);
    await makeOrg("Sales & Co"); // the old name is free again
    const gone = await call("admin", "DELETE", `/v3/organizations/${guid}`);
    expect(gone.status).toBe(202);
    const job = new URL(gone.headers.get("location") ?? "").pathname;
    await vi.waitFor(async () => expect((await call("admin", "GET", job)).json.state).toBe("COMPLETE"), {
      timeout: 20_000,
      interval: 50,
    });
    expect((await call("admin", "GET", `/v3/organizations/${guid}`)).status).toBe(404);
  });

  test("a taken name is refused in CF's words, whatever its case", async () => {
    await makeOrg("taken");
    const second = await call("admin", "POST", "/v3/organizations", { name: "Taken" });
    expect([second.status, detail(second)]).toEqual([422, "Organization 'Taken' already exists."]);
  });
});

describe("create-space as cf does it", () => {
  test("the four role requests by an org manager; only members see the space", async () => {
    const org = await makeOrg("members");
    expect((await grant("admin", "organization_user", "ann", { organization: org })).status).toBe(201);
    expect((await grant("admin", "organization_manager", "ann", { organization: org })).status).toBe(201);
    const space = await makeSpace(org, "dev", "ann");
    for (const type of ["space_manager", "space_developer"]) {
      const again = await grant("ann", "organization_user", "ann", { organization: org });
      expect([again.status, detail(again)]).toEqual([
        422,
        "User 'ann' already has 'organization_user' role in organization 'members'.",
      ]);
      const given = await grant("ann", type, "ann", { space });
      expect([given.status, given.json]).toEqual([201, expect.objectContaining({ type })]);
    }
    expect(names(await call("ann", "GET", `/v3/spaces?organization_guids=${org}`))).toEqual(["dev"]);
    expect(names(await call("ann", "GET", "/v3/organizations"))).toEqual(["members"]);
    for (const path of ["/v3/organizations", "/v3/spaces", "/v3/apps", "/v3/routes", "/v3/roles"])
      expect((await call("bob", "GET", path)).json.resources).toEqual([]);
    for (const path of [`/v3/organizations/${org}`, `/v3/spaces/${space}`])
      expect((await call("bob", "GET", path)).status).toBe(404);
    const refused = await call("bob", "POST", "/v3/spaces", {
      name: "mine",
      relationships: { organization: { data: { guid: org } } },
    });
    expect([refused.status, detail(refused)]).toEqual([
      422,
      "Invalid organization. Ensure the organization exists and you have access to it.",
    ]);
  });

  test("a developer of one space has a developer's permissions there and nowhere else", async () => {
    const org = await makeOrg("narrow");
    const [mine, other] = [await makeSpace(org, "mine"), await makeSpace(org, "other")];
    expect((await grant("admin", "organization_user", "carl", { organization: org })).status).toBe(201);
    expect((await grant("admin", "space_developer", "carl", { space: mine })).status).toBe(201);
    const app = (space: string, name: string): Promise<Answer> =>
      call("carl", "POST", "/v3/apps", { name, relationships: { space: { data: { guid: space } } } });
    await vi.waitFor(async () => expect(names(await call("carl", "GET", "/v3/spaces"))).toEqual(["mine"]), {
      timeout: 5000,
      interval: 25,
    });
    expect((await app(mine, "one")).status).toBe(201);
    expect((await app(other, "two")).status).toBe(422);
    expect((await call("carl", "PATCH", `/v3/organizations/${org}`, { name: "x" })).status).toBe(403);
    expect((await call("carl", "DELETE", `/v3/spaces/${mine}`)).status).toBe(403);
    expect((await grant("carl", "space_manager", "carl", { space: mine })).status).toBe(403);
  });

  test("a space role needs an org role first", async () => {
    const org = await makeOrg("order");
    const space = await makeSpace(org, "dev");
    expect(detail(await grant("admin", "space_developer", "bob", { space }))).toBe(
      "Users cannot be assigned roles in a space if they do not have a role in that space's organization.",
    );
  });

  test("a role is taken away again", async () => {
    const org = await makeOrg("leaving");
    const { json } = await grant("admin", "organization_user", "bob", { organization: org });
    expect((await call("admin", "DELETE", `/v3/roles/${json.guid}`)).status).toBe(202);
    expect((await call("admin", "GET", `/v3/roles?organization_guids=${org}&user_guids=bob`)).json.resources).toEqual(
      [],
    );
  });
});

describe("domains and routes", () => {
  test("map, check, unmap and delete as cf does", async () => {
    const org = await makeOrg("routing");
    const space = await makeSpace(org, "dev");
    const {
      json: {
        resources: [domain],
      },
    } = await call("admin", "GET", `/v3/organizations/${org}/domains?names=apps.example`);
    const { json: app } = await call("admin", "POST", "/v3/apps", {
      name: "web",
      relationships: { space: { data: { guid: space } } },
    });
    const wanted = {
      host: "shop",
      path: "/cart",
      relationships: { space: { data: { guid: space } }, domain: { data: { guid: domain.guid } } },
    };
    const route = await call("admin", "POST", "/v3/routes", wanted);
    expect([route.status, route.json.url]).toEqual([201, "shop.apps.example/cart"]);
    expect(detail(await call("admin", "POST", "/v3/routes", wanted))).toBe(
      "Route already exists with host 'shop' and path '/cart' for domain 'apps.example'.",
    );
    expect(
      (await call("admin", "GET", `/v3/domains/${domain.guid}/route_reservations?host=shop&path=/cart`)).json,
    ).toEqual({ matching_route: true });
    expect((await call("admin", "GET", `/v3/domains/${domain.guid}/route_reservations?host=shop`)).json).toEqual({
      matching_route: false,
    });
    const mapped = await call("admin", "POST", `/v3/routes/${route.json.guid}/destinations`, {
      destinations: [{ app: { guid: app.guid } }],
    });
    expect([mapped.status, mapped.json.destinations]).toEqual([
      200,
      [
        expect.objectContaining({
          app: { guid: app.guid, process: { type: "web" } },
          port: 8080,
          protocol: "http1",
          weight: null,
        }),
      ],
    ]);
    expect(
      (await call("admin", "GET", `/v3/apps/${app.guid}/routes`)).json.resources.map((one: { url: string }) => one.url),
    ).toEqual(["shop.apps.example/cart"]);
    expect(
      (await call("admin", "GET", `/v3/routes?domain_guids=${domain.guid}&hosts=shop&paths=%2Fcart&per_page=1&page=1`))
        .json.pagination.total_results,
    ).toBe(1);
    expect(
      (await call("admin", "GET", `/v3/routes?domain_guids=${domain.guid}&hosts=shop&paths=`)).json.pagination
        .total_results,
    ).toBe(0);
    const unmapped = await call(
      "admin",
      "DELETE",
      `/v3/routes/${route.json.guid}/destinations/${mapped.json.destinations[0].guid}`,
    );
    expect(unmapped.status).toBe(204);
    expect((await call("admin", "DELETE", `/v3/routes/${route.json.guid}`)).status).toBe(202);
    await vi.waitFor(
      async () => expect((await call("admin", "GET", `/v3/routes?space_guids=${space}`)).json.resources).toEqual([]),
      { timeout: 10_000, interval: 50 },
    );
  });

  test("parallel changes of one route's destinations are all kept", async () => {
    const org = await makeOrg("parallel");
    const space = await makeSpace(org, "dev");
    const {
      json: {
        resources: [domain],
      },
    } = await call("admin", "GET", "/v3/domains?names=apps.example");
    const { json: route } = await call("admin", "POST", "/v3/routes", {
      host: "many",
      relationships: { space: { data: { guid: space } }, domain: { data: { guid: domain.guid } } },
    });
    const apps = await Promise.all(
      [1, 2, 3, 4].map((number) =>
        call("admin", "POST", "/v3/apps", {
          name: `app-${number}`,
          relationships: { space: { data: { guid: space } } },
        }),
      ),
    );
    const answers = await Promise.all(
      apps.map(({ json }, at) =>
        world.replicas[at % 2 === 0 ? 0 : 1].call("admin", "POST", `/v3/routes/${route.guid}/destinations`, {
          destinations: [{ app: { guid: json.guid } }],
        }),
      ),
    );
    expect(answers.map((answer) => answer.status)).toEqual([200, 200, 200, 200]);
    const { json } = await call("admin", "GET", `/v3/routes/${route.guid}/destinations`);
    expect(json.destinations).toHaveLength(4);
  });

  test("a private domain is its org's own", async () => {
    const [org, foreign] = [await makeOrg("owner"), await makeOrg("foreign")];
    const create = (): Promise<Answer> =>
      call("admin", "POST", "/v3/domains", {
        name: "Private.Example",
        relationships: { organization: { data: { guid: org } } },
      });
    const made = await create();
    expect([made.status, made.json.name, made.json.relationships.organization.data.guid]).toEqual([
      201,
      "private.example",
      org,
    ]);
    expect(detail(await create())).toBe('The domain name "private.example" is already in use');
    const space = await makeSpace(foreign, "dev");
    expect(
      (
        await call("admin", "POST", "/v3/routes", {
          host: "x",
          relationships: { space: { data: { guid: space } }, domain: { data: { guid: made.json.guid } } },
        })
      ).status,
    ).toBe(422);
  });
});

test("fifty creates of one app name through two replicas and kubectl: one wins, the losers get CF's words", async () => {
  const org = await makeOrg("race");
  const space = await makeSpace(org, "dev");
  const {
    json: {
      resources: [seen],
    },
  } = await call("admin", "GET", `/v3/spaces?guids=${space}`);
  expect(seen.name).toBe("dev");
  const attempts = Array.from({ length: 50 }, (_, at) =>
    world.replicas[at % 2 === 0 ? 0 : 1].call("admin", "POST", "/v3/apps", {
      name: at % 3 === 0 ? "Same" : "same",
      relationships: { space: { data: { guid: space } } },
    }),
  );
  const answers = await Promise.all(attempts);
  const statuses = answers.map((answer) => answer.status).sort();
  expect(statuses).toEqual([201, ...Array.from({ length: 49 }, () => 422)]);
  const losers = answers.filter((answer) => answer.status === 422);
  expect(new Set(losers.map((answer) => `${answer.json.errors[0].title} ${detail(answer).toLowerCase()}`))).toEqual(
    new Set(["CF-UniquenessError app with the name 'same' already exists."]),
  );
  for (const replica of world.replicas)
    expect((await replica.call("admin", "GET", `/v3/apps?space_guids=${space}`)).json.pagination.total_results).toBe(1);
});

test("create-space, then an app at once, again and again, by a manager and developer of the new space", async () => {
  const org = await makeOrg("quick");
  await grant("admin", "organization_user", "ann", { organization: org });
  await grant("admin", "organization_manager", "ann", { organization: org });
  for (let at = 0; at < 8; at++) {
    const space = await makeSpace(org, `space-${at}`, "ann");
    expect((await grant("ann", "space_developer", "ann", { space })).status).toBe(201);
    const app = await call("ann", "POST", "/v3/apps", {
      name: "app",
      relationships: { space: { data: { guid: space } } },
    });
    expect([app.status, app.json.errors]).toEqual([201, undefined]);
  }
}, 60_000);

async function deleted(path: string): Promise<void> {
  const answer = await call("admin", "DELETE", path);
  expect(answer.status).toBe(202);
  const job = new URL(answer.headers.get("location") ?? "").pathname;
  await vi.waitFor(async () => expect((await call("admin", "GET", job)).json.state).toBe("COMPLETE"), {
    timeout: 20_000,
    interval: 20,
  });
}

test("a name is free as soon as the job of its deletion is complete", async () => {
  for (let round = 0; round < 4; round++) {
    const org = await makeOrg("again");
    const space = await makeSpace(org, "dev");
    for (let at = 0; at < 3; at++) {
      const app = await call("admin", "POST", "/v3/apps", {
        name: "app",
        relationships: { space: { data: { guid: space } } },
      });
      expect([app.status, app.json.errors]).toEqual([201, undefined]);
      await deleted(`/v3/apps/${app.json.guid}`);
    }
    await deleted(`/v3/spaces/${space}`);
    await makeSpace(org, "dev");
    await deleted(`/v3/organizations/${org}`);
  }
}, 60_000);

test("objects made by kubectl appear in cf with their uid as GUID; a duplicate name appears once", async () => {
  const org = await makeOrg("two-doors");
  const space = await makeSpace(org, "dev");
  const { items } = (await world.kube.raw("GET", "/apis/cupola.dev/v1alpha1/spaces")) as {
    items: { metadata: { labels: Record<string, string> }; status: { namespace: string } }[];
  };
  const namespace = items.find((one) => one.metadata.labels["cupola.dev/guid"] === space)?.status.namespace ?? "";
  const create = (name: string): Promise<unknown> =>
    world.kube.raw("POST", `/apis/cupola.dev/v1alpha1/namespaces/${namespace}/apps`, {
      apiVersion: "cupola.dev/v1alpha1",
      kind: "App",
      metadata: { name },
      spec: { name: "shared" },
    });
  const made = (await create("one")) as { metadata: { uid: string } };
  await vi.waitFor(
    async () =>
      expect(
        (await call("admin", "GET", `/v3/apps?names=shared&space_guids=${space}`)).json.resources.map(
          (one: { guid: string }) => one.guid,
        ),
      ).toEqual([made.metadata.uid]),
    { timeout: 5000, interval: 20 },
  );
  await create("two");
  await world.idle();
  const { json } = await call("admin", "GET", `/v3/apps?space_guids=${space}`);
  expect(json.resources.map((one: { guid: string }) => one.guid)).toEqual([made.metadata.uid]);
  expect(
    (await call("admin", "POST", "/v3/apps", { name: "SHARED", relationships: { space: { data: { guid: space } } } }))
      .status,
  ).toBe(422);
});

test("a GET of one and of a list costs the API server nothing", async () => {
  await call("admin", "GET", "/v3/apps");
  world.replicas[0].requests.length = 0;
  for (const path of [
    "/v3/apps?per_page=2",
    "/v3/organizations",
    "/v3/spaces?include=organization",
    "/v3/roles?include=user",
    "/v3/routes",
    "/v3/domains",
    "/whoami",
  ]) {
    expect((await call("admin", "GET", path)).status).toBe(200);
  }
  expect(world.replicas[0].requests).toEqual([]);
});
