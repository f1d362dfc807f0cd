// Successful responses of each endpoint, by method and path. A test holds this table against the endpoint table.
import { z } from "zod";
import * as apps from "./app-schemas.ts";
import * as content from "./content-schemas.ts";
import * as places from "./place-schemas.ts";
import * as login from "./login-schemas.ts";
import * as platform from "./platform-schemas.ts";
import * as catalog from "./catalog-schemas.ts";
import * as services from "./service-schemas.ts";
import * as routes from "./route-schemas.ts";
import { anyObject, including, named, page, relationship, text, toMany, toOneOrNone } from "./schema-parts.ts";

/** A body in JSON by its schema; nothing (`empty`); a job to poll, in the header Location (`job`); bytes or text. */
export type ResponseBody = z.ZodType | "empty" | "job" | "zip" | "gzip" | "yaml" | "text";

/** Status and body. */
export type Response = readonly [status: number, body: ResponseBody];

const ok = (body: ResponseBody): readonly Response[] => [[200, body]];
const created = (body: ResponseBody): readonly Response[] => [[201, body]];
const accepted: readonly Response[] = [[202, "job"]];
const deleted: readonly Response[] = [[204, "empty"]];

const { organization, space } = places;
const inSpaces = { spaces: z.array(space), organizations: z.array(organization) };
const roleIncludes = { users: z.array(places.user), ...inSpaces };
const bindingIncludes = { apps: z.array(apps.app), service_instances: z.array(services.serviceInstance) };
const routeBindingIncludes = {
  routes: z.array(routes.route),
  service_instances: z.array(services.serviceInstance),
};
const planIncludes = {
  ...inSpaces,
  ...catalog.offeringIncludes,
  service_offerings: z.array(catalog.serviceOffering),
};
const routeIncludes = {
  domains: z.array(routes.domain),
  ...inSpaces,
  route_policies: z.array(routes.routePolicy),
};
const routePolicyIncludes = { apps: z.array(apps.app), ...inSpaces, routes: z.array(routes.route) };

const appPage = page("App", apps.app, inSpaces);
const processPage = page("Process", apps.process);
const packagePage = page("Package", content.package_);
const buildPage = page("Build", content.build);
const dropletPage = page("Droplet", content.droplet);
const revisionPage = page("Revision", apps.revision);
const sidecarPage = page("Sidecar", apps.sidecar);
const taskPage = page("Task", apps.task);
const routePage = page("Route", routes.route, routeIncludes);
const domainPage = page("Domain", routes.domain);
const organizationPage = page("Organization", organization);
const userPage = page("User", places.user);
const securityGroupPage = page("SecurityGroup", places.securityGroup);
const isolationSegmentChoice = relationship("IsolationSegmentRelationship", toOneOrNone, true);
const organizationsRelationship = relationship("OrganizationsRelationship", toMany, true);
const spacesRelationship = relationship("SpacesRelationship", toMany, true);

