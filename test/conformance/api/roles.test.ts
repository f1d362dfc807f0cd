// Roles and users, and the small kinds that are only read: stacks, buildpacks, quotas.
import { afterAll, beforeAll, expect, test } from "vitest";
import { RoleBinding } from "../../../kube/api/builtin.ts";
import { type ApiHarness, fault, startApiHarness, to } from "./harness.ts";
import { shapeProblems } from "./response-shape.ts";
import type { Answer } from "./test-env.ts";

let bench: ApiHarness;
let org: { guid: string };
let space: { guid: string };
beforeAll(async () => {
  bench = await startApiHarness();
  org = await bench.org("Org");
  space = await bench.space(org, "Space");
});
afterAll(() => bench.testEnv.stop());

const give = (type: string, user: string | object, place?: object): Promise<Answer> =>
  bench.call("POST", "/v3/roles", {
    type,
    relationships: {
      user: { data: typeof user === "string" ? { guid: user } : user },
      ...(place ?? (type.startsWith("space") ? { space: to(space) } : { organization: to(org) })),
    },
  });

test("give, get, list, include, take away", async () => {
  expect(fault(await give("space_developer", "dan"))).toEqual([
    422,
    "CF-UnprocessableEntity",
    "Users cannot be assigned roles in a space if they do not have a role in that space's organization.",
  ]);
  const made = await give("organization_user", "dan");
  expect([made.status, shapeProblems("role", made.json)]).toEqual([201, []]);
  expect(made.json.relationships).toEqual({
    user: { data: { guid: "dan" } },
    space: { data: null },
    organization: { data: { guid: org.guid } },
  });
  expect(fault(await give("organization_user", "dan"))).toEqual([
    422,
    "CF-UnprocessableEntity",
    "User 'dan' already has 'organization_user' role in organization 'Org'.",
  ]);
  expect(fault(await give("space_developer", { username: "dan", origin: "ldap" }))[2]).toBe(
    "No user exists with the username 'dan' and origin 'ldap'. Users are those of Kubernetes: leave the origin out.",
  );
  const developer = await give("space_developer", { username: "dan", origin: "kubernetes" });
  expect([developer.status, shapeProblems("role", developer.json)]).toEqual([201, []]);
  expect(fault(await give("space_developer", "dan"))[2]).toBe(
    "User 'dan' already has 'space_developer' role in space 'Space'.",
  );
  expect(await bench.read(`/v3/roles/${developer.json.guid}`)).toEqual(developer.json);
  for (const filter of [
    "user_guids=dan&types=space_developer",
    `space_guids=${space.guid}`,
    `guids=${developer.json.guid}`,
  ])
    expect([filter, await bench.column(`/v3/roles?${filter}`, "guid")]).toEqual([filter, [developer.json.guid]]);
  const { included } = await bench.read(`/v3/roles?include=user,space,organization&user_guids=dan`);
  expect([included.users[0].username, included.spaces[0].name, included.organizations[0].name]).toEqual([
    "dan",
    "Space",
    "Org",
  ]);
  expect((await bench.read(`/v3/roles/${developer.json.guid}?include=user`)).included.users[0].guid).toBe("dan");
  expect((await bench.read("/v3/roles?types=nope")).resources).toEqual([]);
  expect(fault(await bench.call("DELETE", `/v3/roles/${made.json.guid}`))[0]).toBe(422);
  expect((await bench.job(await bench.call("DELETE", `/v3/roles/${developer.json.guid}`))).state).toBe("COMPLETE");
  expect(fault(await bench.call("GET", `/v3/roles/${developer.json.guid}`))).toEqual([
    404,
    "CF-ResourceNotFound",
    "Role not found",
  ]);
  expect((await bench.call("DELETE", `/v3/roles/${made.json.guid}`)).status).toBe(202);
});

