// Endpoints of OrgQuota: `/v3/organization_quotas`, read-only except for applying a quota to orgs.
import { sortKeyOfName } from "../../crds/object-names.ts";
import { Org } from "../../crds/org/org.ts";
import { OrgQuota } from "../../crds/org-quota/org-quota.ts";
import { endpoint, ok, type Endpoint } from "../http/endpoint.ts";
import { unprocessable } from "../http/errors.ts";
import { listObjects, isOneOf } from "../cache/list-objects.ts";
import { presentPage } from "../http/page.ts";
import { presentIdentity, link, toManyRelationship } from "../http/presentation.ts";
import { toManySchema } from "../http/shared-schemas.ts";
import { csv, listQuery } from "../http/query.ts";
import { quotaGUIDOf } from "../cf/org/org-quota.ts";
import type { Session } from "../access/session.ts";

const quotaListQuery = listQuery(
  { names: csv.optional(), organization_guids: csv.optional() },
  { orders: ["name"], labels: false },
);

/** GUIDs of the orgs under a quota that the caller sees. */
function listOrgsWithQuota(session: Session, quota: OrgQuota): string[] {
  const guid = session.cache.guid(OrgQuota, quota);
  return session
    .list(Org)
    .filter((org) => quotaGUIDOf(session.cache, org) === guid)
    .map((org) => session.cache.guid(Org, org));
}

function presentQuota(session: Session, quota: OrgQuota, base: string): object {
  const at = presentIdentity(session.cache, OrgQuota, quota);
  const { spec } = quota;
  const limit = (value: number | undefined): number | null => value ?? null;
  return {
    ...at,
    name: spec.name,
    apps: {
      total_memory_in_mb: limit(spec.totalMemoryMB),
      per_process_memory_in_mb: limit(spec.instanceMemoryMB),
      total_instances: limit(spec.totalInstances),
      per_app_tasks: limit(spec.totalAppTasks),
      log_rate_limit_in_bytes_per_second: limit(spec.logRateLimitBytesPerSecond),
    },
    services: {
      paid_services_allowed: spec.paidServices,
      total_service_instances: limit(spec.totalServiceInstances),
      total_service_keys: limit(spec.totalServiceKeys),
    },
    routes: { total_routes: limit(spec.totalRoutes), total_reserved_ports: limit(spec.totalReservedPorts) },
    domains: { total_domains: limit(spec.totalDomains) },
    relationships: { organizations: toManyRelationship(listOrgsWithQuota(session, quota)) },
    links: { self: link(`${base}/v3/organization_quotas/${at.guid}`) },
  };
}

/** Applies a quota to orgs by setting it in each Org. */
const apply = endpoint({
  method: "POST",
  path: "/v3/organization_quotas/:guid/relationships/organizations",
  permission: [
    { verb: "patch", on: Org },
    { verb: "update", on: Org, subresource: "limits" },
  ],
  body: toManySchema,
  summary: "Apply a quota to organizations",
  handler: async ({ session, params, body, base }) => {
    const quota = session.get(OrgQuota, params.guid);
    const orgs = body.data.map(({ guid }) => session.find(Org, guid));
    // Authorized first, so that a caller without the permission learns nothing about orgs.
    for (const org of orgs)
      session.authorize({ verb: "update", on: Org, subresource: "limits", ...(org && { name: org.metadata.name }) });
    const missing = body.data.filter((_one, at) => !orgs[at]).map(({ guid }) => `"${guid}"`);
    if (missing.length > 0)
      throw unprocessable(
        `Organizations with guids [${missing.join(", ")}] do not exist, or you do not have access to them.`,
      );
    for (const org of orgs)
      if (org)
        await session.patch(Org, org, { type: "merge", body: { spec: { quotaRef: { name: quota.metadata.name } } } });
    return ok({
      ...toManyRelationship(listOrgsWithQuota(session, quota)),
      links: { self: link(`${base}/v3/organization_quotas/${params.guid}/relationships/organizations`) },
    });
  },
});

export const orgQuotaEndpoints: readonly Endpoint[] = [
  endpoint({
    method: "GET",
    path: "/v3/organization_quotas",
    permission: "authenticated",
    lists: [OrgQuota, Org],
    query: quotaListQuery,
    summary: "List organization quotas",
    handler: ({ session, query, base, url }) => {
      const found = listObjects(session, OrgQuota, query, {
        url,
        filter: (quota) =>
          isOneOf(query.names, quota.spec.name) &&
          (!query.organization_guids ||
            listOrgsWithQuota(session, quota).some((guid) => query.organization_guids?.includes(guid))),
        sortKeys: { name: sortKeyOfName },
        dependsOn: [Org],
      });
      return ok(presentPage(found, { base, url, query }, (quota) => presentQuota(session, quota, base)));
    },
  }),
  endpoint({
    method: "GET",
    path: "/v3/organization_quotas/:guid",
    permission: { verb: "get", on: OrgQuota },
    summary: "Get an organization quota",
    handler: ({ session, params, base }) => ok(presentQuota(session, session.get(OrgQuota, params.guid), base)),
  }),
  apply,
];
