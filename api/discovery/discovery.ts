// Discovery documents: `/`, `/v3`, `/v3/info`, `/v2/info`, `/healthz`. `cf` reads `/` to choose how it logs in and which requests it sends.
import { hostName } from "../http/request-base.ts";
import { endpoint, ok, type Endpoint } from "../routing/endpoint.ts";
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
function globalRoot(base: string, host: string | undefined, settings: LoginSettings): object {
  const link = { href: base };
  const hasTokenLogin = settings.tokenLoginHosts.includes(hostName(host));
  return {
    links: {
      self: link,
      cloud_controller_v3: { href: `${base}/v3`, meta: { version: API_VERSION } },
      network_policy_v0: null,
      network_policy_v1: null,
      login: hasTokenLogin ? { href: settings.loginURL ?? base } : link,
      uaa: hasTokenLogin ? { href: settings.uaaURL ?? base } : link,
      credhub: null,
      routing: { href: `${base}/routing` },
      logging: null,
      log_cache: link,
      log_stream: null,
      app_ssh: null,
    },
    ...(!hasTokenLogin && { cf_on_k8s: true }),
  };
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
function v2Info(base: string, { loginURL, uaaURL }: LoginSettings): object {
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
    app_ssh_endpoint: null,
    app_ssh_host_key_fingerprint: null,
    app_ssh_oauth_client: null,
    doppler_logging_endpoint: null,
    api_version: "",
    osbapi_version: "2.17",
  };
}

/** Requests that `cf` sends to a UAA and a routing API. Without their links it calls an empty address and prints `unsupported protocol scheme ""`. */
const otherServices: readonly Endpoint[] = [
  ...uaaEndpoints,
  endpoint({
    method: "GET",
    path: "/routing/v1/router_groups",
    permission: "anonymous",
    isAlwaysEmpty: true,
    summary: "List router groups: always empty",
    handler: () => ok([]),
  }),
];

/** They name the login server. */
const loginDependentEndpoints = (services: Pick<Services, "login">): readonly Endpoint[] => [
  endpoint({
    method: "GET",
    path: "/",
    permission: "anonymous",
    summary: "List the links to all APIs",
    handler: ({ base, request }) => ok(globalRoot(base, request.headers.host, services.login.settings)),
  }),
  endpoint({
    method: "GET",
    path: "/v2/info",
    permission: "anonymous",
    summary: "Say that the CF API v2 is disabled",
    handler: ({ base }) => ok(v2Info(base, services.login.settings)),
  }),
];

export const discoveryEndpoints = (services: Pick<Services, "login">): readonly Endpoint[] => [
  ...otherServices,
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
