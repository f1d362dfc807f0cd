// `cup export` and `cup import`: every answer of the CF API is the same on an empty platform afterwards, no broker is asked and no task runs.
import { cpSync, existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { RESTORER_CLUSTER_ROLE } from "../../crds/roles.ts";
import { DEVELOPER } from "../../local/seed.ts";
import { runCommand } from "../../scripts/run-command.ts";
import { eventually } from "../eventually.ts";
import { startTestBroker, type TestBroker } from "../service-broker/test-broker.ts";
import { apiAt, tokenOf, type Api, type Named, type Page } from "./support/api.ts";
import { chosenPlatformKind, startTestPlatform } from "./support/start-test-platform.ts";
import type { TestPlatform } from "./support/test-platform.ts";
import { differences, readAllAnswers, type Answers } from "./support/v3-answers.ts";

const HELLO = join(import.meta.dirname, "..", "..", "examples", "hello");
const folder = mkdtempSync(join(tmpdir(), "cupola-backup-"));
const ARCHIVE = join(folder, "platform.jsonl.gz");

/** Orgs besides those that have some of everything: `CUPOLA_BACKUP_ORGS=100 npm run e2e -- --on cluster backup`. */
const MORE_ORGS = Number(process.env["CUPOLA_BACKUP_ORGS"] ?? "0");
/** Some more objects take some more time. */
const MORE_MS = MORE_ORGS * 6_000;
vi.setConfig({ testTimeout: 120_000 + MORE_MS, hookTimeout: 300_000 + MORE_MS });

/** Answers that differ, and why: docs/operate/backup.md has the same list. */
const DIFFERENT: readonly RegExp[] = [
  // Events are history of the other platform.
  /^\/v3\/(audit_events|app_usage_events|service_usage_events)/,
  // Instances start anew.
  /\/(stats|process_instances)$/,
];

let broker: TestBroker;
let stage: TestPlatform;
let before: Answers;
let policies: { api: object; uids: string[] };

const apiOf = (on: TestPlatform): Api => apiAt(on.url, tokenOf(on, "admin"));

async function cup(on: TestPlatform, ...args: string[]): Promise<string> {
  const { code, output } = await on.cup(...args);
  expect(code, `cup ${args.join(" ")}\n${output}`).toBe(0);
  return output;
}

const access = (on: TestPlatform): string[] => ["--kubeconfig", on.kubeconfig, "--context", "admin"];

beforeAll(async () => {
  for (const [command, ...args] of [
    ["openssl", "genpkey", "-algorithm", "X25519", "-out", "backup.key"],
    ["openssl", "pkey", "-in", "backup.key", "-pubout", "-out", "backup.pub"],
  ] as [string, ...string[]][]) {
    const { code, output } = await runCommand([command, ...args], { cwd: folder, deadlineMs: 20_000 });
    expect(code, output).toBe(0);
  }
  [stage, broker] = await Promise.all([startTestPlatform(), startTestBroker()]);
  await fill(stage, broker);
  await fillMoreOrgs(apiOf(stage));
});
afterAll(async () => {
  await broker?.close();
  await stage?.stop();
  rmSync(folder, { recursive: true, force: true });
});

/** Some of everything that people make. */
async function fill(on: TestPlatform, { url, username, password }: TestBroker): Promise<void> {
  const api = apiOf(on);
  const make = (path: string, body: object): Promise<Named> => api.call("POST", path, body);
  const to = (guid: string): object => ({ data: { guid } });
  await cup(on, "login", "--api", on.url, "--user", "admin");
  const quota = await make("/v3/organization_quotas", { name: "big", apps: { total_memory_in_mb: 20_000 } });
  const org = await make("/v3/organizations", { name: "acme", metadata: { labels: { tier: "gold" } } });
  await make(`/v3/organization_quotas/${quota.guid}/relationships/organizations`, { data: [{ guid: org.guid }] });
  const dev = await make("/v3/spaces", { name: "dev", relationships: { organization: to(org.guid) } });
  const near = await make("/v3/spaces", { name: "near", relationships: { organization: to(org.guid) } });
  const long = "a-space-whose-name-is-longer-than-a-namespace-takes";
  const other = await make("/v3/spaces", { name: long, relationships: { organization: to(org.guid) } });
  await make("/v3/space_quotas", {
    name: "small",
    relationships: { organization: to(org.guid), spaces: { data: [{ guid: dev.guid }] } },
  });
  const roles = { organization_user: { organization: to(org.guid) }, space_developer: { space: to(dev.guid) } };
  for (const [type, place] of Object.entries(roles))
    await make("/v3/roles", { type, relationships: { user: { data: { username: "alice" } }, ...place } });
  await make("/v3/domains", { name: "acme.example.org", relationships: { organization: to(org.guid) } });
  await make("/v3/security_groups", {
    name: "all",
    rules: [{ protocol: "tcp", destination: "10.0.0.0/8", ports: "443" }],
  });
  await make("/v3/isolation_segments", { name: "fast" });
  await api.call("PATCH", "/v3/feature_flags/task_creation", { enabled: true, custom_error_message: "ask" });
  for (const flag of ["route_sharing", "service_instance_sharing"])
    await api.call("PATCH", `/v3/feature_flags/${flag}`, { enabled: true });
  await api.call("PATCH", "/v3/environment_variable_groups/running", { var: { REGION: "north" } });

  await cup(on, "target", "--org", "acme", "--space", "dev");
  await cup(on, "push", "shop", "--path", HELLO, "-m", "64M");
  await cup(on, "set-env", "shop", "TOKEN", "hidden");
  await cup(on, "restart", "shop");
  await cup(on, "run", "shop", "echo done");
  const shop = (await api.call<Page<Named>>("GET", "/v3/apps?names=shop")).resources[0]?.guid ?? "";
  await make("/v3/deployments", { relationships: { app: to(shop) } });
  await eventually(async () => {
    const { resources } = await api.call<Page<{ status: { value: string } }>>("GET", "/v3/deployments");
    expect(resources[0]?.status.value).toBe("FINALIZED");
  }, 60_000);
  await make(`/v3/apps/${shop}/sidecars`, { name: "side", command: "sleep 1", process_types: ["web"] });
  const still = await make("/v3/apps", { name: "still", relationships: { space: to(near.guid) } });
  const route = (await api.call<Page<Named>>("GET", `/v3/apps/${shop}/routes`)).resources[0]?.guid ?? "";
  await make(`/v3/routes/${route}/relationships/shared_spaces`, { data: [{ guid: near.guid }] });
  await make(`/v3/routes/${route}/destinations`, { destinations: [{ app: { guid: still.guid } }] });

  const far = await make("/v3/apps", { name: "far", relationships: { space: to(other.guid) } });
  await openPolicy(on, far.guid, still.guid);

  await cup(on, "create-user-provided-service", "legacy");
  await cup(on, "bind", "shop", "legacy");
  await make("/v3/service_brokers", {
    name: "test",
    url,
    authentication: { type: "basic", credentials: { username, password } },
  });
  const plans = await eventually(async () => {
    const { resources } = await api.call<Page<Named>>("GET", "/v3/service_plans");
    expect(resources).toHaveLength(2);
    return resources;
  });
  for (const { guid } of plans) await make(`/v3/service_plans/${guid}/visibility`, { type: "public" });
  await cup(on, "create-service", "database", "db", "--plan", "small", "-c", '{"size": 1}');
  await cup(on, "bind", "shop", "db");
  const db = (await api.call<Page<Named>>("GET", "/v3/service_instances?names=db")).resources[0]?.guid ?? "";
  await make(`/v3/service_instances/${db}/relationships/shared_spaces`, { data: [{ guid: other.guid }] });
}

/** Each with a space, a manager, a private domain, an app and its route. Every org shares its domain with the one before. */
async function fillMoreOrgs(api: Api): Promise<void> {
  const make = (path: string, body: object): Promise<Named> => api.call("POST", path, body);
  const to = (guid: string): object => ({ data: { guid } });
  let before: string | undefined;
  for (let number = 0; number < MORE_ORGS; number++) {
    const org = await make("/v3/organizations", { name: `org-${number}` });
    const organization = to(org.guid);
    const space = await make("/v3/spaces", { name: "dev", relationships: { organization } });
    const user = { data: { username: `manager-${number}` } };
    for (const type of ["organization_user", "organization_manager"])
      await make("/v3/roles", { type, relationships: { user, organization } });
    const domain = await make("/v3/domains", { name: `org-${number}.example.org`, relationships: { organization } });
    if (before !== undefined)
      await make(`/v3/domains/${domain.guid}/relationships/shared_organizations`, { data: [{ guid: before }] });
    const app = await make("/v3/apps", { name: "shop", relationships: { space: to(space.guid) } });
    const relationships = { space: to(space.guid), domain: to(domain.guid) };
    const route = await make("/v3/routes", { host: "shop", relationships });
    await make(`/v3/routes/${route.guid}/destinations`, { destinations: [{ app: { guid: app.guid } }] });
    before = org.guid;
  }
}

/** As `cf add-network-policy`. Waits until the policy knows its apps, since it ends with them. */
async function openPolicy(on: TestPlatform, source: string, destination: string): Promise<void> {
  const ports = { start: 8080, end: 8090 };
  const policies = [{ source: { id: source }, destination: { id: destination, protocol: "tcp", ports } }];
  await apiOf(on).call("POST", "/networking/v1/external/policies", { policies });
  await eventually(async () => {
    expect(await readPolicyUIDs(on)).toHaveLength(2);
  });
}

async function readPolicyUIDs(on: TestPlatform): Promise<string[]> {
  const fields = "{.items[*].status.sourceUID} {.items[*].status.destinationUID}";
  const { output } = await on.kubectl("get", "apppolicies", "-A", "-o", `jsonpath=${fields}`);
  return output.split(/\s+/).filter((uid) => uid !== "");
}

const readPolicies = (on: TestPlatform): Promise<object> => apiOf(on).call("GET", "/networking/v1/external/policies");

describe(`an export from a ${chosenPlatformKind()}`, () => {
  test("is refused without a key, and writes nothing", async () => {
    const { code, output } = await stage.cup("export", ...access(stage), "-o", ARCHIVE);
    expect(code).toBe(2);
    expect(output).toContain("--no-secrets");
    expect(existsSync(ARCHIVE)).toBe(false);
  });

  test("says what it has, and what it leaves out", async () => {
    before = await readAllAnswers(apiOf(stage), stage.url);
    policies = { api: await readPolicies(stage), uids: await readPolicyUIDs(stage) };
    const said = await stage.cupJson<{ exported: Record<string, number>; leftOutKinds: object }>(
      "export",
      ...access(stage),
      "--history",
      "--key",
      join(folder, "backup.pub"),
      "-o",
      ARCHIVE,
    );
    expect(said.exported).toMatchObject({
      App: 3 + MORE_ORGS,
      ServiceInstance: 2,
      ServiceBinding: 2,
      Task: 1,
      Rollout: 1,
    });
    expect(said.leftOutKinds).toHaveProperty("LRP");
    expect(said.leftOutKinds).not.toHaveProperty("AuditLog");
    const { output } = await runCommand(["gzip", "-dc", ARCHIVE], { cwd: folder, deadlineMs: 20_000 });
    for (const secret of ["hidden", btoa("hidden"), btoa(broker.password)]) expect(output).not.toContain(secret);
  });
});

describe("an export of one org", () => {
  const one = join(folder, "acme.jsonl.gz");

  test("has that org's spaces, and nothing of others or of the platform", async () => {
    const args = [...access(stage), "--no-secrets", "-o", one];
    const said = await stage.cupJson<{ exported: Record<string, number> }>("export", "--org", "acme", ...args);
    expect(said.exported).toMatchObject({ Org: 1, Space: 3, App: 3, SpaceQuota: 1, Domain: 1 });
    for (const kind of ["Stack", "Buildpack", "ServiceBroker", "Secret", "AuditLog"])
      expect(said.exported).not.toHaveProperty(kind);
    const { code, output } = await stage.cup("export", "--org", "none", ...args);
    expect([code, output]).toEqual([1, expect.stringContaining("there is no org none")]);
  });

  test("is never overwritten", async () => {
    const { code, output } = await stage.cup("export", ...access(stage), "--no-secrets", "-o", one);
    expect([code, output]).toEqual([1, expect.stringContaining("cannot be written")]);
  });
});

describe(`its import into an empty ${chosenPlatformKind()}`, () => {
  beforeAll(async () => {
    cpSync(join(stage.home, "data", "blobs"), join(folder, "blobs"), { recursive: true });
    await stage.stop();
    stage = await startTestPlatform();
    await empty(stage);
    const role = ["clusterrolebinding", "restorer", `--clusterrole=${RESTORER_CLUSTER_ROLE}`, `--user=${DEVELOPER}`];
    expect((await stage.kubectl("create", ...role)).output).toContain("created");
    cpSync(join(folder, "blobs"), join(stage.home, "data", "blobs"), { recursive: true });
  });

  /** By a person with the role for it. */
  const run = (...args: string[]): ReturnType<TestPlatform["cup"]> =>
    stage.cup("import", ARCHIVE, "--kubeconfig", stage.kubeconfig, "--context", DEVELOPER, ...args);

  test("can be tried without a write", async () => {
    const { code, output } = await run("--key", join(folder, "backup.key"), "--dry-run");
    expect(code, output).toBe(0);
    expect(output).toContain("Nothing was written");
    expect((await apiOf(stage).call<{ resources: object[] }>("GET", "/v3/organizations")).resources).toEqual([]);
  });

  test("every answer is the same, no broker is asked, no task runs", { timeout: 300_000 + MORE_MS }, async () => {
    const asked = broker.requests().length;
    const { code, output } = await run("--key", join(folder, "backup.key"));
    expect(code, output).toBe(0);
    await eventually(async () => {
      const after = await readAllAnswers(apiOf(stage), stage.url);
      const found = differences(before, after).filter(({ path }) => !DIFFERENT.some((one) => one.test(path)));
      expect(found).toEqual([]);
    }, 90_000 + MORE_MS);
    expect(broker.requests().slice(asked)).toEqual([]);
    const { output: runs } = await stage.kubectl("get", "taskruns,stagings", "-A", "-o", "name");
    expect(runs.trim()).toBe("");
  });

  test("audit events of before are there as they were", async () => {
    const path = "/v3/audit_events?per_page=5000";
    const eventsOf = (text: string): Named[] => (JSON.parse(text.replace(/^\d+ /, "")) as Page<Named>).resources;
    const events = eventsOf(before.get(path) ?? "");
    expect(events.length).toBeGreaterThan(20);
    const { text } = await apiOf(stage).send("GET", path);
    const byGUID = new Map(eventsOf(text.replaceAll(stage.url, "BASE")).map((event) => [event.guid, event]));
    expect(events.map(({ guid }) => byGUID.get(guid))).toEqual(events);
  });

  test("network policies are there, and know the apps of this platform", async () => {
    await eventually(async () => {
      const uids = await readPolicyUIDs(stage);
      expect(uids).toHaveLength(2);
      for (const uid of policies.uids) expect(uids).not.toContain(uid);
      expect(await readPolicies(stage)).toEqual(policies.api);
    }, 60_000);
  });

  test("the same again writes nothing new", async () => {
    const { code, output } = await stage.cup(
      "--json",
      "import",
      ARCHIVE,
      ...access(stage),
      "--key",
      join(folder, "backup.key"),
    );
    expect(code, output).toBe(0);
    expect(JSON.parse(output)).toMatchObject({ created: 0 });
  });

  test("variables and credentials are there", async () => {
    await cup(stage, "login", "--api", stage.url, "--user", "admin");
    await cup(stage, "target", "--org", "acme", "--space", "dev");
    const env = await stage.cupJson<{ environment_variables: object; system_env_json: object }>("env", "shop");
    expect(JSON.stringify(env)).toContain("hidden");
    expect(JSON.stringify(env)).toContain("database");
  });
});

/** A laptop and the test's cluster begin with the org `local`. */
async function empty(on: TestPlatform): Promise<void> {
  const api = apiOf(on);
  const { resources } = await api.call<Page<Named>>("GET", "/v3/organizations");
  for (const { guid } of resources) await api.call("DELETE", `/v3/organizations/${guid}`);
  await eventually(async () => {
    expect((await api.call<Page<Named>>("GET", "/v3/organizations")).resources).toEqual([]);
  }, 60_000);
}
