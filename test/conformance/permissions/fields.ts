// One table: which role may write which field, by the CF API and by kubectl. Both doors must say what the table says.
import { beforeAll, describe, expect, test } from "vitest";
import { newGUID } from "../../../crds/guid.ts";
import {
  base,
  dryRun,
  eventually,
  makeOrgAndSpace,
  TEST_USERS,
  to,
  type OrgAndSpace,
  type TestUser,
} from "./test-env.ts";
import type { GetTestEnv } from "./suite.ts";
import type { Answer, Json } from "../kubernetes/api.ts";

/** GUIDs and names of what the table is about. */
interface FieldFixtures extends OrgAndSpace {
  app: string;
  appName: string;
  droplets: [guid: string, name: string][];
  route: string;
  routeName: string;
  quotas: string[];
}

interface Row {
  kind: "App" | "Process" | "Route" | "Space" | "Org";
  field: string;
  /** Who may; everybody else is refused. */
  allowed: readonly TestUser[];
  /** The merge patch that kubectl sends; `turn` differs from call to call, so that every call is a change. */
  patch: (turn: number, things: FieldFixtures) => Json;
  subresource?: string;
  /** The same by the CF API, where it can say so. */
  cf?: (turn: number, things: FieldFixtures) => [method: string, path: string, body?: unknown];
}

const developers: TestUser[] = ["admin", "space_developer"];
const operators: TestUser[] = [...developers, "space_supporter"];
const spaceManagers: TestUser[] = ["admin", "organization_manager", "space_manager"];
const orgManagers: TestUser[] = ["admin", "organization_manager"];
const nobody: TestUser[] = [];
const spec = (fields: Json): Json => ({ spec: fields });
const labels = (turn: number): Json => ({ metadata: { labels: { turn: String(turn) } } });
/** An owner that does not exist: the garbage collector would delete the object. */
const owners = (turn: number): Json => ({
  metadata: { ownerReferences: [{ apiVersion: "v1", kind: "ConfigMap", name: "gone", uid: `uid-${turn}` }] },
});
const noFinalizers = (): Json => ({ metadata: { finalizers: [] } });
const guid = (value: string | null): Json => ({ metadata: { labels: { "cupola.dev/guid": value } } });
const app = (things: FieldFixtures): string => `/v3/apps/${things.app}`;
const web = (things: FieldFixtures): string => `/v3/apps/${things.app}/processes/web`;
const even = (turn: number): boolean => turn % 2 === 0;

