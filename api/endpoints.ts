// The endpoint table: every row of every resource.
import { adminEndpoints } from "./admin/admin.ts";
import { auditEventEndpoints } from "./audit-event/audit-event.ts";
import { buildpackEndpoints } from "./buildpack/buildpack.ts";
import { deploymentEndpoints } from "./deployment/deployment.ts";
import { domainEndpoints } from "./domain/domain.ts";
import { environmentGroupEndpoints } from "./environment-group/environment-group.ts";
import { featureFlagEndpoints } from "./feature-flag/feature-flag.ts";
import { isolationSegmentEndpoints } from "./isolation-segment/isolation-segment.ts";
import { orgQuotaEndpoints } from "./org-quota/org-quota.ts";
import { revisionEndpoints } from "./revision/revision.ts";
import { roleEndpoints } from "./role/role.ts";
import { routeEndpoints } from "./route/route.ts";
import { routePolicyEndpoints } from "./route-policy/route-policy.ts";
import { securityGroupEndpoints } from "./security-group/security-group.ts";
import { serviceBindingEndpoints } from "./service-binding/service-binding.ts";
import { serviceBrokerEndpoints } from "./service-broker/service-broker.ts";
import { serviceInstanceEndpoints } from "./service-instance/service-instance.ts";
import { serviceOfferingEndpoints } from "./service-offering/service-offering.ts";
import { servicePlanEndpoints } from "./service-plan/service-plan.ts";
import { spaceQuotaEndpoints } from "./space-quota/space-quota.ts";
import { usageSummaryEndpoints } from "./usage-summary/usage-summary.ts";
import { sidecarEndpoints } from "./sidecar/sidecar.ts";
import { stackEndpoints } from "./stack/stack.ts";
import { taskEndpoints } from "./task/task.ts";
import { serviceRouteBindingEndpoints } from "./service-route-binding/service-route-binding.ts";
import { usageEventEndpoints } from "./usage-event/usage-event.ts";
import { userEndpoints } from "./user/user.ts";
import { appPolicyEndpoints } from "./app-policy/app-policy.ts";
import { appEndpoints } from "./app/app.ts";
import { buildEndpoints } from "./build/build.ts";
import { dropletEndpoints } from "./droplet/droplet.ts";
import { manifestEndpoints } from "./manifest/manifest.ts";
import { packageEndpoints } from "./package/package.ts";
import { processEndpoints } from "./process/process.ts";
import { resourceMatchEndpoints } from "./resource-match/resource-match.ts";
import type { Endpoint } from "./routing/endpoint.ts";
import { jobEndpoints } from "./jobs/jobs.ts";
import { logCacheEndpoints } from "./log-cache/log-cache.ts";
import { loginEndpoints } from "./login/login.ts";
import { openApiEndpoint } from "./openapi/document.ts";
import { orgEndpoints } from "./org/org.ts";
import { discoveryEndpoints } from "./discovery/discovery.ts";
import type { Services } from "./routing/services.ts";
import { spaceEndpoints } from "./space/space.ts";
import { whoamiEndpoints } from "./whoami/whoami.ts";

const serviceEndpoints = (services: Services): readonly Endpoint[] => [
  ...serviceBrokerEndpoints,
  ...serviceOfferingEndpoints(services),
  ...servicePlanEndpoints(services),
  ...serviceInstanceEndpoints,
  ...serviceBindingEndpoints,
  ...serviceRouteBindingEndpoints,
];

const networkEndpoints: readonly Endpoint[] = [
  ...domainEndpoints,
  ...routeEndpoints,
  ...routePolicyEndpoints,
  ...appPolicyEndpoints,
];

export function createEndpoints(services: Services): readonly Endpoint[] {
  const rows = [
    ...discoveryEndpoints(services),
    ...loginEndpoints(services),
    ...whoamiEndpoints,
    ...jobEndpoints,
    ...logCacheEndpoints(services),
    ...orgEndpoints,
    ...spaceEndpoints,
    ...roleEndpoints,
    ...userEndpoints,
    ...networkEndpoints,
    ...adminEndpoints,
    ...buildpackEndpoints(services),
    ...stackEndpoints,
    ...orgQuotaEndpoints,
    ...spaceQuotaEndpoints,
    ...securityGroupEndpoints,
    ...isolationSegmentEndpoints,
    ...environmentGroupEndpoints,
    ...usageSummaryEndpoints,
    ...featureFlagEndpoints,
    ...auditEventEndpoints,
    ...usageEventEndpoints,
    ...appEndpoints(services),
    ...processEndpoints(services),
    ...taskEndpoints,
    ...sidecarEndpoints,
    ...packageEndpoints(services),
    ...buildEndpoints,
    ...dropletEndpoints(services),
    ...deploymentEndpoints,
    ...revisionEndpoints,
    ...manifestEndpoints,
    ...resourceMatchEndpoints(services),
    ...serviceEndpoints(services),
  ];
  return [...rows, openApiEndpoint(rows)];
}
