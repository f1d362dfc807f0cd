// Settings of operators for all: environment variable groups, security groups, isolation segments.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Space } from "../../../crds/space/space.ts";
import { SecurityGroup } from "../../../crds/security-group/security-group.ts";
import { type ApiHarness, fault, startApiHarness, to } from "./harness.ts";
import { shapeProblems } from "./response-shape.ts";
import type { Answer } from "./test-env.ts";

let bench: ApiHarness;
let org: { guid: string };
let space: { guid: string };
const give = (type: string, user: string, place: object): Promise<unknown> =>
  bench.make("/v3/roles", { type, relationships: { user: { data: { guid: user } }, ...place } });
beforeAll(async () => {
  bench = await startApiHarness();
  org = await bench.org("Org");
  space = await bench.space(org, "Space");
  await give("organization_manager", "ann", { organization: to(org) });
  await give("organization_user", "bob", { organization: to(org) });
  await give("space_manager", "bob", { space: to(space) });
});
afterAll(() => bench.testEnv.stop());

const unprocessable = (detail: string): [number, string, string] => [422, "CF-UnprocessableEntity", detail];
const detail = (answer: Answer): string => fault(answer)[2];
const guidsOf = (answer: Answer): string[] => answer.json.resources.map(({ guid }: { guid: string }) => guid);

describe("environment variable groups", () => {
  const path = "/v3/environment_variable_groups";

  test("variables are added, changed and removed one by one; everybody reads them, admins write", async () => {
    expect((await bench.read(`${path}/running`)).var).toEqual({});
    const set = await bench.call("PATCH", `${path}/running`, { var: { REGION: "eu", TIER: "1" } });
    expect([set.status, set.json.var, shapeProblems("environment_variable_group", set.json)]).toEqual([
      200,
      { REGION: "eu", TIER: "1" },
      [],
    ]);
    await bench.call("PATCH", `${path}/running`, { var: { TIER: null, COLOR: "blue" } });
    expect((await bench.call("GET", `${path}/running`, undefined, "bob")).json.var).toEqual({
      REGION: "eu",
      COLOR: "blue",
    });
    expect((await bench.read(`${path}/staging`)).var).toEqual({});
    expect((await bench.call("PATCH", `${path}/staging`, {})).json.var).toEqual({});
    expect((await bench.call("PATCH", `${path}/running`, { var: { A: "b" } }, "ann")).status).toBe(403);
    const app = await bench.app(space, "env");
    const env = await bench.read(`/v3/apps/${app.guid}/env`);
    expect([env.running_env_json, env.staging_env_json]).toEqual([{ REGION: "eu", COLOR: "blue" }, {}]);
  });

  test.each<[string, unknown, number, string]>([
    ["other", { var: {} }, 404, "Environment variable group not found"],
    ["running", { var: { VCAP_X: "1" } }, 422, "Var cannot start with VCAP_"],
    ["running", { var: { PORT: "1" } }, 422, "Var cannot set PORT"],
    ["running", { var: { A: 1 } }, 422, "Non-string value in environment variable for key 'A', value '1'"],
    [
      "staging",
      { var: { A: "x".repeat(65_535) } },
      422,
      "Environment variable group is too large. Specify fewer variables or reduce key/value lengths.",
    ],
  ])("%s refuses %j", async (name, body, status, text) => {
    const answer = await bench.call("PATCH", `${path}/${name}`, body);
    expect([answer.status, detail(answer)]).toEqual([status, text]);
  });
});