const ROWS: readonly Row[] = [
  {
    kind: "App",
    field: "name",
    allowed: developers,
    patch: (turn) => spec({ name: `App-${turn}` }),
    cf: (turn, things) => ["PATCH", app(things), { name: `App-${turn}` }],
  },
  {
    kind: "App",
    field: "labels",
    allowed: developers,
    patch: labels,
    cf: (turn, things) => ["PATCH", app(things), labels(turn)],
  },
  {
    kind: "App",
    field: "lifecycle",
    allowed: developers,
    patch: (turn) => spec({ lifecycle: { buildpacks: [`https://b.example/${turn}`] } }),
    cf: (turn, things) => [
      "PATCH",
      app(things),
      { lifecycle: { type: "buildpack", data: { buildpacks: [`https://b.example/${turn}`] } } },
    ],
  },
  { kind: "App", field: "builder", allowed: developers, patch: (turn) => spec({ builder: `builder-${turn}` }) },
  {
    kind: "App",
    field: "sidecars",
    allowed: developers,
    patch: (turn) => spec({ sidecars: [{ name: "side", command: `run ${turn}`, processTypes: ["web"] }] }),
  },
  {
    kind: "App",
    field: "features.ssh",
    allowed: developers,
    patch: (turn) => spec({ features: { ssh: even(turn) } }),
    cf: (turn, things) => ["PATCH", `${app(things)}/features/ssh`, { enabled: even(turn) }],
  },
  {
    kind: "App",
    field: "features.revisions",
    allowed: operators,
    patch: (turn) => spec({ features: { revisions: even(turn) } }),
    cf: (turn, things) => ["PATCH", `${app(things)}/features/revisions`, { enabled: even(turn) }],
  },
  {
    kind: "App",
    field: "env",
    allowed: operators,
    patch: (turn) => spec({ env: [{ name: "A", value: String(turn) }] }),
    cf: (turn, things) => ["PATCH", `${app(things)}/environment_variables`, { var: { A: String(turn) } }],
  },
  {
    kind: "App",
    field: "droplet",
    allowed: operators,
    patch: (turn, { droplets }) => spec({ droplet: { name: droplets[turn % 2]?.[1] } }),
    cf: (turn, things) => [
      "PATCH",
      `${app(things)}/relationships/current_droplet`,
      to(things.droplets[turn % 2]?.[0] ?? ""),
    ],
  },
  {
    kind: "App",
    field: "state",
    allowed: operators,
    patch: (turn) => spec({ state: even(turn) ? "Started" : "Stopped" }),
    cf: (turn, things) => ["POST", `${app(things)}/actions/${even(turn) ? "start" : "stop"}`],
  },
  {
    kind: "App",
    field: "restart",
    allowed: operators,
    patch: (turn) => spec({ restart: `turn-${turn}` }),
    cf: (_turn, things) => ["POST", `${app(things)}/actions/restart`],
  },
  { kind: "App", field: "ownerReferences", allowed: developers, patch: owners },
  { kind: "App", field: "GUID, another one", allowed: ["admin"], patch: () => guid(newGUID()) },
  { kind: "App", field: "GUID, taken away", allowed: ["admin"], patch: () => guid(null) },
  {
    kind: "App",
    field: "status",
    allowed: ["admin"],
    subresource: "status",
    patch: (turn) => ({ status: { name: `x-${turn}` } }),
  },
  {
    kind: "Process",
    field: "instances",
    allowed: operators,
    patch: (turn) => spec({ instances: 1 + (turn % 2) }),
    cf: (turn, things) => ["POST", `${web(things)}/actions/scale`, { instances: 1 + (turn % 2) }],
  },
  {
    kind: "Process",
    field: "memoryMB",
    allowed: operators,
    patch: (turn) => spec({ memoryMB: 64 + turn }),
    cf: (turn, things) => ["POST", `${web(things)}/actions/scale`, { memory_in_mb: 64 + turn }],
  },
  {
    kind: "Process",
    field: "diskMB",
    allowed: operators,
    patch: (turn) => spec({ diskMB: 64 + turn }),
    cf: (turn, things) => ["POST", `${web(things)}/actions/scale`, { disk_in_mb: 64 + turn }],
  },
  {
    kind: "Process",
    field: "logRateLimitBytesPerSecond",
    allowed: operators,
    patch: (turn) => spec({ logRateLimitBytesPerSecond: 64 + turn }),
    cf: (turn, things) => ["POST", `${web(things)}/actions/scale`, { log_rate_limit_in_bytes_per_second: 64 + turn }],
  },
  { kind: "Process", field: "cpu", allowed: operators, patch: (turn) => spec({ cpu: `${100 + turn}m` }) },
  {
    kind: "Process",
    field: "instances by scale",
    allowed: operators,
    subresource: "scale",
    patch: (turn) => spec({ replicas: 1 + (turn % 2) }),
  },
  {
    kind: "Process",
    field: "command",
    allowed: operators,
    patch: (turn) => spec({ command: `run ${turn}` }),
    cf: (turn, things) => ["PATCH", web(things), { command: `run ${turn}` }],
  },
  {
    kind: "Process",
    field: "user",
    allowed: operators,
    patch: (turn) => spec({ user: `u${turn}` }),
    cf: (turn, things) => ["PATCH", web(things), { user: `u${turn}` }],
  },
  {
    kind: "Process",
    field: "healthCheck",
    allowed: operators,
    patch: (turn) => spec({ healthCheck: { type: "port", timeoutSeconds: 1 + turn } }),
    cf: (turn, things) => [
      "PATCH",
      web(things),
      { health_check: { type: "port", data: { timeout: 1 + (turn % 180) } } },
    ],
  },
  {
    kind: "Process",
    field: "readinessHealthCheck",
    allowed: operators,
    patch: (turn) => spec({ readinessHealthCheck: { type: "http", endpoint: `/${turn}` } }),
    cf: (turn, things) => [
      "PATCH",
      web(things),
      { readiness_health_check: { type: "http", data: { endpoint: `/${turn}` } } },
    ],
  },
  {
    kind: "Process",
    field: "labels",
    allowed: operators,
    patch: labels,
    cf: (turn, things) => ["PATCH", web(things), labels(turn)],
  },
  {
    kind: "Process",
    field: "restartInstances",
    allowed: operators,
    patch: (turn) => spec({ restartInstances: { 0: `turn-${turn}` } }),
  },
  { kind: "Process", field: "ports", allowed: developers, patch: (turn) => spec({ ports: [8000 + turn] }) },
  { kind: "Process", field: "runner", allowed: developers, patch: (turn) => spec({ runner: `runner-${turn}` }) },
  { kind: "Process", field: "ownerReferences", allowed: developers, patch: owners },
  // One that never had a GUID, and is older than whoever's it would take.
  { kind: "Process", field: "GUID, given late", allowed: ["admin"], patch: (_turn, things) => guid(things.app) },
  { kind: "Process", field: "type, immutable", allowed: nobody, patch: (turn) => spec({ type: `t${turn}` }) },
  {
    kind: "Process",
    field: "appRef, immutable",
    allowed: nobody,
    patch: (turn) => spec({ appRef: { name: `t${turn}` } }),
  },
  {
    kind: "Route",
    field: "destinations",
    allowed: operators,
    patch: (turn, { appName }) => spec({ destinations: [{ app: appName, port: 8000 + turn }] }),
    cf: (turn, things) => [
      "PATCH",
      `/v3/routes/${things.route}/destinations`,
      { destinations: [{ app: { guid: things.app }, port: 8000 + turn }] },
    ],
  },
  {
    kind: "Route",
    field: "labels",
    allowed: operators,
    patch: labels,
    cf: (turn, things) => ["PATCH", `/v3/routes/${things.route}`, labels(turn)],
  },
  { kind: "Route", field: "ownerReferences", allowed: operators, patch: owners },
  { kind: "Route", field: "host, immutable", allowed: nobody, patch: (turn) => spec({ host: `h${turn}` }) },
  { kind: "Route", field: "path, immutable", allowed: nobody, patch: (turn) => spec({ path: `/p${turn}` }) },
  {
    kind: "Route",
    field: "domainRef, immutable",
    allowed: nobody,
    patch: (turn) => spec({ domainRef: { name: `d${turn}` } }),
  },
  {
    kind: "Space",
    field: "name",
    allowed: spaceManagers,
    patch: (turn) => spec({ name: `one-${turn}` }),
    cf: (turn, things) => ["PATCH", `/v3/spaces/${things.space}`, { name: `one-${turn}` }],
  },
  {
    kind: "Space",
    field: "labels",
    allowed: spaceManagers,
    patch: labels,
    cf: (turn, things) => ["PATCH", `/v3/spaces/${things.space}`, labels(turn)],
  },
  {
    kind: "Space",
    field: "allowSSH",
    allowed: spaceManagers,
    patch: (turn) => spec({ allowSSH: even(turn) }),
    cf: (turn, things) => ["PATCH", `/v3/spaces/${things.space}/features/ssh`, { enabled: even(turn) }],
  },
  { kind: "Space", field: "ownerReferences", allowed: orgManagers, patch: owners },
  { kind: "Space", field: "finalizers", allowed: orgManagers, patch: noFinalizers },
  { kind: "Space", field: "namespace, immutable", allowed: nobody, patch: (turn) => spec({ namespace: `n${turn}` }) },
  {
    kind: "Space",
    field: "suspended",
    allowed: orgManagers,
    patch: () => spec({ suspended: true }),
    cf: (_turn, things) => ["PATCH", `/v3/spaces/${things.space}`, { suspended: true }],
  },
  {
    kind: "Org",
    field: "name",
    allowed: orgManagers,
    patch: (turn) => spec({ name: `fields-${turn}` }),
    cf: (turn, things) => ["PATCH", `/v3/organizations/${things.org}`, { name: `fields-${turn}` }],
  },
  {
    kind: "Org",
    field: "labels",
    allowed: orgManagers,
    patch: labels,
    cf: (turn, things) => ["PATCH", `/v3/organizations/${things.org}`, labels(turn)],
  },
  { kind: "Org", field: "ownerReferences", allowed: ["admin"], patch: owners },
  { kind: "Org", field: "finalizers", allowed: ["admin"], patch: noFinalizers },
  {
    kind: "Org",
    field: "quotaRef",
    allowed: ["admin"],
    patch: (turn) => spec({ quotaRef: { name: `q${turn}` } }),
    cf: (turn, things) => [
      "POST",
      `/v3/organization_quotas/${things.quotas[turn % 2]}/relationships/organizations`,
      { data: [{ guid: things.org }] },
    ],
  },
  {
    kind: "Org",
    field: "suspended",
    allowed: ["admin"],
    patch: () => spec({ suspended: true }),
    cf: (_turn, things) => ["PATCH", `/v3/organizations/${things.org}`, { suspended: true }],
  },
];

