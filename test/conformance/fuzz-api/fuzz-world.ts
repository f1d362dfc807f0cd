// World of the generated requests: an org of a developer's own, and another one whose every name holds a secret word.
import { AuditLog } from "../../../crds/audit-log/audit-log.ts";
import { App } from "../../../crds/app/app.ts";
import { BackendClass } from "../../../crds/backend-class/backend-class.ts";
import { Build } from "../../../crds/build/build.ts";
import { Droplet } from "../../../crds/droplet/droplet.ts";
import { SYSTEM_NAMESPACE } from "../../../crds/groups.ts";
import { newGUID } from "../../../crds/guid.ts";
import { Package } from "../../../crds/package/package.ts";
import { ServiceUsageLog } from "../../../crds/service-usage-log/service-usage-log.ts";
import { UsageLog } from "../../../crds/usage-log/usage-log.ts";
import { zip } from "../../e2e/bad-input/archives.ts";
import { eventually } from "../../eventually.ts";
import type { Things } from "../capi/role-requests.ts";
import { type ApiTestEnv, type Replica, startApiTestEnv, type TestUser } from "../api/test-env.ts";

import { startFakeRunner } from "../api/fake-runner.ts";
import { type ApiCalls, type Form, furnishSpecial, refreshSpecial, uploadOf } from "./special-things.ts";

/** In the name of everything that only the admin may see. */
export const SECRET = "topsecret";

export interface FuzzWorld {
  replica: Replica;
  /** The embedded API server. */
  cluster: { url: string; ca: string };
  /** GUIDs of what exists, by plural; with those of the secret org for people who may not see it. */
  guids(person: TestUser): Record<string, readonly string[]>;
  /** An object of each kind, all of one space, as a request needs to succeed. */
  readonly things: Things;
  /** Remembers the job that an answer names. */
  sawJob(guid: string): void;
  /** Reads again what exists, and makes again what was deleted. */
  refresh(): Promise<void>;
  stop(): Promise<void>;
}

/** Lists whose members requests refer to. */
const kinds = [
  "organizations",
  "spaces",
  "apps",
  "processes",
  "packages",
  "builds",
  "droplets",
  "routes",
  "domains",
  "roles",
  "tasks",
  "deployments",
  "buildpacks",
  "stacks",
  "organization_quotas",
  "space_quotas",
  "security_groups",
  "isolation_segments",
  "audit_events",
  "app_usage_events",
];

const to = ({ guid }: { guid: string }): object => ({ data: { guid } });

/** A POST, or what `at` names before the path, that must succeed. */
async function make(
  { replicas }: ApiTestEnv,
  at: string,
  body: unknown,
  status = 201,
): Promise<{ guid: string; destinations?: { guid: string }[] }> {
  const [path = "", method = "POST"] = at.split(" ").toReversed();
  const answer = await replicas[0].call("admin", method, path, body);
  if (answer.status !== status) throw new Error(`${method} ${path}: ${answer.status} ${answer.text}`);
  return answer.json as { guid: string };
}

/** @throws Error when it is refused */
async function upload({ replicas }: ApiTestEnv, path: string, { headers, body }: Form): Promise<void> {
  const all = { ...headers, authorization: "bearer admin-token" };
  const sent = await replicas[0].send("POST", path, { body, headers: all });
  if (sent.status >= 300) throw new Error(`${path}: ${sent.status} ${sent.text}`);
}

