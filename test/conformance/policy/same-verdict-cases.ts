// The fixture of all doors: 12 constraints, and 40 objects as a person writes them by Kubernetes and as the same by the CF API.
import { App } from "../../../crds/app/app.ts";
import { SYSTEM_NAMESPACE } from "../../../crds/groups.ts";
import { Package } from "../../../crds/package/package.ts";
import { Route } from "../../../crds/route/route.ts";
import { SecurityGroup } from "../../../crds/security-group/security-group.ts";
import { Task } from "../../../crds/task/task.ts";
import { apiVersionOf, type ResourceRef } from "../../../kube/api/resource-ref.ts";
import type { KubeObject } from "../../../kube/api/object.ts";

export interface PolicyCase {
  kind: string;
  name: string;
  spec: object;
}

const prod = { spaces: ["acme/prod-*"] };
const policy = (
  kind: string,
  name: string,
  action: string,
  rest: { parameters: object; match?: object },
): PolicyCase => ({
  kind,
  name,
  spec: { match: prod, ...rest, enforcement: { action } },
});

export const DENIED_DOMAIN = "denied.example";

export const POLICIES: readonly PolicyCase[] = [
  policy("RequiredLabels", "owner", "deny", { parameters: { labels: [{ key: "owner", pattern: "^[a-z]+$" }] } }),
  policy("RequiredLabels", "team", "warn", { parameters: { labels: [{ key: "team" }] } }),
  policy("RequiredLabels", "cost", "dryrun", { parameters: { labels: [{ key: "cost" }] } }),
  policy("RequiredLabels", "elsewhere", "deny", {
    parameters: { labels: [{ key: "never" }] },
    match: { spaces: ["acme/dev"] },
  }),
  policy("AllowedImages", "ours", "deny", { parameters: { prefixes: ["registry.example/"] } }),
  policy("AllowedImages", "hub", "warn", { parameters: { prefixes: ["registry.example/", "docker.io/library/"] } }),
  policy("AllowedBuildpacks", "packs", "deny", { parameters: { names: ["nodejs"], allowDetection: true } }),
  policy("LifecyclesDenied", "no-docker", "warn", { parameters: { types: ["docker"] } }),
  policy("SizeLimit", "small", "deny", { parameters: { maxMemoryMB: 1024 }, match: { orgs: ["acme"] } }),
  policy("DomainsDenied", "internal", "deny", { parameters: { domains: [DENIED_DOMAIN] } }),
  policy("HostPattern", "hosts", "deny", { parameters: { pattern: "[a-z]+(-[0-9]+)?" } }),
  policy("EgressLimit", "egress", "deny", { parameters: { denied: ["0.0.0.0/0"] }, match: {} }),
];

/** The guids that a request names. */
export interface Guids {
  space: string;
  /** Apps of its space, of lifecycle docker and with a droplet. */
  docker: string;
  runnable: string;
  /** By name. */
  domains: Readonly<Record<string, string>>;
}

export interface ObjectCase {
  /** Without a namespace: `namespace` says where it lives. */
  object: KubeObject;
  request: (guids: Guids) => { path: string; body: object };
}

const to = (guid: string): object => ({ data: { guid } });

const LABELS = [{}, { owner: "ada" }, { owner: "7" }, { owner: "ada", team: "shop", cost: "42" }];
const LIFECYCLES = [
  [{ type: "buildpack" }, { type: "buildpack", data: {} }],
  [
    { type: "buildpack", buildpacks: ["nodejs"] },
    { type: "buildpack", data: { buildpacks: ["nodejs"] } },
  ],
  [
    { type: "buildpack", buildpacks: ["https://example.com/php"] },
    { type: "buildpack", data: { buildpacks: ["https://example.com/php"] } },
  ],
  [{ type: "docker" }, { type: "docker", data: {} }],
] as const;
const HOSTS = ["shop", "shop-1", "SHOP-one", "x-y-2"];
const IMAGES = ["registry.example/a:1", "docker.io/library/nginx", "ghcr.io/evil/x:1", "registry.example.evil/a"];
const MEMORY = [64, 1024, 1025, 4096];
const DESTINATIONS = ["10.0.0.0/8", "0.0.0.0/0", "10.0.0.1-10.0.0.9", "192.168.0.0/16"];

function toObject(ref: ResourceRef, name: string, spec: object, labels: Record<string, string> = {}): KubeObject {
  const namespace = ref === SecurityGroup ? { namespace: SYSTEM_NAMESPACE } : {};
  return { apiVersion: apiVersionOf(ref), kind: ref.kind, metadata: { name, ...namespace, labels }, spec };
}

const apps = LABELS.flatMap((labels, at) =>
  LIFECYCLES.map(([lifecycle, requested], other): ObjectCase => {
    const name = `app-${at}-${other}`;
    return {
      object: toObject(App, name, { lifecycle }, labels as Record<string, string>),
      request: ({ space }) => ({
        path: "/v3/apps",
        body: { name, lifecycle: requested, metadata: { labels }, relationships: { space: to(space) } },
      }),
    };
  }),
);

const routes = ["apps.example", DENIED_DOMAIN].flatMap((domain) =>
  HOSTS.map((host): ObjectCase => ({
    object: toObject(Route, `${host}.${domain}`.toLowerCase(), { host, domainRef: { name: domain } }),
    request: ({ space, domains }) => ({
      path: "/v3/routes",
      body: { host, relationships: { space: to(space), domain: to(domains[domain] ?? "") } },
    }),
  })),
);

const packages = IMAGES.map((image, at): ObjectCase => ({
  object: toObject(Package, `package-${at}`, { appRef: { name: "docker" }, type: "docker", image }),
  request: ({ docker }) => ({
    path: "/v3/packages",
    body: { type: "docker", data: { image }, relationships: { app: to(docker) } },
  }),
}));

const tasks = MEMORY.map((memoryMB, at): ObjectCase => ({
  object: toObject(Task, `task-${at}`, { appRef: { name: "runnable" }, command: "true", memoryMB }),
  request: ({ runnable }) => ({
    path: `/v3/apps/${runnable}/tasks`,
    body: { command: "true", memory_in_mb: memoryMB },
  }),
}));

const groups = [...DESTINATIONS, ...DESTINATIONS].map((destination, at): ObjectCase => {
  const rule =
    at < DESTINATIONS.length ? { protocol: "tcp", destination, ports: "80" } : { protocol: "all", destination };
  return {
    object: toObject(SecurityGroup, `group-${at}`, { name: `group-${at}`, rules: [rule] }),
    request: () => ({ path: "/v3/security_groups", body: { name: `by-cf-${at}`, rules: [rule] } }),
  };
});

export const OBJECTS: readonly ObjectCase[] = [...apps, ...routes, ...packages, ...tasks, ...groups];
