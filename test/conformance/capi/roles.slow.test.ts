// The role matrix: each endpoint in scope by each CF role, in an org that is active and in one that is suspended. Allowed means neither 403 nor 404.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createEndpoints } from "../../../api/endpoints.ts";
import type { Services } from "../../../api/routing/services.ts";
import { App } from "../../../crds/app/app.ts";
import { Build } from "../../../crds/build/build.ts";
import { Buildpack } from "../../../crds/buildpack/buildpack.ts";
import { Domain } from "../../../crds/domain/domain.ts";
import { Droplet } from "../../../crds/droplet/droplet.ts";
import { IsolationSegment } from "../../../crds/isolation-segment/isolation-segment.ts";
import { OrgQuota } from "../../../crds/org-quota/org-quota.ts";
import { Org } from "../../../crds/org/org.ts";
import { Package } from "../../../crds/package/package.ts";
import { Rollout } from "../../../crds/rollout/rollout.ts";
import { Route } from "../../../crds/route/route.ts";
import { SecurityGroup } from "../../../crds/security-group/security-group.ts";
import { SpaceQuota } from "../../../crds/space-quota/space-quota.ts";
import { Space } from "../../../crds/space/space.ts";
import { Stack } from "../../../crds/stack/stack.ts";
import { Task } from "../../../crds/task/task.ts";
import type { ResourceRef } from "../../../kube/api/resource-ref.ts";
import { eventually } from "../../eventually.ts";
import { CF_ROLE_NAMES, PLATFORM_ROLES, type TestUser } from "../permissions/test-env.ts";
import { capiEndpoints, wordsOf } from "./endpoint-table.ts";
import { kubectlVerdicts, permissionsOf, type KubectlVerdicts } from "./kubectl-verdicts.ts";
import { bodyFor, pathFor, restorers, type Things } from "./role-requests.ts";
import { startRoleWorld, type RoleWorld } from "./role-world.ts";

const roles: readonly TestUser[] = [...PLATFORM_ROLES, ...CF_ROLE_NAMES, "nobody"];

const endpoints = createEndpoints({} as Services);
const served = new Set(endpoints.map(({ method, path }) => `${method} ${path.replaceAll(/:\w+/g, ":")}`));
const isServed = (key: string): boolean => served.has(key.replaceAll(/:\w+/g, ":"));

/** Uploads and single audit events, which nobody writes here, are tried in tests of their own. */
const isTried = (key: string): boolean =>
  isServed(key) &&
  !key.includes("usage_events") &&
  key !== "GET /v3/audit_events/:guid" &&
  !key.endsWith("/upload") &&
  capiEndpoints[key]?.roles !== "anonymous";

/** Roles where the table says `all_authenticated`, which leaves out that invisible objects are 404. */
function isMember(role: TestUser): boolean {
  return role !== "nobody";
}

const needsSight = /^GET \/v3\/(organizations|isolation_segments)\/:guid/;

/** Verdicts that differ from the table, by endpoint: who may here, or may not here. */
const differences: Readonly<Record<string, { also?: readonly TestUser[]; not?: readonly TestUser[] }>> = {
  // Non-admins create orgs by the feature flag user_org_creation.
  "POST /v3/organizations": { not: roles.filter((role) => role !== "admin") },
  // Members of its spaces see the org in a segment that they see.
  "GET /v3/isolation_segments/:guid/organizations": {
    also: ["space_developer", "space_manager", "space_auditor", "space_supporter"],
  },
  // A role in a space, which members of the org alone do not see.
  "GET /v3/roles/:guid": { not: ["organization_auditor", "organization_billing_manager", "organization_user"] },
  // As on a Cloud Foundry that does not allow it by its configuration.
  "POST /v3/users": { not: ["organization_manager"] },
  // A private domain; shared ones everybody sees.
  "GET /v3/domains/:guid": { not: ["organization_billing_manager", "organization_user"] },
  "GET /v3/domains/:guid/route_reservations": { not: ["organization_billing_manager", "organization_user"] },
  // A group for all spaces, and a quota, are no secret; the orgs and spaces in them are filtered.
  "GET /v3/security_groups/:guid": { also: ["nobody"] },
  "GET /v3/organization_quotas/:guid": { also: ["nobody"] },
};

function capiName(role: TestUser): string {
  // The table leaves organization_user out: such a member sees what a billing manager sees.
  if (role === "organization_user") return "org_billing_manager";
  return role.replace("organization_", "org_");
}

/** The table's own verdict. */
function isInTable(key: string, role: TestUser): boolean {
  const named = wordsOf(capiEndpoints[key]?.roles);
  // Lists hold what the caller may see, which is nothing for some.
  if (capiEndpoints[key]?.list && !key.includes(":guid")) return true;
  if (named.includes("all_authenticated")) return isMember(role) || !needsSight.test(key);
  return named.includes(capiName(role));
}

