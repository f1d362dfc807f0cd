// An object of each kind that the role matrix acts on, in an org and a space where every role has its person.
import { expect } from "vitest";
import { BackendClass } from "../../../crds/backend-class/backend-class.ts";
import { Build } from "../../../crds/build/build.ts";
import { Droplet } from "../../../crds/droplet/droplet.ts";
import { Package } from "../../../crds/package/package.ts";
import { eventually } from "../../eventually.ts";
import { startEmbedded } from "../embedded-server.ts";
import { giveRole, makeOrgAndSpace, startTestEnv, to, type TestEnv } from "../permissions/test-env.ts";
import { bodies, makers, pathFor, type Things } from "./role-requests.ts";

export interface RoleWorld {
  env: TestEnv;
  things: Things;
  /** A new thing for a DELETE; the standing things with that one in its place. */
  fresh(kind: string, attempt: string): Promise<Things>;
}

export async function startRoleWorld(): Promise<RoleWorld> {
  const env = await startTestEnv({ name: "the embedded server", start: (users) => startEmbedded({ users }) });
  const home = await makeOrgAndSpace(env, "matrix");
  const things: Record<string, string> = { organizations: home.org, spaces: home.space };
  await giveRole(env, { role: "organization_user", user: "guest", scope: { organization: to(home.org) } });
  const make = async (kind: string, key: string, attempt: string = kind): Promise<string> => {
    const path = pathFor(key.split(" ")[1] ?? "", things);
    const { guid } = await env.make(path, bodies[key]?.(things, attempt.replaceAll("_", "-")));
    return (things[kind] = guid);
  };
  const first = async (path: string): Promise<string> =>
    (await env.cf("admin", "GET", path)).json.resources[0]?.guid ?? "";
  await env.root.patch(
    BackendClass,
    { name: "builder" },
    { type: "merge", body: { status: { capabilities: { dropletFolder: "/home/vcap/droplets" } } } },
    { subresource: "status" },
  );
  for (const flag of ["route_sharing", "diego_docker"])
    await env.make(`/v3/feature_flags/${flag}`, { enabled: true }, "PATCH");
  await make("domains", "POST /v3/domains");
  for (const kind of ["organization_quotas", "stacks", "buildpacks"]) things[kind] = await first(`/v3/${kind}`);
  for (const kind of ["isolation_segments", "security_groups", "space_quotas"]) await make(kind, makers[kind] ?? "");
  things["users"] = "guest";
  await env.make(`/v3/isolation_segments/${things["isolation_segments"]}/relationships/organizations`, {
    data: [{ guid: home.org }],
  });
  await env.make(`/v3/space_quotas/${things["space_quotas"]}/relationships/spaces`, { data: [{ guid: home.space }] });
  await env.make(`/v3/security_groups/${things["security_groups"]}`, { globally_enabled: { running: true } }, "PATCH");
  await make("apps", "POST /v3/apps", "shop");
  things["processes"] = things["apps"] ?? "";
  await make("sidecars", "POST /v3/apps/:guid/sidecars");
  await make("routes", "POST /v3/routes");
  const { destinations } = await env.make(`/v3/routes/${things["routes"]}/destinations`, {
    destinations: [{ app: { guid: things["apps"] } }],
  });
  things["destinations"] = destinations[0].guid;
  things["closed-routes"] = await makeClosedRoute(env, home, things["apps"] ?? "");
  await make("route_policies", "POST /v3/route_policies");
  await make("roles", "POST /v3/roles");
  await makeContent(env, home.spaceNamespace, things);
  return {
    env,
    things,
    async fresh(kind, attempt) {
      const key = makers[kind];
      if (key === undefined) return things;
      if (kind === "roles") await env.cf("admin", "DELETE", `/v3/roles/${things["roles"]}`);
      const path = pathFor(key.split(" ")[1] ?? "", things);
      const { guid } = await env.make(path, bodies[key]?.(things, attempt));
      if (kind === "roles") things["roles"] = guid;
      return { ...things, [kind]: guid };
    },
  };
}

/** A route of a domain that enforces route policies, mapped, so that it outlives the deletion of unmapped ones. */
async function makeClosedRoute(
  env: TestEnv,
  { org, space }: { org: string; space: string },
  app: string,
): Promise<string> {
  const domain = await env.make("/v3/domains", {
    name: "closed.example",
    enforce_route_policies: true,
    route_policies_scope: "any",
    relationships: { organization: to(org) },
  });
  const relationships = { space: to(space), domain: to(domain.guid) };
  const { guid } = await env.make("/v3/routes", { host: "closed", relationships });
  await env.make(`/v3/routes/${guid}/destinations`, { destinations: [{ app: { guid: app } }] });
  return guid;
}

/** Results of a build, and a started app with its revision, a task and a deployment. */
async function makeContent(env: TestEnv, namespace: string, things: Record<string, string>): Promise<void> {
  const content = { digest: `sha256:${"a".repeat(64)}`, size: 1 };
  const made = async (kind: string, path: string): Promise<void> => {
    await eventually(async () => {
      const [one] = (await env.cf("admin", "GET", path)).json.resources;
      expect([kind, typeof one?.guid]).toEqual([kind, "string"]);
      things[kind] = one.guid;
    });
  };
  await env.make("/v3/packages", { type: "bits", relationships: { app: to(things["apps"] ?? "") } });
  await made("empty-packages", "/v3/packages");
  await env.root.create(Package, {
    metadata: { name: "shop", namespace },
    spec: { appRef: { name: "shop" }, type: "bits", content },
  });
  await env.root.create(Build, {
    metadata: { name: "shop", namespace },
    spec: { appRef: { name: "shop" }, packageRef: { name: "shop" } },
  });
  await env.root.create(Droplet, {
    metadata: { name: "shop", namespace },
    spec: {
      appRef: { name: "shop" },
      packageRef: { name: "shop" },
      kind: "host",
      root: "/app",
      lifecycleType: "buildpack",
      content,
      processTypes: { web: "true" },
      stack: "base",
    },
  });
  await made("packages", "/v3/packages?states=READY");
  await made("builds", "/v3/builds");
  await made("droplets", "/v3/droplets");
  const app = `/v3/apps/${things["apps"]}`;
  await env.make(`${app}/relationships/current_droplet`, to(things["droplets"] ?? ""), "PATCH");
  await env.make(`${app}/actions/start`, undefined);
  await made("revisions", `${app}/revisions`);
  things["tasks"] = (await env.make(`${app}/tasks`, { command: "true" })).guid;
  things["deployments"] = (
    await env.make("/v3/deployments", { relationships: { app: to(things["apps"] ?? "") } })
  ).guid;
  await env.make(`/v3/deployments/${things["deployments"]}/actions/cancel`, undefined);
  await env.make(`${app}/actions/stop`, undefined);
  await env.root.patch(
    Build,
    { name: "shop", namespace },
    { type: "merge", body: { status: { state: "Staged" } } },
    { subresource: "status" },
  );
  things["jobs"] = await makeJob(env);
}

/** The GUID of a job, of the deletion of a user. */
async function makeJob(env: TestEnv): Promise<string> {
  const { guid } = await env.make("/v3/users", { guid: "leaver" });
  const { location = "" } = await env.cf("admin", "DELETE", `/v3/users/${guid}`);
  return location.split("/").at(-1) ?? "";
}