test.each([
  [
    "space_developer",
    () => ({ organization: to(org) }),
    "Relationships Organization cannot be provided with the space role type: 'space_developer'.",
  ],
  [
    "organization_user",
    () => ({ space: to(space) }),
    "Relationships Space cannot be provided with the organization role type: 'organization_user'.",
  ],
  [
    "organization_user",
    () => ({ organization: to("unknown") }),
    "Invalid organization. Ensure the organization exists and you have access to it.",
  ],
  ["nope", () => ({ organization: to(org) }), "Type must be one of the allowed types"],
  ["organization_user", () => ({}), ""],
])("%s in the wrong place", async (type, place, text) => {
  const [status, , detail] = fault(await give(type, "eve", place()));
  expect(status).toBe(422);
  expect(detail).toContain(text);
});

test("one binding with several subjects is several roles; taking one leaves the others", async () => {
  await give("organization_manager", "first");
  const binding = (await bench.testEnv.kube.list(RoleBinding)).items.find(({ metadata }) =>
    metadata.name.startsWith("organization-manager-first-"),
  );
  const { name = "", namespace = "" } = binding?.metadata ?? {};
  await bench.testEnv.kube.patch(
    RoleBinding,
    { name, namespace },
    {
      type: "merge",
      body: {
        subjects: ["first", "second", "third"].map((user) => ({
          kind: "User",
          apiGroup: "rbac.authorization.k8s.io",
          name: user,
        })),
      },
    },
  );
  await expect
    .poll(() => bench.column("/v3/roles?types=organization_manager&user_guids=first,second,third", "guid"), {
      timeout: 5000,
      interval: 20,
    })
    .toHaveLength(3);
  const roles = (await bench.read("/v3/roles?types=organization_manager&user_guids=second")).resources;
  expect((await bench.call("DELETE", `/v3/roles/${roles[0].guid}`)).status).toBe(202);
  const left = (await bench.read("/v3/roles?types=organization_manager&user_guids=first,second,third")).resources;
  expect(
    left
      .map((role: { relationships: { user: { data: { guid: string } } } }) => role.relationships.user.data.guid)
      .sort(),
  ).toEqual(["first", "third"]);
});

test("users are who has a role; anybody is one to oneself", async () => {
  await give("organization_user", "ursula@example.com");
  const users = await bench.read("/v3/users?partial_usernames=URSULA");
  expect(users.resources.flatMap((one: object) => shapeProblems("user", one))).toEqual([]);
  expect(users.resources[0]).toMatchObject({
    guid: "ursula@example.com",
    username: "ursula@example.com",
    presentation_name: "ursula@example.com",
    origin: "kubernetes",
  });
  expect((await bench.read("/v3/users/ursula%40example.com")).guid).toBe("ursula@example.com");
  expect(await bench.column(`/v3/organizations/${org.guid}/users?usernames=ursula@example.com`, "guid")).toEqual([
    "ursula@example.com",
  ]);
  expect(await bench.column(`/v3/spaces/${space.guid}/users`, "guid")).toEqual([]);
  expect(fault(await bench.call("GET", "/v3/users/nobody"))).toEqual([404, "CF-ResourceNotFound", "User not found"]);
  expect(
    (await bench.call("GET", "/v3/users", undefined, "carl")).json.resources.map(({ guid }: { guid: string }) => guid),
  ).toEqual(["carl"]);
  expect((await bench.call("GET", "/v3/users/admin", undefined, "carl")).status).toBe(404);
});

test.each([
  ["stack", "/v3/stacks", "names=base&default=true"],
  ["buildpack", "/v3/buildpacks", "names=nodejs&lifecycle=buildpack"],
  ["organization_quota", "/v3/organization_quotas", "names=default"],
])("%s", async (kind, path, filter) => {
  const { resources } = await bench.read(`${path}?${filter}`);
  expect([resources.length, resources.flatMap((one: object) => shapeProblems(kind, one))]).toEqual([1, []]);
  expect(await bench.read(`${path}/${resources[0].guid}`)).toEqual(resources[0]);
  expect((await bench.read(`${path}?names=nope`)).resources).toEqual([]);
  expect((await bench.call("GET", `${path}/unknown`)).status).toBe(404);
});