const appResponses: Record<string, readonly Response[]> = {
  "GET /v3/apps": ok(appPage),
  "POST /v3/apps": created(apps.app),
  "GET /v3/apps/:guid": ok(including("App", apps.app, inSpaces)),
  "PATCH /v3/apps/:guid": ok(apps.app),
  "DELETE /v3/apps/:guid": accepted,
  "POST /v3/apps/:guid/actions/start": ok(apps.app),
  "POST /v3/apps/:guid/actions/stop": ok(apps.app),
  "POST /v3/apps/:guid/actions/restart": ok(apps.app),
  "POST /v3/apps/:guid/actions/clear_buildpack_cache": accepted,
  "GET /v3/apps/:guid/env": ok(apps.appEnvironment),
  "GET /v3/apps/:guid/permissions": ok(apps.appPermissions),
  "GET /v3/apps/:guid/builds": ok(buildPage),
  "PATCH /v3/apps/:guid/relationships/current_droplet": ok(apps.currentDropletRelationship),
  "GET /v3/apps/:guid/relationships/current_droplet": ok(apps.currentDropletRelationship),
  "GET /v3/apps/:guid/droplets/current": ok(content.droplet),
  "GET /v3/apps/:guid/environment_variables": ok(apps.appVariables),
  "PATCH /v3/apps/:guid/environment_variables": ok(apps.appVariables),
  "GET /v3/apps/:guid/features": ok(apps.appFeatures),
  "GET /v3/apps/:guid/features/:name": ok(apps.feature),
  "PATCH /v3/apps/:guid/features/:name": ok(apps.feature),
  "GET /v3/apps/:guid/ssh_enabled": ok(apps.sshEnabled),
  "GET /v3/apps/:guid/policy_violations": ok(apps.policyViolations),
  "GET /v3/apps/:guid/manifest": ok("yaml"),
  "GET /v3/apps/:guid/revisions": ok(revisionPage),
  "GET /v3/apps/:guid/revisions/deployed": ok(revisionPage),
  "GET /v3/revisions/:guid": ok(apps.revision),
  "PATCH /v3/revisions/:guid": ok(apps.revision),
  "GET /v3/revisions/:guid/environment_variables": ok(apps.revisionVariables),
  "POST /v3/apps/:guid/sidecars": created(apps.sidecar),
  "GET /v3/apps/:guid/sidecars": ok(sidecarPage),
  "GET /v3/processes/:guid/sidecars": ok(sidecarPage),
  "GET /v3/apps/:guid/processes/:type/sidecars": ok(sidecarPage),
  "GET /v3/sidecars/:guid": ok(apps.sidecar),
  "PATCH /v3/sidecars/:guid": ok(apps.sidecar),
  "DELETE /v3/sidecars/:guid": deleted,
  "GET /v3/processes": ok(processPage),
  "GET /v3/apps/:guid/processes": ok(processPage),
  ...processResponses("/v3/processes/:guid"),
  ...processResponses("/v3/apps/:guid/processes/:type"),
  "GET /v3/tasks": ok(taskPage),
  "GET /v3/apps/:guid/tasks": ok(taskPage),
  "POST /v3/apps/:guid/tasks": [[202, apps.task]],
  "GET /v3/tasks/:guid": ok(apps.task),
  "PATCH /v3/tasks/:guid": ok(apps.task),
  "PUT /v3/tasks/:guid/cancel": [[202, apps.task]],
  "POST /v3/tasks/:guid/cancel": [[202, apps.task]],
  "POST /v3/tasks/:guid/actions/cancel": [[202, apps.task]],
  "GET /v3/deployments": ok(page("Deployment", apps.deployment)),
  "POST /v3/deployments": created(apps.deployment),
  "GET /v3/deployments/:guid": ok(apps.deployment),
  "PATCH /v3/deployments/:guid": ok(apps.deployment),
  "POST /v3/deployments/:guid/actions/cancel": ok("empty"),
  "POST /v3/deployments/:guid/actions/continue": ok("empty"),
  "POST /v3/spaces/:guid/actions/apply_manifest": accepted,
  "POST /v3/spaces/:guid/manifest_diff": created(apps.manifestDiff),
};

function processResponses(path: string): Record<string, readonly Response[]> {
  return {
    [`GET ${path}`]: ok(apps.process),
    [`PATCH ${path}`]: ok(apps.process),
    [`POST ${path}/actions/scale`]: [[202, apps.process]],
    [`DELETE ${path}/instances/:index`]: deleted,
    [`GET ${path}/stats`]: ok(apps.processStats),
    [`GET ${path}/process_instances`]: ok(apps.processInstances),
  };
}