export function fieldTests(get: GetTestEnv): void {
  describe("fields", () => {
    let things: FieldFixtures;
    let turn = 0;

    beforeAll(async () => {
      things = await createFixtures(get);
    }, 120_000);

    const pathOf: Record<Row["kind"], () => string> = {
      App: () => `${base}/namespaces/${things.spaceNamespace}/apps/${things.appName}`,
      Process: () => `${base}/namespaces/${things.spaceNamespace}/processes/${things.appName}.web`,
      Route: () => `${base}/namespaces/${things.spaceNamespace}/routes/${things.routeName}`,
      Space: () => `${base}/namespaces/${things.orgNamespace}/spaces/one`,
      Org: () => `${base}/orgs/${things.orgNamespace}`,
    };

    test.each(ROWS.map((row) => [`${row.kind} ${row.field}`, row] as const))("%s", async (_name, row) => {
      const verdicts: Record<string, unknown> = {};
      const expected: Record<string, unknown> = {};
      for (const person of TEST_USERS) {
        turn++;
        const verdict = {
          kubectl: await byKubectl(person, row),
          ...(row.cf && { cf: await byCf(person, row.cf(turn, things)) }),
        };
        verdicts[person] = verdict;
        const word = row.allowed.includes(person) ? "yes" : "no";
        expected[person] = { kubectl: word, ...(row.cf && { cf: word }) };
        if (row.field === "suspended") await lift(row.kind, things);
      }
      expect(verdicts).toEqual(expected);
    });

    async function byKubectl(person: TestUser, row: Row): Promise<string> {
      const { status, text } = await dryRun(
        get().at(person),
        `${pathOf[row.kind]()}${row.subresource ? `/${row.subresource}` : ""}`,
        row.patch(turn, things),
      );
      return status < 300 ? "yes" : [403, 422].includes(status) ? "no" : text;
    }

    /** The CF API has no dry run: what passes changes the object. */
    async function byCf(person: TestUser, [method, path, body]: [string, string, unknown?]): Promise<string> {
      const { status, json } = await get().cf(person, method, path, body);
      return status < 300 ? "yes" : [403, 404].includes(status) ? "no" : JSON.stringify(json);
    }

    test("an apply that says nothing of labels passes, and leaves the GUID as it is", async () => {
      const path = pathOf.App();
      const before = (await get().kubernetes.get(path)).body.metadata;
      const { status, body } = await get()
        .at("space_developer")
        .patch("apply", `${path}?dryRun=All&fieldManager=kubectl`, {
          apiVersion: "cupola.dev/v1alpha1",
          kind: "App",
          metadata: { name: before.name, annotations: { applied: "yes" } },
          spec: {},
        });
      expect([status, body.metadata.labels]).toEqual([200, before.labels]);
    });

    test("at creation every value given counts, but the default", async () => {
      const testEnv = get();
      const group = "rbac.authorization.k8s.io";
      const rules = [
        { apiGroups: ["cupola.dev"], resources: ["apps", "processes", "packages", "orgs"], verbs: ["create"] },
      ];
      await testEnv.kubernetes.post(`/apis/${group}/v1/clusterroles`, {
        apiVersion: `${group}/v1`,
        kind: "ClusterRole",
        metadata: { name: "creates-only" },
        rules,
      });
      await testEnv.kubernetes.post(`/apis/${group}/v1/clusterrolebindings`, {
        apiVersion: `${group}/v1`,
        kind: "ClusterRoleBinding",
        metadata: { name: "creates-only" },
        roleRef: { apiGroup: group, kind: "ClusterRole", name: "creates-only" },
        subjects: [{ kind: "User", apiGroup: group, name: "creator" }],
      });
      const creator = testEnv.kubernetes.as({ impersonate: "creator", groups: ["system:authenticated"] });
      const create = (kind: string, fields: Json): Promise<Answer> => {
        const path =
          kind === "Org"
            ? `${base}/orgs`
            : `${base}/namespaces/${things.spaceNamespace}/${kind === "Process" ? "processes" : `${kind.toLowerCase()}s`}`;
        return creator.post(`${path}?dryRun=All`, {
          apiVersion: "cupola.dev/v1alpha1",
          kind,
          metadata: { name: kind === "Process" ? "new.worker" : "new" },
          spec: fields,
        });
      };
      await eventually(async () => expect((await create("App", {})).status).toBe(201));
      const process = { appRef: { name: "new" }, type: "worker" };
      const pack = { appRef: { name: "new" }, type: "bits" };
      const passes: [string, Json][] = [
        ["App", { state: "Stopped", env: [], lifecycle: { type: "buildpack" }, features: { ssh: true } }],
        ["Process", { ...process, command: "run", memoryMB: 1024 }],
        ["Package", pack],
        ["Org", { suspended: false }],
      ];
      for (const [kind, fields] of passes) expect([kind, (await create(kind, fields)).status]).toEqual([kind, 201]);
      const refused: [string, Json][] = [
        ["App", { env: [{ name: "A", value: "1" }] }],
        ["App", { state: "Started" }],
        ["App", { droplet: { name: "x" } }],
        ["App", { lifecycle: { type: "cnb" } }],
        ["App", { lifecycle: { stack: "x" } }],
        ["App", { name: "Other" }],
        ["App", { features: { ssh: false } }],
        ["Process", { ...process, memoryMB: 1025 }],
        ["Process", { ...process, instances: 1 }],
        ["Process", { ...process, runner: "x" }],
        ["Package", { ...pack, content: { digest: `sha256:${"0".repeat(64)}`, size: 1 } }],
        ["Org", { suspended: true }],
        ["Org", { quotaRef: { name: "x" } }],
      ];
      for (const [kind, fields] of refused)
        expect([kind, fields, (await create(kind, fields)).body.message]).toEqual([
          kind,
          fields,
          expect.stringContaining("needs the right to update"),
        ]);
    });

    async function lift(kind: Row["kind"], { org, space, orgNamespace, spaceNamespace }: FieldFixtures): Promise<void> {
      const path = kind === "Org" ? `/v3/organizations/${org}` : `/v3/spaces/${space}`;
      await get().make(path, { suspended: false }, "PATCH");
      const namespace = kind === "Org" ? orgNamespace : spaceNamespace;
      await eventually(async () =>
        expect((await get().kubernetes.get(`/api/v1/namespaces/${namespace}`)).body.metadata.labels).not.toHaveProperty(
          ["cupola.dev/suspended"],
        ),
      );
    }
  });
}

