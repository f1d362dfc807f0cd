// The table of fields.ts: which role may write which field, as the CF API and as kubectl say it.
import { newGUID } from "../../../crds/guid.ts";
import { to, type OrgAndSpace, type TestUser } from "./test-env.ts";
import type { Json } from "../kubernetes/api.ts";

/** GUIDs and names of what the table is about. */
export interface FieldFixtures extends OrgAndSpace {
  app: string;
  appName: string;
  droplets: [guid: string, name: string][];
  route: string;
  routeName: string;
  quotas: string[];
}

export interface FieldRow {
  kind: "App" | "Process" | "Route" | "Space" | "Org";
  field: string;
  /** Roles that may; everybody else is refused. */
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

export const FIELD_ROWS: readonly FieldRow[] = [
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
  // An object that never had a GUID, and is older than the owner of the GUID it would take.
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