function isAllowed(key: string, role: TestUser): boolean {
  const { also = [], not = [] } = differences[key] ?? {};
  return also.includes(role) || (!not.includes(role) && isInTable(key, role));
}

let world: RoleWorld;
beforeAll(async () => {
  world = await startRoleWorld();
});
afterAll(() => world?.env.stop());

interface Outcome {
  status: number;
  /** The first error's text. */
  detail: string;
}

/** Puts back what the role before took away. */
async function restore(key: string, things: Things): Promise<void> {
  const source = restorers[key];
  if (source === undefined) return;
  const [method = "", path = ""] = source.split(" ");
  await world.env.make(pathFor(path, things), bodyFor(source, things, ""), method);
}

async function attempt(key: string, role: TestUser): Promise<Outcome> {
  const [method = "", path = ""] = key.split(" ");
  const things = await thingsFor(key, role);
  await restore(key, things);
  const body = bodyFor(key, things, `by-${role.replaceAll("_", "-")}`);
  const { status, json } = await world.env.cf(role, method, pathFor(path, things), body);
  return { status, detail: json.errors?.[0]?.detail ?? "" };
}

/** Allowed are those whom the API answers as it answers the admin, who may do everything. */
function verdict(one: Outcome, admins: Outcome): "allowed" | "refused" {
  return one.status === admins.status && (one.status < 400 || one.detail === admins.detail) ? "allowed" : "refused";
}

/** Something to take away for a role that may. */
async function thingsFor(key: string, role: TestUser): Promise<Things> {
  const kind = /^DELETE \/v3\/(\w+)\/:guid$/.exec(key)?.[1];
  return kind && isAllowed(key, role) ? world.fresh(kind, `gone-${role.replaceAll("_", "-")}`) : world.things;
}

/** Reads first and deletions last: what one endpoint takes away no other one needs. */
const order = ["GET", "POST", "PATCH", "PUT", "DELETE"];
const rank = (key: string): number => order.indexOf(key.split(" ")[0] ?? "");
const keys = Object.keys(capiEndpoints)
  .filter(isTried)
  .sort((one, other) => rank(one) - rank(other));

describe("an active org", () => {
  test.each(keys)("%s", async (key) => {
    const outcomes = new Map<TestUser, Outcome>();
    const tryAs = async (role: TestUser): Promise<unknown> => outcomes.set(role, await attempt(key, role));
    // Reads of what is under way are held for seconds.
    if (key.startsWith("GET")) await Promise.all(roles.map(tryAs));
    else for (const role of roles) await tryAs(role);
    const admins = outcomes.get("admin") ?? { status: 0, detail: "" };
    expect([key, admins.status === 403 ? admins : "allowed"]).toEqual([key, "allowed"]);
    const allowed = roles.filter((role) => verdict(outcomes.get(role) ?? admins, admins) === "allowed");
    expect({ key, allowed }, JSON.stringify([...outcomes])).toEqual({
      key,
      allowed: roles.filter((role) => isAllowed(key, role)),
    });
  });
});

/** Where Kubernetes says more than the table. */
const rbacDifferences: Readonly<Record<string, { also: readonly TestUser[] }>> = Object.fromEntries(
  // In Kubernetes the names of segments are no secret; the CF API shows each caller those of their own orgs.
  ["", "/organizations", "/relationships/organizations", "/relationships/spaces"].map((list) => [
    `GET /v3/isolation_segments/:guid${list}`,
    { also: ["nobody"] },
  ]),
);

/** Objects of dry runs, by the endpoint that makes the same. */
const creations: Readonly<Record<string, { ref: ResourceRef; spec: object }>> = {
  "POST /v3/apps": { ref: App, spec: {} },
  "POST /v3/packages": { ref: Package, spec: { appRef: { name: "shop" }, type: "bits" } },
  "POST /v3/builds": { ref: Build, spec: { appRef: { name: "shop" }, packageRef: { name: "shop" } } },
  "POST /v3/droplets": {
    ref: Droplet,
    spec: { appRef: { name: "shop" }, kind: "docker", lifecycleType: "docker", image: "example.com/x" },
  },
  "POST /v3/apps/:guid/tasks": { ref: Task, spec: { appRef: { name: "shop" }, command: "true" } },
  "POST /v3/deployments": { ref: Rollout, spec: { appRef: { name: "shop" } } },
  "POST /v3/routes": { ref: Route, spec: { host: "tried", domainRef: { name: "apps.example" } } },
  "POST /v3/domains": { ref: Domain, spec: { name: "tried.example" } },
  "POST /v3/spaces": { ref: Space, spec: {} },
  "POST /v3/space_quotas": { ref: SpaceQuota, spec: { name: "tried" } },
  "POST /v3/organizations": { ref: Org, spec: {} },
  "POST /v3/organization_quotas": { ref: OrgQuota, spec: { name: "tried" } },
  "POST /v3/security_groups": { ref: SecurityGroup, spec: { name: "tried" } },
  "POST /v3/isolation_segments": { ref: IsolationSegment, spec: { name: "tried" } },
  "POST /v3/buildpacks": { ref: Buildpack, spec: { name: "tried" } },
  "POST /v3/stacks": { ref: Stack, spec: { name: "tried" } },
};