async function createFixtures(get: GetTestEnv): Promise<FieldFixtures> {
  const testEnv = get();
  const home = await makeOrgAndSpace(testEnv, "fields");
  const app = (await testEnv.make("/v3/apps", { name: "shop", relationships: { space: to(home.space) } })).guid;
  const domain = (await testEnv.cf("admin", "GET", "/v3/domains?names=apps.example")).json.resources[0].guid;
  const route = (
    await testEnv.make("/v3/routes", { host: "shop", relationships: { space: to(home.space), domain: to(domain) } })
  ).guid;
  await testEnv.kubernetes.post(`${base}/namespaces/cupola-system/orgquotas`, {
    apiVersion: "cupola.dev/v1alpha1",
    kind: "OrgQuota",
    metadata: { name: "small" },
    spec: { name: "small", totalRoutes: 1 },
  });
  const quotas = await eventually(async () => {
    const { resources } = (await testEnv.cf("admin", "GET", "/v3/organization_quotas")).json;
    expect(resources).toHaveLength(2);
    return resources.map((one: { guid: string }) => one.guid);
  });
  const inSpace = `${base}/namespaces/${home.spaceNamespace}`;
  const [found] = (await testEnv.kubernetes.get(`${inSpace}/apps`)).body.items;
  const [routeObject] = (await testEnv.kubernetes.get(`${inSpace}/routes`)).body.items;
  const droplets = await Promise.all(
    ["a", "b"].map(async (name): Promise<[string, string]> => {
      const made = await testEnv.kubernetes.post(`${inSpace}/droplets`, {
        apiVersion: "cupola.dev/v1alpha1",
        kind: "Droplet",
        metadata: { name },
        spec: {
          appRef: { name: found.metadata.name },
          kind: "docker",
          lifecycleType: "docker",
          image: `example.com/${name}`,
        },
      });
      expect([made.status, made.text]).toEqual([201, made.text]);
      return [made.body.metadata.uid, name];
    }),
  );
  await eventually(async () =>
    expect((await testEnv.cf("admin", "GET", `/v3/droplets/${droplets[1]?.[0]}`)).status).toBe(200),
  );
  await testEnv.make(`/v3/apps/${app}/relationships/current_droplet`, to(droplets[0]?.[0] ?? ""), "PATCH");
  await eventually(async () =>
    expect((await testEnv.kubernetes.get(`${inSpace}/processes/${found.metadata.name}.web`)).status).toBe(200),
  );
  return { ...home, app, appName: found.metadata.name, droplets, route, routeName: routeObject.metadata.name, quotas };
}
