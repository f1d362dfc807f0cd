// A request for each endpoint of CAPI that the role matrix tries: addresses of things that exist, and bodies that pass validation.
import { deriveGUID } from "../../../crds/guid.ts";
import { to } from "../permissions/test-env.ts";

/** GUIDs of what the matrix acts on, by the plural that paths use, and a few more. */
export type Things = Readonly<Record<string, string>>;

/** Values for parameters of paths that are no GUID. */
const words: Readonly<Record<string, string>> = {
  ":type": "web",
  ":index": "0",
  "feature_flags/:name": "diego_docker",
  "environment_variable_groups/:name": "running",
  "apps/:guid/features/:name": "revisions",
  "spaces/:guid/features/:name": "ssh",
};

/** The path of an endpoint with `things` in it. */
export function pathFor(template: string, things: Things): string {
  if (template === "/v3/spaces/:guid/routes") return `/v3/spaces/${things["spaces"]}/routes?unmapped=true`;
  const named = Object.entries(words).reduce(
    (path, [from, word]) => path.replace(from, from.replace(/:\w+$/, word)),
    template,
  );
  return named
    .replace(/([^/]+)\/:guid/, (_all, kind: string) => `${kind}/${things[kind] ?? `no-${kind}`}`)
    .replace(":org_guid", things["organizations"] ?? "")
    .replace(":space_guid", things["spaces"] ?? "")
    .replace(":destination_guid", things["destinations"] ?? "");
}

type Body = (things: Things, attempt: string) => unknown;

const one = (kind: string, things: Things): object => to(things[kind] ?? "");
const many = (kind: string, things: Things): object => ({ data: [{ guid: things[kind] ?? "" }] });
const metadata = { metadata: { annotations: { touched: "yes" } } };
const inSpace = (things: Things): object => ({ relationships: { space: one("spaces", things) } });
const ofApp = (things: Things): object => ({ relationships: { app: one("apps", things) } });