describe("security groups", () => {
  const path = "/v3/security_groups";
  const rules = [{ protocol: "tcp", destination: "10.0.0.0/8", ports: "443", log: true }];

  test("create, update, bind, list, delete", async () => {
    const made = await bench.make(path, { name: "Web", rules, globally_enabled: { staging: true } });
    expect(shapeProblems("security_group", made)).toEqual([]);
    expect([made.rules, made.globally_enabled]).toEqual([rules, { running: false, staging: true }]);
    expect(detail(await bench.call("POST", path, { name: "Web" }))).toBe(
      "Security group with name 'Web' already exists.",
    );
    const patched = await bench.call("PATCH", `${path}/${made.guid}`, {
      rules: [{ protocol: "all", destination: "10.0.0.1" }],
      globally_enabled: { staging: false },
    });
    expect([patched.json.rules, patched.json.globally_enabled]).toEqual([
      [{ protocol: "all", destination: "10.0.0.1" }],
      { running: false, staging: false },
    ]);
    const bound = await bench.call("POST", `${path}/${made.guid}/relationships/running_spaces`, {
      data: [{ guid: space.guid }],
    });
    expect([bound.status, bound.json.data]).toEqual([200, [{ guid: space.guid }]]);
    expect(await bench.column(`${path}?running_space_guids=${space.guid}`, "guid")).toEqual([made.guid]);
    expect(await bench.column(`/v3/spaces/${space.guid}/running_security_groups`, "guid")).toEqual([made.guid]);
    expect(await bench.column(`/v3/spaces/${space.guid}/staging_security_groups`, "guid")).toEqual([]);
    const { status } = await bench.call("DELETE", `${path}/${made.guid}/relationships/running_spaces/${space.guid}`);
    expect(status).toBe(204);
    expect(detail(await bench.call("DELETE", `${path}/${made.guid}/relationships/running_spaces/${space.guid}`))).toBe(
      `Unable to unbind security group from space with guid '${space.guid}'. Ensure the space is bound to this security group.`,
    );
    expect((await bench.job(await bench.call("DELETE", `${path}/${made.guid}`))).operation).toBe(
      "security_group.delete",
    );
  });

  test.each([
    [{ rules: "x" }, "Rules must be an array"],
    [{ rules: [{ protocol: "tcp", destination: "10.0.0.1" }] }, /^Rules\[0\]: ports are required/],
    [{ globally_enabled: { both: true } }, "Globally enabled only allows keys 'running' or 'staging'"],
    [{ globally_enabled: { running: 1 } }, "Globally enabled values must be booleans"],
    [{ color: 1 }, "Unknown field(s): 'color'"],
    [
      { relationships: { running_spaces: { data: [{ guid: "none" }] } } },
      'Spaces with guids ["none"] do not exist, or you do not have access to them.',
    ],
  ])("none of %j", async (body, text) => {
    expect(detail(await bench.call("POST", path, { name: "bad", ...body }))).toMatch(text);
  });

  test("who may read a group knows it as soon as the answer is there", async () => {
    const reads = async (user: "bob" | "carl", { guid }: { guid: string }): Promise<number> =>
      (await bench.call("GET", `${path}/${guid}`, undefined, user)).status;
    const data = { data: [{ guid: space.guid }] };
    for (const name of ["now-1", "now-2", "now-3"]) {
      const made = await bench.make(path, { name, globally_enabled: { running: true } });
      expect(await reads("carl", made)).toBe(200);
      await bench.call("PATCH", `${path}/${made.guid}`, { globally_enabled: { running: false } });
      expect(await reads("carl", made)).toBe(404);
      await bench.call("POST", `${path}/${made.guid}/relationships/staging_spaces`, data);
      expect(await reads("bob", made)).toBe(200);
      await bench.call("DELETE", `${path}/${made.guid}`);
    }
  });

  test("members see what applies to their spaces; managers bind only what they see, with kubectl too", async () => {
    const own = await bench.make(path, { name: "own" });
    const hidden = await bench.make(path, { name: "hidden" });
    const every = await bench.make(path, { name: "every", globally_enabled: { running: true } });
    expect((await bench.call("POST", path, { name: "x" }, "ann")).status).toBe(403);
    await bench.call("POST", `${path}/${own.guid}/relationships/staging_spaces`, { data: [{ guid: space.guid }] });
    const sees = async (user: "ann" | "bob" | "carl"): Promise<string[]> =>
      guidsOf(await bench.call("GET", path, undefined, user));
    await expect.poll(() => sees("bob"), { timeout: 5000 }).toEqual([own.guid, every.guid]);
    await expect.poll(() => sees("carl"), { timeout: 5000 }).toEqual([every.guid]);
    const bind = (guid: string): Promise<Answer> =>
      bench.call("POST", `${path}/${guid}/relationships/running_spaces`, { data: [{ guid: space.guid }] }, "bob");
    expect((await bind(hidden.guid)).status).toBe(404);
    expect((await bind(own.guid)).status).toBe(200);
    expect((await bench.call("PATCH", `${path}/${own.guid}`, { name: "x" }, "bob")).status).toBe(403);

    const [object] = bench.testEnv.replicas[0].api.cache.store(Space).byIndex("guid", space.guid);
    const patch = (running: string[]): Promise<unknown> =>
      bench.testEnv.as("bob").patch(Space, object?.metadata ?? { name: "" }, {
        type: "merge",
        body: { spec: { securityGroups: { running } } },
      });
    await expect(patch(["own", "hidden"])).rejects.toThrow(
      "at most 8 SecurityGroups at a time, and only those that apply to all spaces",
    );
    await expect(patch(["hidden", "own", "every"])).rejects.toThrow("and only those that apply to all spaces");
    await expect(patch(["own", "every"])).resolves.toBeDefined();
    expect(await bench.testEnv.kube.find(SecurityGroup, { namespace: "cupola-system", name: "hidden" })).toBeDefined();
  });
});