/** The kinds whose deletion a dry run tries, by endpoint. */
const deletions: Readonly<Record<string, ResourceRef>> = {
  "DELETE /v3/apps/:guid": App,
  "DELETE /v3/packages/:guid": Package,
  "DELETE /v3/droplets/:guid": Droplet,
  "DELETE /v3/routes/:guid": Route,
  "DELETE /v3/domains/:guid": Domain,
  "DELETE /v3/spaces/:guid": Space,
  "DELETE /v3/space_quotas/:guid": SpaceQuota,
  "DELETE /v3/organizations/:guid": Org,
  "DELETE /v3/organization_quotas/:guid": OrgQuota,
  "DELETE /v3/security_groups/:guid": SecurityGroup,
  "DELETE /v3/isolation_segments/:guid": IsolationSegment,
  "DELETE /v3/buildpacks/:guid": Buildpack,
  "DELETE /v3/stacks/:guid": Stack,
};

describe("kubectl", () => {
  const permissions = new Map(endpoints.map(({ method, path, permission }) => [`${method} ${path}`, permission]));
  const onObjects = keys.filter((key) => permissionsOf(permissions.get(key) ?? "anonymous").length > 0);
  let kubectl: KubectlVerdicts;
  beforeAll(() => {
    kubectl = kubectlVerdicts(world.env, world.things);
  });
  const whoMay = async (may: (role: TestUser) => Promise<boolean>): Promise<TestUser[]> => {
    const verdicts = await Promise.all(roles.map(may));
    return roles.filter((_role, at) => verdicts[at]);
  };
  const isExpected = (key: string, role: TestUser): boolean =>
    isAllowed(key, role) || (rbacDifferences[key]?.also.includes(role) ?? false);

  test.each(onObjects)("auth can-i says the same of %s", async (key) => {
    const needed = permissionsOf(permissions.get(key) ?? "anonymous");
    expect(await whoMay((role) => kubectl.canI(role, needed))).toEqual(roles.filter((role) => isExpected(key, role)));
  });

  test.each(Object.entries(creations))("create --dry-run=server says the same as %s", async (key, { ref, spec }) => {
    const statuses = new Map<TestUser, number>();
    const tryAs = async (role: TestUser): Promise<boolean> => {
      const status = await kubectl.create(role, ref, spec);
      statuses.set(role, status);
      return status < 300;
    };
    const allowed = await whoMay(tryAs);
    expect(allowed, JSON.stringify([...statuses])).toEqual(roles.filter((role) => isExpected(key, role)));
    expect(new Set([...statuses.values()].filter((status) => status >= 300))).toEqual(new Set([403]));
  });

  test.each(Object.entries(deletions))("delete --dry-run=server says the same as %s", async (key, ref) => {
    const may = async (role: TestUser): Promise<boolean> => (await kubectl.remove(role, ref)) < 300;
    expect(await whoMay(may)).toEqual(roles.filter((role) => isExpected(key, role)));
  });
});

describe("a suspended org", () => {
  /** Resource matches only look. */
  const writesInOrg = (key: string): boolean => !key.startsWith("GET") && key !== "POST /v3/resource_matches";
  const suspend = (suspended: boolean): Promise<unknown> =>
    world.env.make(`/v3/organizations/${world.things["organizations"]}`, { suspended }, "PATCH");

  test("nobody but the admin writes", async () => {
    await world.fresh("roles", "");
    await suspend(true);
    await eventually(async () =>
      expect(await attempt("PATCH /v3/apps/:guid", "space_developer")).toMatchObject({ status: 403 }),
    );
    const written: string[] = [];
    for (const key of keys.filter(writesInOrg))
      for (const role of roles.filter((one) => one !== "admin" && isAllowed(key, one))) {
        const [method = "", path = ""] = key.split(" ");
        const body = bodyFor(key, world.things, `late-${role.replaceAll("_", "-")}`);
        const { status, json } = await world.env.cf(role, method, pathFor(path, world.things), body);
        if (json.errors?.[0]?.title !== "CF-OrgSuspended")
          written.push(`${key} ${role}: ${status} ${json.errors?.[0]?.detail}`);
      }
    expect(written).toEqual([]);
  });

  test("everybody reads", async () => {
    const { status } = await attempt("GET /v3/apps/:guid", "space_auditor");
    expect(status).toBe(200);
  });
});