/** An org with a space and one of each thing in it. @returns their GUIDs, by the plural that paths use */
async function furnish(env: ApiTestEnv, name: string, developer?: TestUser): Promise<Things> {
  // Objects that everybody sees are no secret.
  const shared = name.replace(SECRET, "shared");
  const org = await make(env, "/v3/organizations", { name });
  // Requests change the default quota.
  const limits = await make(env, "/v3/organization_quotas", { name: shared });
  await make(
    env,
    `/v3/organization_quotas/${limits.guid}/relationships/organizations`,
    { data: [{ guid: org.guid }] },
    200,
  );
  const space = await make(env, "/v3/spaces", { name, relationships: { organization: to(org) } });
  const app = await make(env, "/v3/apps", {
    name,
    environment_variables: { NAME: name },
    metadata: { labels: { name } },
    relationships: { space: to(space) },
  });
  const empty = await make(env, "/v3/packages", { type: "bits", relationships: { app: to(app) } });
  await make(env, "/v3/domains", { name: `${name}.example`, relationships: { organization: to(org) } });
  const found = await env.replicas[0].call("admin", "GET", "/v3/domains?names=apps.example");
  const domain = found.json.resources[0] ?? (await make(env, "/v3/domains", { name: "apps.example" }));
  const route = await make(env, "/v3/routes", { host: name, relationships: { space: to(space), domain: to(domain) } });
  const destination = { app: { guid: app.guid } };
  const { destinations } = await make(
    env,
    `/v3/routes/${route.guid}/destinations`,
    { destinations: [destination] },
    200,
  );
  const sidecar = { name, command: name, process_types: ["worker"] };
  const things: Record<string, string> = {
    organizations: org.guid,
    spaces: space.guid,
    apps: app.guid,
    processes: app.guid,
    "empty-packages": empty.guid,
    domains: domain.guid,
    routes: route.guid,
    destinations: destinations?.[0]?.guid ?? "",
    sidecars: (await make(env, `/v3/apps/${app.guid}/sidecars`, sidecar)).guid,
    organization_quotas: limits.guid,
    users: "bob",
  };
  const quota = { name, relationships: { organization: to(org), spaces: { data: [{ guid: space.guid }] } } };
  things["space_quotas"] = (await make(env, "/v3/space_quotas", quota)).guid;
  for (const kind of ["isolation_segments", "security_groups"])
    things[kind] = (await make(env, `/v3/${kind}`, { name })).guid;
  for (const kind of ["buildpacks", "stacks"]) things[kind] = (await make(env, `/v3/${kind}`, { name: shared })).guid;
  const segment = `/v3/isolation_segments/${things["isolation_segments"]}/relationships/organizations`;
  await make(env, segment, { data: [{ guid: org.guid }] }, 200);
  const role = { type: "organization_user", relationships: { user: { data: { guid: "bob" } }, organization: to(org) } };
  things["roles"] = (await make(env, "/v3/roles", role)).guid;
  await putContent(env, name, things);
  const guest = {
    type: "organization_user",
    relationships: { user: { data: { guid: "guest" } }, organization: to(org) },
  };
  await make(env, "/v3/roles", guest);
  if (developer) await giveRoles(env, developer, { org, space });
  for (const flag of ["route_sharing", "diego_docker"])
    await make(env, `PATCH /v3/feature_flags/${flag}`, { enabled: true }, 200);
  return things;
}

/** Results of uploads and builds, and running objects: package, build, droplet, revision, task, deployment; and one event of each kind. */
async function putContent(env: ApiTestEnv, name: string, things: Record<string, string>): Promise<void> {
  const [app] = env.replicas[0].api.cache.store(App).byIndex("guid", things["apps"] ?? "");
  if (!app) throw new Error("the app is not there");
  const metadata = { name, namespace: app.metadata.namespace };
  const appRef = { name: app.metadata.name };
  const path = `/v3/apps/${things["apps"]}`;
  const bits = await make(env, "/v3/packages", {
    type: "bits",
    relationships: { app: { data: { guid: things["apps"] } } },
  });
  const files = zip([{ name: "index.html", content: Buffer.from(name) }]);
  await upload(env, `/v3/packages/${bits.guid}/upload`, uploadOf(files));
  things["packages"] = await firstOf(env, `${path}/packages?states=READY`);
  const [stored] = env.replicas[0].api.cache.store(Package).byIndex("guid", bits.guid);
  const { content } = stored?.spec ?? {};
  if (!stored || !content) throw new Error("the package has no content");
  const packageRef = { name: stored.metadata.name };
  await env.kube.create(Build, { metadata, spec: { appRef, packageRef } });
  const status = { subresource: "status" };
  await env.kube.patch(Build, metadata, { type: "merge", body: { status: { state: "Staged" } } }, status);
  await env.kube.create(Droplet, {
    metadata,
    spec: {
      appRef,
      packageRef,
      kind: "host",
      root: "/app",
      lifecycleType: "buildpack",
      content,
      processTypes: { web: name },
      stack: "base",
    },
  });
  things["builds"] = await firstOf(env, `${path}/builds`);
  things["droplets"] = await firstOf(env, `${path}/droplets`);
  await make(env, `PATCH ${path}/relationships/current_droplet`, { data: { guid: things["droplets"] } }, 200);
  await make(env, `${path}/actions/start`, undefined, 200);
  things["revisions"] = await firstOf(env, `${path}/revisions`);
  const deployment = await make(env, "/v3/deployments", { relationships: { app: { data: { guid: things["apps"] } } } });
  things["deployments"] = deployment.guid;
  await make(env, `/v3/deployments/${deployment.guid}/actions/cancel`, undefined, 200);
  // Reads of what starts are held for seconds.
  await make(env, `${path}/actions/stop`, undefined, 200);
  things["tasks"] = (await make(env, `${path}/tasks`, { command: name }, 202)).guid;
  const actor = { guid: name, type: "user", name };
  const at = new Date().toISOString();
  const event = { guid: newGUID(), at, type: "audit.app.create", actor, target: { ...actor, type: "app" } };
  await env.kube.create(AuditLog, { metadata, spec: { writer: "fuzz", events: [event] } });
  const none = { current: 0, previous: 0 };
  const state = { current: "STARTED", previous: "STOPPED" };
  const used = {
    guid: newGUID(),
    sequence: Date.now(),
    at,
    state,
    app: { guid: name, name },
    space: { guid: name, name },
  };
  const usage = { ...used, orgGUID: name, memoryMB: none, instances: none, packageState: state };
  const system = { name, namespace: SYSTEM_NAMESPACE };
  await env.kube.create(UsageLog, { metadata: system, spec: { writer: "fuzz", events: [usage] } });
  const service = {
    guid: newGUID(),
    sequence: Date.now(),
    at,
    state: "CREATED",
    instance: { guid: name, name },
    type: "user-provided",
    space: { guid: name, name },
    orgGUID: name,
  } as const;
  await env.kube.create(ServiceUsageLog, { metadata: system, spec: { writer: "fuzz", events: [service] } });
}