/** Bodies by endpoint; PATCH without an entry changes metadata, everything else sends none. `attempt` makes names unique. */
export const bodies: Readonly<Record<string, Body>> = {
  "POST /v3/apps": (things, attempt) => ({ name: attempt, ...inSpace(things) }),
  "PATCH /v3/apps/:guid/relationships/current_droplet": (things) => one("droplets", things),
  "PATCH /v3/apps/:guid/environment_variables": () => ({ var: { TOUCHED: "yes" } }),
  "PATCH /v3/apps/:guid/features/:name": () => ({ enabled: true }),
  "POST /v3/apps/:guid/sidecars": (_things, attempt) => ({ name: attempt, command: "x", process_types: ["other"] }),
  "PATCH /v3/sidecars/:guid": () => ({ command: "y" }),
  "POST /v3/processes/:guid/actions/scale": () => ({ instances: 1 }),
  "POST /v3/apps/:guid/processes/:type/actions/scale": () => ({ instances: 1 }),
  "POST /v3/packages": (things) => ({ type: "bits", ...ofApp(things) }),
  "POST /v3/builds": (things) => ({ package: { guid: things["empty-packages"] } }),
  "POST /v3/deployments": ofApp,
  "POST /v3/domains": (things, attempt) => ({
    name: `${attempt}.example`,
    relationships: { organization: one("organizations", things) },
  }),
  "POST /v3/domains/:guid/relationships/shared_organizations": (things) => many("organizations", things),
  "POST /v3/droplets": ofApp,
  "POST /v3/isolation_segments": (_things, attempt) => ({ name: attempt }),
  "PATCH /v3/isolation_segments/:guid": () => metadata,
  "POST /v3/isolation_segments/:guid/relationships/organizations": (things) => many("organizations", things),
  "POST /v3/organizations": (_things, attempt) => ({ name: attempt }),
  "PATCH /v3/organizations/:guid/relationships/default_isolation_segment": () => ({ data: null }),
  "POST /v3/organization_quotas": (_things, attempt) => ({ name: attempt }),
  "PATCH /v3/organization_quotas/:guid": () => ({ apps: { total_instances: null } }),
  "POST /v3/organization_quotas/:guid/relationships/organizations": (things) => many("organizations", things),
  "POST /v3/resource_matches": () => ({ resources: [{ checksum: { value: "0".repeat(40) }, size_in_bytes: 1 }] }),
  "POST /v3/routes": (things, attempt) => ({
    host: attempt,
    relationships: { space: one("spaces", things), domain: one("domains", things) },
  }),
  "POST /v3/route_policies": (things, attempt) => ({
    source: `cf:app:${deriveGUID("source", attempt)}`,
    relationships: { route: one("closed-routes", things) },
  }),
  "POST /v3/routes/:guid/relationships/shared_spaces": (things) => many("spaces", things),
  "PATCH /v3/routes/:guid/relationships/space": (things) => one("spaces", things),
  "POST /v3/routes/:guid/destinations": (things) => ({ destinations: [{ app: { guid: things["apps"] } }] }),
  "PATCH /v3/routes/:guid/destinations": (things) => ({ destinations: [{ app: { guid: things["apps"] } }] }),
  "PATCH /v3/routes/:guid/destinations/:destination_guid": () => ({ protocol: "http1" }),
  "POST /v3/security_groups": (_things, attempt) => ({ name: attempt }),
  "POST /v3/security_groups/:guid/relationships/running_spaces": (things) => many("spaces", things),
  "POST /v3/security_groups/:guid/relationships/staging_spaces": (things) => many("spaces", things),
  "PATCH /v3/security_groups/:guid": () => ({ globally_enabled: { running: true } }),
  "PATCH /v3/spaces/:guid/features/:name": () => ({ enabled: true }),
  "POST /v3/spaces/:guid/actions/apply_manifest": () => "applications:\n- name: shop\n",
  "POST /v3/spaces/:guid/manifest_diff": () => "applications:\n- name: shop\n",
  "POST /v3/space_quotas": (things, attempt) => ({
    name: attempt,
    relationships: { organization: one("organizations", things) },
  }),
  "PATCH /v3/space_quotas/:guid": () => ({ apps: { total_instances: null } }),
  "POST /v3/space_quotas/:guid/relationships/spaces": (things) => many("spaces", things),
  "POST /v3/spaces": (things, attempt) => ({
    name: attempt,
    relationships: { organization: one("organizations", things) },
  }),
  "PATCH /v3/spaces/:guid/relationships/isolation_segment": () => ({ data: null }),
  "POST /v3/apps/:guid/tasks": () => ({ command: "true" }),
  "POST /v3/stacks": (_things, attempt) => ({ name: attempt }),
  "POST /v3/users": (_things, attempt) => ({ guid: attempt }),
  "POST /v3/buildpacks": (_things, attempt) => ({ name: attempt }),
  "PATCH /v3/buildpacks/:guid": () => metadata,
  "PATCH /v3/feature_flags/:name": () => ({ enabled: true }),
  "PATCH /v3/environment_variable_groups/:name": () => ({ var: { TOUCHED: "yes" } }),
  "POST /v3/roles": (things) => ({
    type: "space_auditor",
    relationships: { user: to("guest"), space: one("spaces", things) },
  }),
};

/** The body for an endpoint; undefined sends none. */
export function bodyFor(key: string, things: Things, attempt: string): unknown {
  return bodies[key]?.(things, attempt) ?? (key.startsWith("PATCH") ? metadata : undefined);
}

/** POSTs that make again the object of a DELETE for each role that may, by kind. */
export const makers: Readonly<Record<string, string>> = {
  apps: "POST /v3/apps",
  sidecars: "POST /v3/apps/:guid/sidecars",
  packages: "POST /v3/packages",
  droplets: "POST /v3/droplets",
  domains: "POST /v3/domains",
  routes: "POST /v3/routes",
  route_policies: "POST /v3/route_policies",
  isolation_segments: "POST /v3/isolation_segments",
  organizations: "POST /v3/organizations",
  organization_quotas: "POST /v3/organization_quotas",
  space_quotas: "POST /v3/space_quotas",
  security_groups: "POST /v3/security_groups",
  spaces: "POST /v3/spaces",
  stacks: "POST /v3/stacks",
  users: "POST /v3/users",
  buildpacks: "POST /v3/buildpacks",
  roles: "POST /v3/roles",
};

/** Request that makes a deleted relationship again. */
export const restorers: Readonly<Record<string, string>> = {
  "DELETE /v3/routes/:guid/destinations/:destination_guid": "POST /v3/routes/:guid/destinations",
  ...Object.fromEntries(
    [
      "isolation_segments/:guid/relationships/organizations/:org_guid",
      "space_quotas/:guid/relationships/spaces/:space_guid",
      "security_groups/:guid/relationships/running_spaces/:space_guid",
      "security_groups/:guid/relationships/staging_spaces/:space_guid",
    ].map((path) => [`DELETE /v3/${path}`, `POST /v3/${path.replace(/\/:\w+$/, "")}`]),
  ),
};
