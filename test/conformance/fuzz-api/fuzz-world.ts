// What the generated requests meet: an org of a developer's own, and another one whose every name holds a secret word.
import { App } from "../../../crds/app/app.ts";
import { Droplet } from "../../../crds/droplet/droplet.ts";
import { type ApiTestEnv, type Replica, startApiTestEnv, type TestUser } from "../api/test-env.ts";

/** In the name of everything that only the admin may see. */
export const SECRET = "topsecret";

export interface FuzzWorld {
  replica: Replica;
  /** GUIDs of what exists, by plural; with those of the secret org for people who may not see it. */
  guids(person: TestUser): Record<string, string[]>;
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
];

const to = ({ guid }: { guid: string }): object => ({ data: { guid } });

/** POST that must be 201. */
async function make({ replicas }: ApiTestEnv, path: string, body: unknown): Promise<{ guid: string }> {
  const answer = await replicas[0].call("admin", "POST", path, body);
  if (answer.status !== 201) throw new Error(`POST ${path}: ${answer.status} ${answer.text}`);
  return answer.json as { guid: string };
}

/** An org with a space and one of each thing in it. */
async function furnish(env: ApiTestEnv, name: string, developer?: TestUser): Promise<void> {
  const org = await make(env, "/v3/organizations", { name });
  const space = await make(env, "/v3/spaces", { name, relationships: { organization: to(org) } });
  const app = await make(env, "/v3/apps", {
    name,
    environment_variables: { NAME: name },
    metadata: { labels: { name } },
    relationships: { space: to(space) },
  });
  await make(env, "/v3/packages", { type: "bits", relationships: { app: to(app) } });
  await make(env, "/v3/domains", { name: `${name}.example`, relationships: { organization: to(org) } });
  const found = await env.replicas[0].call("admin", "GET", "/v3/domains?names=apps.example");
  const domain = found.json.resources[0] ?? (await make(env, "/v3/domains", { name: "apps.example" }));
  await make(env, "/v3/routes", { host: name, relationships: { space: to(space), domain: to(domain) } });
  await make(env, `/v3/apps/${app.guid}/sidecars`, { name, command: name, process_types: ["web"] });
  await make(env, "/v3/space_quotas", {
    name,
    relationships: { organization: to(org), spaces: { data: [{ guid: space.guid }] } },
  });
  await make(env, "/v3/isolation_segments", { name });
  await putDroplet(env, app.guid, name);
  if (developer) await giveRoles(env, developer, { org, space });
}

/** A droplet as a builder makes it. */
async function putDroplet({ kube, replicas }: ApiTestEnv, guid: string, name: string): Promise<void> {
  const [app] = replicas[0].api.cache.store(App).byIndex("guid", guid);
  if (!app) throw new Error("the app is not there");
  await kube.create(Droplet, {
    metadata: { name, namespace: app.metadata.namespace },
    spec: {
      appRef: { name: app.metadata.name },
      kind: "host",
      root: "/app",
      lifecycleType: "buildpack",
      content: { digest: `sha256:${"a".repeat(64)}`, size: 1 },
      processTypes: { web: name },
      stack: "base",
    },
  });
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

export async function startFuzzWorld(): Promise<FuzzWorld> {
  const env = await startApiTestEnv();
  await furnish(env, SECRET);
  const secret = await readGUIDs(env);
  let all: Record<string, string[]> = {};
  let round = 0;
  const world: FuzzWorld = {
    replica: env.replicas[0],
    guids: (person) => (person === "admin" ? without(all, secret) : all),
    async refresh() {
      all = await readGUIDs(env);
      if (round > 0 && without(all, secret)["apps"]?.length) return;
      await furnish(env, `own-${++round}`, "ann");
      all = await readGUIDs(env);
    },
    stop: () => env.stop(),
  };
  await world.refresh();
  return world;
}

async function readGUIDs({ replicas }: ApiTestEnv): Promise<Record<string, string[]>> {
  const list = async (path: string): Promise<string[]> => {
    const { json } = await replicas[0].call("admin", "GET", path);
    return (json.resources ?? []).map((one: { guid: string }) => one.guid);
  };
  const found: Record<string, string[]> = { users: ["ann", "bob", "nobody"], jobs: [], destinations: [] };
  for (const kind of kinds) found[kind] = await list(`/v3/${kind}?per_page=100&order_by=-created_at`);
  const apps = found["apps"]?.slice(0, 20) ?? [];
  for (const kind of ["sidecars", "revisions"])
    found[kind] = (await Promise.all(apps.map((app) => list(`/v3/apps/${app}/${kind}`)))).flat();
  return found;
}

/** `all` but for what is in `secret`; shared things stay. */
function without(all: Record<string, string[]>, secret: Record<string, string[]>): Record<string, string[]> {
  const shared = new Set(["domains", "buildpacks", "stacks", "organization_quotas", "users"]);
  return Object.fromEntries(
    Object.entries(all).map(([kind, guids]) => [
      kind,
      shared.has(kind) ? guids : guids.filter((guid) => !secret[kind]?.includes(guid)),
    ]),
  );
}
