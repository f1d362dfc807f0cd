// Discovery documents: `/`, `/v3`, `/v3/info`, `/v2/info`, `/healthz`. `cf` reads `/` to choose how it logs in and which requests it sends.
import { z } from "zod";
import type { RouterGroup } from "../../crds/backend-class/router-group.ts";
import { SSH_CLIENT } from "../../crds/app/ssh.ts";
import { routerGroupsOf } from "../cf/route/router-groups.ts";
import { hostName } from "../http/request-base.ts";
import { endpoint, ok, type Endpoint, type Reply } from "../routing/endpoint.ts";
import type { LoginSettings } from "../routing/login-service.ts";
import type { Services } from "../routing/services.ts";
import { API_VERSION } from "../openapi/api-version.ts";
import { uaaEndpoints } from "./uaa.ts";

const resources = [
  "app_usage_events",
  "apps",
  "audit_events",
  "buildpacks",
  "builds",
  "deployments",
  "domains",
  "droplets",
  "environment_variable_groups",
  "feature_flags",
  "info",
  "isolation_segments",
  "organizations",
  "organization_quotas",
  "packages",
  "processes",
  "resource_matches",
  "roles",
  "routes",
  "security_groups",
  "service_brokers",
  "service_instances",
  "service_credential_bindings",
  "service_offerings",
  "service_plans",
  "service_route_bindings",
  "service_usage_events",
  "spaces",
  "space_quotas",
  "stacks",
  "tasks",
  "users",
];

/** Under a host of token login `cf` asks for a user name and a token; elsewhere it uses the kubeconfig's credential. */
function globalRoot(
  base: string,
  host: string | undefined,
  settings: LoginSettings,
  ssh: SSHLinks | undefined,
): object {
  const link = { href: base };
  const hasTokenLogin = settings.tokenLoginHosts.includes(hostName(host));
  return {
    links: {
      self: link,
      cloud_controller_v3: { href: `${base}/v3`, meta: { version: API_VERSION } },
      network_policy_v0: null,
      // With a kubeconfig cf has no token for it.
      network_policy_v1: hasTokenLogin ? { href: `${base}/networking/v1/external` } : null,
      login: hasTokenLogin ? { href: settings.loginURL ?? base } : link,
      uaa: hasTokenLogin ? { href: settings.uaaURL ?? base } : link,
      credhub: null,
      routing: { href: `${base}/routing` },
      logging: null,
      log_cache: link,
      log_stream: null,
      // With a kubeconfig cf asks for no code: it has no token to ask with.
      app_ssh: hasTokenLogin && ssh ? presentSSHLink(ssh) : null,
    },
    ...(!hasTokenLogin && { cf_on_k8s: true }),
  };
}

interface SSHLinks {
  address: string;
  fingerprint: string;
}

function presentSSHLink({ address, fingerprint }: SSHLinks): object {
  return { href: address, meta: { host_key_fingerprint: fingerprint, oauth_client: SSH_CLIENT } };
}

/** Undefined while the host key cannot be read: this document is needed for all else, too. */
async function findSSHLinks(ssh: Services["ssh"]): Promise<SSHLinks | undefined> {
  const fingerprint = await ssh?.fingerprint().catch(() => undefined);
  return ssh && fingerprint !== undefined ? { address: ssh.address, fingerprint } : undefined;
}

function v3Root(base: string): object {
  return {
    links: {
      self: { href: `${base}/v3` },
      ...Object.fromEntries(resources.map((name) => [name, { href: `${base}/v3/${name}` }])),
    },
  };
}

function info(base: string): object {
  return {
    build: "",
    cli_version: { minimum: "", recommended: "" },
    custom: {},
    description: "Cloud Foundry on Kubernetes",
    name: "cupola",
    version: 0,
    osbapi_version: "2.17",
    rate_limits: { enabled: false, general_limit: 0, reset_interval_in_minutes: 0 },
    links: { self: { href: `${base}/v3/info` }, support: { href: "" } },
  };
}

/** As a CF answers that serves no v2: clients of both versions ask here first. */
function v2Info(base: string, { loginURL, uaaURL }: LoginSettings, ssh: SSHLinks | undefined): object {
  return {
    name: "cupola",
    build: "",
    support: "CF API v2 is disabled",
    version: 0,
    description: "Cloud Foundry on Kubernetes",
    authorization_endpoint: loginURL ?? base,
    token_endpoint: uaaURL ?? base,
    min_cli_version: "",
    min_recommended_cli_version: "",
    app_ssh_endpoint: ssh?.address ?? null,
    app_ssh_host_key_fingerprint: ssh?.fingerprint ?? null,
    app_ssh_oauth_client: ssh ? SSH_CLIENT : null,
    doppler_logging_endpoint: null,
    api_version: "",
    osbapi_version: "2.17",
  };
}

/** Requests that `cf` sends to a UAA and a routing API. Without their links it calls an empty address and prints `unsupported protocol scheme ""`. */
const otherServices = (services: Pick<Services, "cache">): readonly Endpoint[] => [
  ...uaaEndpoints,
  endpoint({
    method: "GET",
    path: "/routing/v1/router_groups",
    // With a kubeconfig cf has no token for it.
    permission: "anonymous",
    query: routerGroupQuery,
    summary: "List router groups: routers with TCP ports",
    handler: ({ query: { name } }) => {
      const found = routerGroupsOf(services).filter((group) => name === undefined || group.name === name);
      return found.length === 0 && name !== undefined ? noSuchGroup(name) : ok(found.map(presentRouterGroup));
    },
  }),
];

const routerGroupQuery = z.object({ name: z.string().max(253).optional() });

function presentRouterGroup({ guid, name, ports }: RouterGroup): object {
  return { guid, name, type: "tcp", reservable_ports: ports };
}

/** As the routing API says it. */
function noSuchGroup(name: string): Reply {
  return { status: 404, body: { name: "ResourceNotFoundError", message: `Router Group '${name}' not found` } };
}

/** They name the login server. */
const loginDependentEndpoints = (services: Pick<Services, "login" | "ssh">): readonly Endpoint[] => [
  endpoint({
    method: "GET",
    path: "/",
    permission: "anonymous",
    summary: "List the links to all APIs",
    handler: async ({ base, request }) =>
      ok(globalRoot(base, request.headers.host, services.login.settings, await findSSHLinks(services.ssh))),
  }),
  endpoint({
    method: "GET",
    path: "/v2/info",
    permission: "anonymous",
    summary: "Say that the CF API v2 is disabled",
    handler: async ({ base }) => ok(v2Info(base, services.login.settings, await findSSHLinks(services.ssh))),
  }),
];

export const discoveryEndpoints = (services: Pick<Services, "cache" | "login" | "ssh">): readonly Endpoint[] => [
  ...otherServices(services),
  ...loginDependentEndpoints(services),
  endpoint({
    method: "GET",
    path: "/v3",
    permission: "anonymous",
    summary: "List the links to all resources",
    handler: ({ base }) => ok(v3Root(base)),
  }),
  endpoint({
    method: "GET",
    path: "/v3/info",
    permission: "anonymous",
    summary: "Get information about the platform",
    handler: ({ base }) => ok(info(base)),
  }),
  endpoint({
    method: "GET",
    path: "/healthz",
    permission: "anonymous",
    summary: "Check whether the process answers",
    handler: () => ({
      status: 200,
      body: "OK",
      contentType: "text/plain",
    }),
  }),
];