const contentResponses: Record<string, readonly Response[]> = {
  "GET /v3/packages": ok(packagePage),
  "GET /v3/apps/:guid/packages": ok(packagePage),
  "POST /v3/packages": created(content.package_),
  "GET /v3/packages/:guid": ok(content.package_),
  "PATCH /v3/packages/:guid": ok(content.package_),
  "DELETE /v3/packages/:guid": accepted,
  "POST /v3/packages/:guid/upload": ok(content.package_),
  "GET /v3/packages/:guid/download": ok("zip"),
  "GET /v3/packages/:guid/droplets": ok(dropletPage),
  "GET /v3/builds": ok(buildPage),
  "POST /v3/builds": created(content.build),
  "GET /v3/builds/:guid": ok(content.build),
  "PATCH /v3/builds/:guid": ok(content.build),
  "GET /v3/droplets": ok(dropletPage),
  "GET /v3/apps/:guid/droplets": ok(dropletPage),
  "POST /v3/droplets": created(content.droplet),
  "GET /v3/droplets/:guid": ok(content.droplet),
  "PATCH /v3/droplets/:guid": ok(content.droplet),
  "DELETE /v3/droplets/:guid": accepted,
  "POST /v3/droplets/:guid/upload": [[202, content.droplet]],
  "GET /v3/droplets/:guid/download": ok("gzip"),
  "GET /v3/buildpacks": ok(page("Buildpack", content.buildpack)),
  "POST /v3/buildpacks": created(content.buildpack),
  "GET /v3/buildpacks/:guid": ok(content.buildpack),
  "PATCH /v3/buildpacks/:guid": ok(content.buildpack),
  "DELETE /v3/buildpacks/:guid": accepted,
  "POST /v3/buildpacks/:guid/upload": [[202, content.buildpack]],
  "GET /v3/stacks": ok(page("Stack", content.stack)),
  "POST /v3/stacks": created(content.stack),
  "GET /v3/stacks/:guid": ok(content.stack),
  "PATCH /v3/stacks/:guid": ok(content.stack),
  "DELETE /v3/stacks/:guid": deleted,
  "GET /v3/stacks/:guid/apps": ok(appPage),
  "POST /v3/resource_matches": created(content.resourceMatches),
};

const placeResponses: Record<string, readonly Response[]> = {
  "GET /v3/organizations": ok(organizationPage),
  "POST /v3/organizations": created(organization),
  "GET /v3/organizations/:guid": ok(organization),
  "PATCH /v3/organizations/:guid": ok(organization),
  "DELETE /v3/organizations/:guid": accepted,
  "GET /v3/organizations/:guid/domains": ok(domainPage),
  "GET /v3/organizations/:guid/domains/default": ok(routes.domain),
  "GET /v3/organizations/:guid/users": ok(userPage),
  "GET /v3/organizations/:guid/usage_summary": ok(places.usageSummary("OrganizationUsageSummary", "organization")),
  "GET /v3/organizations/:guid/relationships/default_isolation_segment": ok(isolationSegmentChoice),
  "PATCH /v3/organizations/:guid/relationships/default_isolation_segment": ok(isolationSegmentChoice),
  "GET /v3/spaces": ok(page("Space", space, { organizations: z.array(organization) })),
  "POST /v3/spaces": created(space),
  "GET /v3/spaces/:guid": ok(including("Space", space, { organizations: z.array(organization) })),
  "PATCH /v3/spaces/:guid": ok(space),
  "DELETE /v3/spaces/:guid": accepted,
  "DELETE /v3/spaces/:guid/routes": accepted,
  "GET /v3/spaces/:guid/policy_violations": ok(apps.policyViolations),
  "GET /v3/spaces/:guid/features": ok(apps.spaceFeatures),
  "GET /v3/spaces/:guid/features/:name": ok(apps.feature),
  "PATCH /v3/spaces/:guid/features/:name": ok(apps.feature),
  "GET /v3/spaces/:guid/users": ok(userPage),
  "GET /v3/spaces/:guid/usage_summary": ok(places.usageSummary("SpaceUsageSummary", "space")),
  "GET /v3/spaces/:guid/running_security_groups": ok(securityGroupPage),
  "GET /v3/spaces/:guid/staging_security_groups": ok(securityGroupPage),
  "GET /v3/spaces/:guid/relationships/isolation_segment": ok(isolationSegmentChoice),
  "PATCH /v3/spaces/:guid/relationships/isolation_segment": ok(isolationSegmentChoice),
  "GET /v3/organization_quotas": ok(page("OrganizationQuota", places.organizationQuota)),
  "POST /v3/organization_quotas": created(places.organizationQuota),
  "GET /v3/organization_quotas/:guid": ok(places.organizationQuota),
  "PATCH /v3/organization_quotas/:guid": ok(places.organizationQuota),
  "DELETE /v3/organization_quotas/:guid": accepted,
  "POST /v3/organization_quotas/:guid/relationships/organizations": ok(organizationsRelationship),
  "GET /v3/space_quotas": ok(page("SpaceQuota", places.spaceQuota)),
  "POST /v3/space_quotas": created(places.spaceQuota),
  "GET /v3/space_quotas/:guid": ok(places.spaceQuota),
  "PATCH /v3/space_quotas/:guid": ok(places.spaceQuota),
  "DELETE /v3/space_quotas/:guid": accepted,
  "POST /v3/space_quotas/:guid/relationships/spaces": ok(spacesRelationship),
  "DELETE /v3/space_quotas/:guid/relationships/spaces/:space_guid": deleted,
  "GET /v3/roles": ok(page("Role", places.role, roleIncludes)),
  "POST /v3/roles": created(places.role),
  "GET /v3/roles/:guid": ok(including("Role", places.role, roleIncludes)),
  "DELETE /v3/roles/:guid": accepted,
  "GET /v3/users": ok(userPage),
  "POST /v3/users": created(places.user),
  "GET /v3/users/:guid": ok(places.user),
  "PATCH /v3/users/:guid": ok(places.user),
  "DELETE /v3/users/:guid": accepted,
  "GET /v3/isolation_segments": ok(page("IsolationSegment", places.isolationSegment)),
  "POST /v3/isolation_segments": created(places.isolationSegment),
  "GET /v3/isolation_segments/:guid": ok(places.isolationSegment),
  "PATCH /v3/isolation_segments/:guid": ok(places.isolationSegment),
  "DELETE /v3/isolation_segments/:guid": deleted,
  "GET /v3/isolation_segments/:guid/organizations": ok(organizationPage),
  "GET /v3/isolation_segments/:guid/relationships/organizations": ok(organizationsRelationship),
  "POST /v3/isolation_segments/:guid/relationships/organizations": ok(organizationsRelationship),
  "DELETE /v3/isolation_segments/:guid/relationships/organizations/:org_guid": deleted,
  "GET /v3/isolation_segments/:guid/relationships/spaces": ok(spacesRelationship),
  "GET /v3/security_groups": ok(securityGroupPage),
  "POST /v3/security_groups": created(places.securityGroup),
  "GET /v3/security_groups/:guid": ok(places.securityGroup),
  "PATCH /v3/security_groups/:guid": ok(places.securityGroup),
  "DELETE /v3/security_groups/:guid": accepted,
  "POST /v3/security_groups/:guid/relationships/running_spaces": ok(spacesRelationship),
  "POST /v3/security_groups/:guid/relationships/staging_spaces": ok(spacesRelationship),
  "DELETE /v3/security_groups/:guid/relationships/running_spaces/:space_guid": deleted,
  "DELETE /v3/security_groups/:guid/relationships/staging_spaces/:space_guid": deleted,
};

