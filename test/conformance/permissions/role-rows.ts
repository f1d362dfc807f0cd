// The tables of roles.ts: which role sees and makes what, as the CF API and as Kubernetes say it.
import type { Json } from "../kubernetes/api.ts";
import { base, TEST_USERS, to, type OrgAndSpace, type TestUser } from "./test-env.ts";

export const inOrg: TestUser[] = [
  "organization_manager",
  "organization_auditor",
  "organization_billing_manager",
  "organization_user",
];
export const inSpace: TestUser[] = ["space_developer", "space_manager", "space_auditor", "space_supporter"];
export const globals: TestUser[] = ["admin", "admin_read_only", "global_auditor"];
export const readers: TestUser[] = [...globals, "organization_manager", ...inSpace];

export interface RoleFixtures extends OrgAndSpace {
  app: string;
  route: string;
  domain: string;
  droplet: string;
  manager: string;
}

export interface Row {
  what: string;
  allowed: readonly TestUser[];
  cf: (things: RoleFixtures) => string;
  /** At Kubernetes; left out where it has no such door. */
  path?: (things: RoleFixtures) => string;
}

/** GET at both doors. */
export const READ_ROWS: readonly Row[] = [
  {
    what: "the org",
    allowed: [...globals, ...inOrg, ...inSpace],
    cf: ({ org }) => `/v3/organizations/${org}`,
    path: ({ orgNamespace }) => `${base}/orgs/${orgNamespace}`,
  },
  {
    what: "a private domain",
    allowed: [...readers, "organization_auditor"],
    cf: ({ domain }) => `/v3/domains/${domain}`,
    path: ({ orgNamespace }) => `${base}/namespaces/${orgNamespace}/domains/roles.example`,
  },
  {
    what: "the space",
    allowed: readers,
    cf: ({ space }) => `/v3/spaces/${space}`,
    path: ({ orgNamespace }) => `${base}/namespaces/${orgNamespace}/spaces/one`,
  },
  {
    what: "an app",
    allowed: readers,
    cf: ({ app }) => `/v3/apps/${app}`,
    path: ({ spaceNamespace }) => `${base}/namespaces/${spaceNamespace}/apps/shop`,
  },
  {
    what: "a process",
    allowed: readers,
    cf: ({ app }) => `/v3/processes/${app}`,
    path: ({ spaceNamespace }) => `${base}/namespaces/${spaceNamespace}/processes/shop.web`,
  },
  {
    what: "a droplet",
    allowed: readers,
    cf: ({ droplet }) => `/v3/droplets/${droplet}`,
    path: ({ spaceNamespace }) => `${base}/namespaces/${spaceNamespace}/droplets/shop`,
  },
  {
    what: "a route",
    allowed: [...readers, "organization_auditor"],
    cf: ({ route }) => `/v3/routes/${route}`,
    path: ({ spaceNamespace }) => `${base}/namespaces/${spaceNamespace}/routes/shop`,
  },
  {
    what: "a role in the org",
    allowed: [...globals, ...inOrg, ...inSpace],
    cf: ({ manager }) => `/v3/roles/${manager}`,
  },
  {
    what: "the environment",
    allowed: ["admin", "admin_read_only", "space_developer", "space_supporter"],
    cf: ({ app }) => `/v3/apps/${app}/env`,
  },
  {
    what: "the variables",
    allowed: ["admin", "admin_read_only", "space_developer", "space_supporter"],
    cf: ({ app }) => `/v3/apps/${app}/environment_variables`,
  },
  {
    what: "the manifest",
    allowed: ["admin", "admin_read_only", "space_developer"],
    cf: ({ app }) => `/v3/apps/${app}/manifest`,
  },
  {
    what: "feature flags",
    allowed: TEST_USERS,
    cf: () => "/v3/feature_flags/app_scaling",
    path: () => `${base}/namespaces/cupola-system/featureflags/app-scaling`,
  },
  {
    what: "stacks",
    allowed: TEST_USERS,
    cf: () => "/v3/stacks",
    path: () => `${base}/namespaces/cupola-system/stacks`,
  },
];

export interface CreateRow {
  what: string;
  allowed: readonly TestUser[];
  cf: (things: RoleFixtures, person: TestUser) => [method: string, path: string, body?: unknown];
  /** The same by kubectl, as a dry run. */
  kubectl: (things: RoleFixtures) => [path: string, body: Json];
}

export const object = (kind: string, spec: Json): Json => ({
  apiVersion: "cupola.dev/v1alpha1",
  kind,
  metadata: { name: "tried" },
  spec,
});
export const space = (things: RoleFixtures): object => ({ relationships: { space: to(things.space) } });

export const CREATE_ROWS: readonly CreateRow[] = [
  {
    what: "an app",
    allowed: ["admin", "space_developer"],
    cf: (things, person) => ["POST", "/v3/apps", { name: `by-${person}`, ...space(things) }],
    kubectl: ({ spaceNamespace }) => [`${base}/namespaces/${spaceNamespace}/apps`, object("App", {})],
  },
  {
    what: "a package",
    allowed: ["admin", "space_developer"],
    cf: ({ app }) => ["POST", "/v3/packages", { type: "bits", relationships: { app: to(app) } }],
    kubectl: ({ spaceNamespace }) => [
      `${base}/namespaces/${spaceNamespace}/packages`,
      object("Package", { appRef: { name: "shop" }, type: "bits" }),
    ],
  },
  {
    what: "a route",
    allowed: ["admin", "space_developer", "space_supporter"],
    cf: (things, person) => [
      "POST",
      "/v3/routes",
      {
        host: `by-${person.replaceAll("_", "-")}`,
        relationships: { space: to(things.space), domain: to(things.domain) },
      },
    ],
    kubectl: ({ spaceNamespace }) => [
      `${base}/namespaces/${spaceNamespace}/routes`,
      object("Route", { host: "tried", domainRef: { name: "roles.example" } }),
    ],
  },
  {
    what: "a space",
    allowed: ["admin", "organization_manager"],
    cf: ({ org }, person) => ["POST", "/v3/spaces", { name: `by-${person}`, relationships: { organization: to(org) } }],
    kubectl: ({ orgNamespace }) => [`${base}/namespaces/${orgNamespace}/spaces`, object("Space", {})],
  },
  {
    what: "a private domain",
    allowed: ["admin", "organization_manager"],
    cf: ({ org }, person) => [
      "POST",
      "/v3/domains",
      { name: `${person.replaceAll("_", "-")}.example`, relationships: { organization: to(org) } },
    ],
    kubectl: ({ orgNamespace }) => [
      `${base}/namespaces/${orgNamespace}/domains`,
      object("Domain", { name: "tried.example" }),
    ],
  },
  {
    what: "a shared domain",
    allowed: ["admin"],
    cf: (_things, person) => ["POST", "/v3/domains", { name: `${person.replaceAll("_", "-")}.shared.example` }],
    kubectl: () => [`${base}/namespaces/cupola-system/domains`, object("Domain", { name: "tried.shared.example" })],
  },
  {
    what: "an org",
    allowed: ["admin"],
    cf: (_things, person) => ["POST", "/v3/organizations", { name: `by-${person}` }],
    kubectl: () => [`${base}/orgs`, object("Org", {})],
  },
];