describe("isolation segments", () => {
  const path = "/v3/isolation_segments";
  const shared = "933b4c58-120b-499a-b85d-4b6fc9e2903b";
  const entitle = (guid: string, ...orgs: string[]): Promise<Answer> =>
    bench.call("POST", `${path}/${guid}/relationships/organizations`, { data: orgs.map((one) => ({ guid: one })) });

  test("shared is built in and stays as it is", async () => {
    expect(await bench.column(`${path}?names=SHARED`, "guid")).toEqual([shared]);
    expect(fault(await bench.call("PATCH", `${path}/${shared}`, { name: "x" }))).toEqual(
      unprocessable("Cannot update the shared Isolation Segment"),
    );
    expect(detail(await bench.call("DELETE", `${path}/${shared}`))).toBe("Cannot delete the shared Isolation Segment");
    const one = await bench.org("Shared");
    expect((await entitle(shared, one.guid)).status).toBe(200);
    const chosen = await bench.read(`/v3/organizations/${one.guid}/relationships/default_isolation_segment`);
    expect(chosen.data).toEqual({ guid: shared });
  });

  test("create, entitle, choose, revoke, delete", async () => {
    const made = await bench.make(path, { name: "Gpu", metadata: { labels: { a: "b" } } });
    expect([shapeProblems("isolation_segment", made), made.metadata.labels]).toEqual([[], { a: "b" }]);
    expect(detail(await bench.call("POST", path, { name: "GPU" }))).toBe(
      "Isolation Segment names are case insensitive and must be unique",
    );
    expect((await bench.call("POST", path, { name: "mine" }, "ann")).status).toBe(403);
    expect((await bench.call("GET", `${path}/${made.guid}`, undefined, "ann")).status).toBe(404);
    const ofOrg = `/v3/organizations/${org.guid}/relationships/default_isolation_segment`;
    const ofSpace = `/v3/spaces/${space.guid}/relationships/isolation_segment`;
    expect(detail(await bench.call("PATCH", ofOrg, to(made), "ann"))).toBe(
      `Unable to assign isolation segment with guid '${made.guid}'. Ensure it has been entitled to the organization.`,
    );
    expect(detail(await entitle(made.guid, org.guid, "none"))).toBe(
      "Unable to entitle organizations ['none'] for the isolation segment. Ensure the organizations exist.",
    );
    expect((await entitle(made.guid, org.guid)).json.data).toEqual([{ guid: org.guid }]);
    expect((await bench.call("GET", `${path}/${made.guid}`, undefined, "ann")).status).toBe(200);
    expect(await bench.column(`${path}/${made.guid}/organizations`, "guid")).toEqual([org.guid]);

    expect((await bench.call("PATCH", ofSpace, to(made), "bob")).status).toBe(403);
    expect((await bench.call("PATCH", ofSpace, to(made), "ann")).json.data).toEqual({ guid: made.guid });
    expect((await bench.read(`${path}/${made.guid}/relationships/spaces`)).data).toEqual([{ guid: space.guid }]);
    const revoke = (): Promise<Answer> =>
      bench.call("DELETE", `${path}/${made.guid}/relationships/organizations/${org.guid}`);
    expect(detail(await revoke())).toBe(
      "Cannot remove the entitlement while this Isolation Segment is assigned to any Spaces. Currently assigned to: 'Space'",
    );
    expect(detail(await bench.call("PATCH", `${path}/${made.guid}`, { name: "x" }))).toBe(
      "Cannot update Isolation Segments that are assigned as the default for an Organization or Space.",
    );
    expect((await bench.call("PATCH", ofSpace, { data: null }, "ann")).json.data).toBeNull();
    expect((await bench.call("PATCH", ofOrg, to(made), "ann")).json.data).toEqual({ guid: made.guid });
    expect(detail(await revoke())).toBe(
      "Cannot remove the entitlement while this Isolation Segment is assigned as the Default Isolation Segment for the Organization.",
    );
    await bench.call("PATCH", ofOrg, { data: null }, "ann");
    expect(detail(await bench.call("DELETE", `${path}/${made.guid}`))).toBe(
      "Revoke the Organization entitlements for your Isolation Segment.",
    );
    expect((await revoke()).status).toBe(204);
    expect((await bench.call("DELETE", `${path}/${made.guid}`)).status).toBe(204);
  });
});