/** The first of a list, once there is one. */
function firstOf({ replicas }: ApiTestEnv, path: string): Promise<string> {
  return eventually(async () => {
    const guid = (await replicas[0].call("admin", "GET", path)).json.resources?.[0]?.guid as string | undefined;
    if (guid === undefined) throw new Error(`${path} is empty`);
    return guid;
  }, 60_000);
}

async function giveRoles(
  env: ApiTestEnv,
  person: TestUser,
  place: { org: { guid: string }; space: { guid: string } },
): Promise<void> {
  const user = { data: { guid: person } };
  await make(env, "/v3/roles", { type: "organization_user", relationships: { user, organization: to(place.org) } });
  await make(env, "/v3/roles", { type: "space_developer", relationships: { user, space: to(place.space) } });
}

/** Only the secret org is there until the first `refresh`. */
export async function startFuzzWorld(): Promise<FuzzWorld> {
  const env = await startApiTestEnv();
  // Droplets are files of this machine.
  const capabilities = { dropletFolder: "/home/vcap/droplets" };
  const body = { status: { capabilities } };
  await env.kube.patch(BackendClass, { name: "builder" }, { type: "merge", body }, { subresource: "status" });
  await furnish(env, SECRET);
  const secret = await readGUIDs(env);
  const runner = startFakeRunner(env.kube, RUNNER_POLL_MS);
  const calls: ApiCalls = {
    make: (at, body, status) => make(env, at, body, status),
    list: (path) => listGUIDs(env, path),
    upload: (path, form) => upload(env, path, form),
    post: (path, body) => env.replicas[0].call("admin", "POST", path, body),
  };
  let all: Record<string, readonly string[]> = {};
  let things: Things = {};
  let jobs: string[] = [];
  let round = 0;
  const world: FuzzWorld = {
    replica: env.replicas[0],
    cluster: env.cluster,
    get things() {
      return things;
    },
    guids: (person) => ({ ...(person === "admin" ? without(all, secret) : all), jobs }),
    sawJob(guid) {
      jobs = [guid, ...jobs].slice(0, 20);
    },
    async refresh() {
      const left = await Promise.all(STANDING.map((kind) => exists(env, kind, things[kind])));
      left.push(
        await exists(env, "apps", things["canary-apps"]),
        await exists(env, "domains", things["private-domains"]),
      );
      if (!left.every(Boolean)) {
        const name = `own-${++round}`;
        things = await furnishSpecial(calls, name, await furnish(env, name, "ann"));
      }
      const special = await refreshSpecial(calls, things);
      all = { ...(await readGUIDs(env)), ...special };
    },
    async stop() {
      await runner.stop();
      await env.stop();
    },
  };
  return world;
}

/** How often the runner looks for new instances, milliseconds. */
const RUNNER_POLL_MS = 200;

/** Base of all requests that are to succeed. */
const STANDING = ["organizations", "spaces", "apps", "droplets", "packages", "routes", "domains", "tasks"];

async function exists({ replicas }: ApiTestEnv, kind: string, guid: string | undefined): Promise<boolean> {
  return guid !== undefined && (await replicas[0].call("admin", "GET", `/v3/${kind}/${guid}`)).status === 200;
}

async function listGUIDs({ replicas }: ApiTestEnv, path: string): Promise<string[]> {
  const { json } = await replicas[0].call("admin", "GET", path);
  return (json.resources ?? []).map((one: { guid: string }) => one.guid);
}

async function readGUIDs(env: ApiTestEnv): Promise<Record<string, string[]>> {
  const list = (path: string): Promise<string[]> => listGUIDs(env, path);
  const found: Record<string, string[]> = { users: ["ann", "bob", "nobody"], jobs: [], destinations: [] };
  for (const kind of kinds) found[kind] = await list(`/v3/${kind}?per_page=100&order_by=-created_at`);
  const apps = found["apps"]?.slice(0, 20) ?? [];
  for (const kind of ["sidecars", "revisions"])
    found[kind] = (await Promise.all(apps.map((app) => list(`/v3/apps/${app}/${kind}`)))).flat();
  return found;
}

/** `all` but for what is in `secret`; shared things stay. */
function without(
  all: Record<string, readonly string[]>,
  secret: Record<string, string[]>,
): Record<string, readonly string[]> {
  const shared = new Set(["domains", "buildpacks", "stacks", "organization_quotas", "users"]);
  return Object.fromEntries(
    Object.entries(all).map(([kind, guids]) => [
      kind,
      shared.has(kind) ? guids : guids.filter((guid) => !secret[kind]?.includes(guid)),
    ]),
  );
}
