// Every table of cases: docs/cf-commands.md is made of them.
import { APP_CASES } from "./apps.cases.ts";
import { BUILDPACK_CASES } from "./buildpacks.cases.ts";
import { CHANGE_CASES } from "./changes.cases.ts";
import { CONFIG_CASES } from "./config.cases.ts";
import { DEPLOYMENT_CASES } from "./deployments.cases.ts";
import { LOG_CASES } from "./logs.cases.ts";
import { MANIFEST_CASES } from "./manifests.cases.ts";
import { MANAGED_SERVICE_CASES } from "./managed-services.cases.ts";
import { MORE_FLAG_CASES } from "./more-flags.cases.ts";
import { METADATA_CASES } from "./metadata.cases.ts";
import { NETWORK_POLICY_CASES } from "./network-policies.cases.ts";
import { PACKAGE_CASES } from "./packages.cases.ts";
import { PUSH_CASES } from "./push.cases.ts";
import { REVISION_CASES } from "./revisions.cases.ts";
import { TASK_CASES } from "./tasks.cases.ts";
import { ORG_CASES } from "./orgs.cases.ts";
import { SPACE_CASES } from "./spaces.cases.ts";
import { ROLE_CASES } from "./roles.cases.ts";
import { DOMAIN_CASES } from "./domains.cases.ts";
import { ROUTE_PATH_CASES } from "./route-paths.cases.ts";
import { ROUTE_SERVICE_CASES } from "./route-services.cases.ts";
import { SSH_CASES } from "./ssh.cases.ts";
import { STRATEGY_CASES } from "./strategies.cases.ts";
import { ROUTE_CASES } from "./routes.cases.ts";
import { QUOTA_CASES } from "./quotas.cases.ts";
import { SECURITY_GROUP_CASES } from "./security-groups.cases.ts";
import { ISOLATION_SEGMENT_CASES } from "./isolation-segments.cases.ts";
import { BROKER_CASES } from "./service-brokers.cases.ts";
import { SHARED_SERVICE_CASES } from "./shared-services.cases.ts";
import { SERVICE_CASES } from "./services.cases.ts";
import { SETTING_CASES } from "./settings.cases.ts";
import { TCP_ROUTE_CASES } from "./tcp-routes.cases.ts";
import { TOKEN_LOGIN_CASES } from "./token-login.cases.ts";
import type { CommandCases } from "./support/case.ts";

/** By file, without `.cases.ts`. */
export const TABLES: Record<string, readonly CommandCases[]> = {
  apps: APP_CASES,
  changes: CHANGE_CASES,
  push: PUSH_CASES,
  manifests: MANIFEST_CASES,
  deployments: DEPLOYMENT_CASES,
  revisions: REVISION_CASES,
  tasks: TASK_CASES,
  packages: PACKAGE_CASES,
  config: CONFIG_CASES,
  metadata: METADATA_CASES,
  buildpacks: BUILDPACK_CASES,
  logs: LOG_CASES,
  orgs: ORG_CASES,
  spaces: SPACE_CASES,
  roles: ROLE_CASES,
  domains: DOMAIN_CASES,
  routes: ROUTE_CASES,
  quotas: QUOTA_CASES,
  "security-groups": SECURITY_GROUP_CASES,
  "isolation-segments": ISOLATION_SEGMENT_CASES,
  settings: SETTING_CASES,
  "route-paths": ROUTE_PATH_CASES,
  strategies: STRATEGY_CASES,
  "more-flags": MORE_FLAG_CASES,
  services: SERVICE_CASES,
};

/** Cases that are not recorded: their requests name a server of their own, or tokens, which a replay does not have. */
export const UNRECORDED_TABLES: Record<string, readonly CommandCases[]> = {
  "service-brokers": BROKER_CASES,
  "managed-services": MANAGED_SERVICE_CASES,
  "shared-services": SHARED_SERVICE_CASES,
  "token-login": TOKEN_LOGIN_CASES,
  "route-services": ROUTE_SERVICE_CASES,
  "network-policies": NETWORK_POLICY_CASES,
  ssh: SSH_CASES,
  "tcp-routes": TCP_ROUTE_CASES,
};

/** Files whose cases were seen to pass on a node, but for those that say why they cannot run there. */
export const SEEN_ON_NODE: ReadonlySet<string> = new Set([
  ...["apps", "changes", "push", "orgs", "spaces", "roles", "domains", "routes", "quotas"],
  ...["security-groups", "isolation-segments", "settings", "tasks", "logs", "config", "metadata"],
  ...["packages", "buildpacks", "manifests", "deployments", "revisions", "route-paths", "strategies", "more-flags"],
  ...["services", "service-brokers", "managed-services", "shared-services", "ssh", "tcp-routes", "network-policies"],
  "token-login",
  "route-services",
]);