const routeResponses: Record<string, readonly Response[]> = {
  "GET /v3/domains": ok(domainPage),
  "POST /v3/domains": created(routes.domain),
  "GET /v3/domains/:guid": ok(routes.domain),
  "PATCH /v3/domains/:guid": ok(routes.domain),
  "DELETE /v3/domains/:guid": accepted,
  "GET /v3/domains/:guid/route_reservations": ok(routes.routeReservation),
  "POST /v3/domains/:guid/relationships/shared_organizations": ok(toMany),
  "DELETE /v3/domains/:guid/relationships/shared_organizations/:org": deleted,
  "GET /v3/route_policies": ok(page("RoutePolicy", routes.routePolicy, routePolicyIncludes)),
  "POST /v3/route_policies": created(routes.routePolicy),
  "GET /v3/route_policies/:guid": ok(including("RoutePolicy", routes.routePolicy, routePolicyIncludes)),
  "PATCH /v3/route_policies/:guid": ok(routes.routePolicy),
  "DELETE /v3/route_policies/:guid": deleted,
  "GET /v3/routes": ok(routePage),
  "GET /v3/apps/:guid/routes": ok(routePage),
  "POST /v3/routes": created(routes.route),
  "GET /v3/routes/:guid": ok(including("Route", routes.route, routeIncludes)),
  "PATCH /v3/routes/:guid": ok(routes.route),
  "DELETE /v3/routes/:guid": accepted,
  "GET /v3/routes/:guid/relationships/shared_spaces": ok(spacesRelationship),
  "POST /v3/routes/:guid/relationships/shared_spaces": ok(spacesRelationship),
  "DELETE /v3/routes/:guid/relationships/shared_spaces/:space": deleted,
  "PATCH /v3/routes/:guid/relationships/space": ok(routes.transferred),
  "GET /v3/routes/:guid/destinations": ok(routes.destinations),
  "POST /v3/routes/:guid/destinations": ok(routes.destinations),
  "PATCH /v3/routes/:guid/destinations": ok(routes.destinations),
  "PATCH /v3/routes/:guid/destinations/:destination": ok(routes.oneDestination),
  "DELETE /v3/routes/:guid/destinations/:destination": deleted,
};