test("the default quota holds for an org that names none", async () => {
  const [quota] = (await bench.read("/v3/organization_quotas?names=default")).resources;
  expect((await bench.read(`/v3/organizations/${org.guid}`)).relationships.quota.data.guid).toBe(quota.guid);
  expect(quota.relationships.organizations.data).toContainEqual({ guid: org.guid });
  expect(await bench.column(`/v3/organization_quotas?organization_guids=${org.guid}`, "guid")).toEqual([quota.guid]);
});

test("a user's record: made, labelled and deleted by admins; a user of roles only has none until then", async () => {
  const made = await bench.make("/v3/users", { guid: "zoe", metadata: { labels: { team: "a" } } });
  expect([shapeProblems("user", made), made.username, made.origin, made.metadata.labels]).toEqual([
    [],
    "zoe",
    "kubernetes",
    { team: "a" },
  ]);
  const problem = async (body: object): Promise<string> => fault(await bench.call("POST", "/v3/users", body))[2];
  expect(await problem({ guid: "zoe" })).toBe("User with guid 'zoe' already exists.");
  expect(await problem({ username: "zoe", origin: "kubernetes" })).toBe(
    "User with username 'zoe' and origin 'kubernetes' already exists.",
  );
  expect(await problem({})).toBe("Guid or 'username' and 'origin' must be provided");
  expect(await problem({ username: "x" })).toBe("Username can only be provided together with 'origin'");
  expect(await problem({ guid: "x", username: "x" })).toBe("Username cannot be provided with 'guid'");
  expect(await problem({ username: "x", origin: "uaa" })).toBe(
    "Origin cannot be 'uaa' when creating a user by username",
  );
  expect((await bench.call("POST", "/v3/users", { guid: "yan" }, "carl")).status).toBe(403);
  expect(await bench.column("/v3/users?label_selector=team=a", "guid")).toEqual(["zoe"]);
  expect((await bench.call("GET", "/v3/users/zoe", undefined, "carl")).status).toBe(404);

  await give("organization_user", "zoe");
  await give("space_auditor", "zoe");
  const patched = await bench.call("PATCH", "/v3/users/zoe", { metadata: { labels: { team: "b" } } });
  expect([patched.status, patched.json.metadata.labels]).toEqual([200, { team: "b" }]);
  expect((await bench.call("PATCH", "/v3/users/carl", { metadata: {} }, "carl")).status).toBe(403);
  expect((await bench.call("DELETE", "/v3/users/carl", undefined, "carl")).status).toBe(403);
  const job = await bench.job(await bench.call("DELETE", "/v3/users/zoe"));
  expect([job.operation, job.state]).toEqual(["user.delete", "COMPLETE"]);
  expect((await bench.call("GET", "/v3/users/zoe")).status).toBe(404);
  expect(await bench.column("/v3/roles?user_guids=zoe", "guid")).toEqual([]);
});

test.each([
  ["POST", "/Users", /^Users and clients are those of Kubernetes/],
  ["DELETE", "/Users/dan", /^Users and clients are those of Kubernetes/],
  ["PUT", "/Users/dan/password", /^There are no passwords here/],
  ["PUT", "/Users/password", /^There are no passwords here/],
  ["GET", "/oauth/authorize?client_id=ssh-proxy&response_type=code", /is not served here.*cf run-task/],
])("%s %s is refused as by a UAA, with a next step", async (method, path, words) => {
  const { status, json } = await bench.call(method, path, method === "GET" ? undefined : {});
  expect([status, json]).toEqual([
    400,
    { error: "invalid_scim_resource", error_description: expect.stringMatching(words) as string },
  ]);
});

test("a login without a grant type is refused as by a UAA, with those there are", async () => {
  const { status, json } = await bench.call("POST", "/oauth/token", {});
  const words = expect.stringMatching(/^grant_type is missing: there are password, /) as string;
  expect([status, json]).toEqual([400, { error: "unsupported_grant_type", error_description: words }]);
});