const logCacheInfo = named("LogCacheInfo", z.strictObject({ version: text, vm_uptime: text }));
const envelopes = named("Envelopes", z.strictObject({ envelopes: z.strictObject({ batch: z.array(anyObject) }) }));
const purged = named("Purged", z.strictObject({}));
const sourceMeta = z.strictObject({ count: text, expired: text, oldestTimestamp: text, newestTimestamp: text });
const logCacheMeta = named("LogCacheMeta", z.strictObject({ meta: z.record(text, sourceMeta) }));

const platformResponses: Record<string, readonly Response[]> = {
  "GET /": ok(platform.globalRoot),
  "GET /v3": ok(platform.v3Root),
  "GET /v3/info": ok(platform.info),
  "GET /v2/info": ok(platform.v2Info),
  "GET /v3/info/usage_summary": ok(places.usageSummary("PlatformUsageSummary")),
  "GET /healthz": ok("text"),
  "GET /whoami": ok(platform.whoami),
  "GET /v3/openapi.json": ok(anyObject),
  "GET /v3/jobs/:guid": ok(platform.job),
  "GET /api/v1/info": ok(logCacheInfo),
  "GET /api/v1/read/:source": ok(envelopes),
  "GET /api/v1/meta": ok(logCacheMeta),
  // PromQL is refused by every answer.
  "GET /api/v1/query": [],
  "GET /api/v1/query_range": [],
  "POST /oauth/token": ok(login.tokens),
  "GET /oauth/authorize": [[302, "empty"]],
  "GET /login": ok(login.prompts),
  "GET /info": ok(login.prompts),
  "GET /token_keys": ok(login.keys),
  "GET /token_key": ok(login.key),
  "GET /.well-known/openid-configuration": ok(anyObject),
  "GET /oauth/token/.well-known/openid-configuration": ok(anyObject),
  "POST /introspect": ok(login.introspection),
  "POST /check_token": ok(login.claims),
  "GET /userinfo": ok(login.userInfo),
  "DELETE /oauth/token/revoke/:id": ok(anyObject),
  // Refused by every answer: there is no UAA.
  "GET /Users": [],
  "POST /Users": [],
  "DELETE /Users/:user": [],
  "PUT /Users/:user/password": [],
  "PUT /Users/password": [],
  "GET /oauth/clients/:client": [],
  "GET /routing/v1/router_groups": ok(z.array(anyObject)),
  "GET /networking/v1/external/policies": ok(places.networkPolicies),
  "POST /networking/v1/external/policies": ok(z.strictObject({})),
  "POST /networking/v1/external/policies/delete": ok(z.strictObject({})),
  "POST /v3/admin/actions/clear_buildpack_cache": accepted,
  "GET /v3/feature_flags": ok(page("FeatureFlag", platform.featureFlag)),
  "GET /v3/feature_flags/:name": ok(platform.featureFlag),
  "PATCH /v3/feature_flags/:name": ok(platform.featureFlag),
  "GET /v3/environment_variable_groups/:name": ok(platform.environmentGroup),
  "PATCH /v3/environment_variable_groups/:name": ok(platform.environmentGroup),
  "GET /v3/audit_events": ok(page("AuditEvent", platform.auditEvent)),
  "GET /v3/audit_events/:guid": ok(platform.auditEvent),
  "GET /v3/app_usage_events": ok(page("AppUsageEvent", platform.appUsageEvent)),
  "GET /v3/app_usage_events/:guid": ok(platform.appUsageEvent),
  "POST /v3/app_usage_events/actions/destructively_purge_all_and_reseed": ok(purged),
  "GET /v3/service_usage_events": ok(page("ServiceUsageEvent", platform.serviceUsageEvent)),
  "GET /v3/service_usage_events/:guid": ok(platform.serviceUsageEvent),
  "POST /v3/service_usage_events/actions/destructively_purge_all_and_reseed": ok(purged),
  "GET /v3/service_instances": ok(page("ServiceInstance", services.serviceInstance, services.instanceIncludes)),
  "POST /v3/service_instances": [...created(services.serviceInstance), ...accepted],
  "GET /v3/service_instances/:guid": ok(
    including("ServiceInstance", services.serviceInstance, services.instanceIncludes),
  ),
  "PATCH /v3/service_instances/:guid": [...ok(services.serviceInstance), ...accepted],
  "DELETE /v3/service_instances/:guid": [...deleted, ...accepted],
  "GET /v3/service_instances/:guid/relationships/shared_spaces": ok(services.sharedSpaces),
  "POST /v3/service_instances/:guid/relationships/shared_spaces": ok(services.sharedSpaces),
  "DELETE /v3/service_instances/:guid/relationships/shared_spaces/:space": deleted,
  "GET /v3/service_instances/:guid/relationships/shared_spaces/usage_summary": ok(services.sharedUsage),
  "GET /v3/service_instances/:guid/credentials": ok(anyObject),
  "GET /v3/service_instances/:guid/parameters": ok(anyObject),
  "GET /v3/service_instances/:guid/permissions": ok(services.instancePermissions),
  "GET /v3/service_credential_bindings": ok(page("ServiceCredentialBinding", services.serviceBinding, bindingIncludes)),
  "POST /v3/service_credential_bindings": [...created(services.serviceBinding), ...accepted],
  "GET /v3/service_credential_bindings/:guid": ok(
    including("ServiceCredentialBinding", services.serviceBinding, bindingIncludes),
  ),
  "PATCH /v3/service_credential_bindings/:guid": ok(services.serviceBinding),
  "DELETE /v3/service_credential_bindings/:guid": [...deleted, ...accepted],
  "GET /v3/service_credential_bindings/:guid/details": ok(services.bindingDetails),
  "GET /v3/service_credential_bindings/:guid/parameters": ok(anyObject),
  "GET /v3/service_brokers": ok(page("ServiceBroker", catalog.serviceBroker)),
  "POST /v3/service_brokers": accepted,
  "GET /v3/service_brokers/:guid": ok(catalog.serviceBroker),
  "PATCH /v3/service_brokers/:guid": [...ok(catalog.serviceBroker), ...accepted],
  "DELETE /v3/service_brokers/:guid": accepted,
  "GET /v3/service_offerings": ok(page("ServiceOffering", catalog.serviceOffering, catalog.offeringIncludes)),
  "GET /v3/service_offerings/:guid": ok(
    including("ServiceOffering", catalog.serviceOffering, catalog.offeringIncludes),
  ),
  "PATCH /v3/service_offerings/:guid": ok(catalog.serviceOffering),
  "DELETE /v3/service_offerings/:guid": deleted,
  "GET /v3/service_plans": ok(page("ServicePlan", catalog.servicePlan, planIncludes)),
  "GET /v3/service_plans/:guid": ok(including("ServicePlan", catalog.servicePlan, planIncludes)),
  "PATCH /v3/service_plans/:guid": ok(catalog.servicePlan),
  "DELETE /v3/service_plans/:guid": deleted,
  "GET /v3/service_plans/:guid/visibility": ok(catalog.planVisibility),
  "PATCH /v3/service_plans/:guid/visibility": ok(catalog.planVisibility),
  "POST /v3/service_plans/:guid/visibility": ok(catalog.planVisibility),
  "DELETE /v3/service_plans/:guid/visibility/:org_guid": deleted,
  "GET /v3/service_route_bindings": ok(page("ServiceRouteBinding", services.routeBinding, routeBindingIncludes)),
  "POST /v3/service_route_bindings": [...created(services.routeBinding), ...accepted],
  "GET /v3/service_route_bindings/:guid": ok(
    including("ServiceRouteBinding", services.routeBinding, routeBindingIncludes),
  ),
  "PATCH /v3/service_route_bindings/:guid": ok(services.routeBinding),
  "DELETE /v3/service_route_bindings/:guid": [...deleted, ...accepted],
  "GET /v3/service_route_bindings/:guid/parameters": ok(anyObject),
};

/** By method and path, as in the endpoint table. */
const responses: Readonly<Record<string, readonly Response[]>> = {
  ...appResponses,
  ...contentResponses,
  ...placeResponses,
  ...routeResponses,
  ...platformResponses,
};

/** Successful responses of an endpoint; undefined when the table does not know it. */
export function responsesOf({ method, path }: { method: string; path: string }): readonly Response[] | undefined {
  return responses[`${method} ${path}`];
}
