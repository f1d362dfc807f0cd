// Endpoints of OrgQuota: `/v3/organization_quotas`.
import { SYSTEM_NAMESPACE } from "../../crds/groups.ts";
import { foldName, sortKeyOfName } from "../../crds/object-names.ts";
import { Org } from "../../crds/org/org.ts";
import { OrgQuota } from "../../crds/org-quota/org-quota.ts";
import { accepted, created, endpoint, ok, type Endpoint } from "../routing/endpoint.ts";
import { unprocessable } from "../http/errors.ts";
import { newDeletionJob } from "../jobs/jobs.ts";
import { listObjects, isOneOf } from "../lists/list-objects.ts";
import { requireFittingPorts } from "../cf/quota/fitting-ports.ts";
import { patchQuota } from "../cf/quota/patch-quota.ts";
import { toNewLimits } from "../cf/quota/quota-body.ts";
import { findUnlimitedLogs, listOrgsUnder, requireLimitedLogs } from "../cf/quota/under-quota.ts";
import { presentPage } from "../lists/page.ts";
import { toManyRelationship, link } from "../http/presentation.ts";
import { addToManySchema } from "../http/shared-schemas.ts";
import type { Session } from "../access/session.ts";
import { createQuotaBody, quotaListQuery, updateQuotaBody } from "./payload.ts";
import { listOrgsWithQuota, presentQuota } from "./present.ts";
import { toNamedMetadata } from "../cf/free-object-name.ts";

const path = "/v3/organization_quotas/:guid";

/** Names compare as in CF. */
const taken = (name: string | undefined) => () => unprocessable(`Organization Quota '${name ?? ""}' already exists.`);

/** The orgs of these GUIDs. @throws CFError 422 that names the missing ones, 403 */
function resolveOrgs(session: Session, guids: readonly string[], missingText: (list: string) => string): Org[] {
  const orgs = guids.map((guid) => session.find(Org, guid));
  // Authorized first, so that a caller without the permission learns nothing about orgs.
  for (const org of orgs)
    session.authorize({ verb: "update", on: Org, subresource: "limits", ...(org && { name: org.metadata.name }) });
  const missing = guids.filter((_guid, at) => !orgs[at]).map((guid) => `"${guid}"`);
  if (missing.length > 0) throw unprocessable(missingText(`[${missing.join(", ")}]`));
  return orgs.flatMap((org) => org ?? []);
}

async function applyTo(session: Session, quota: OrgQuota, orgs: readonly Org[]): Promise<void> {
  for (const org of orgs)
    await session.patch(Org, org, { type: "merge", body: { spec: { quotaRef: { name: quota.metadata.name } } } });
}

const noSuchOrgs = (list: string): string =>
  `Organizations with guids ${list} do not exist, or you do not have access to them.`;

const create = endpoint({
  method: "POST",
  path: "/v3/organization_quotas",
  permission: { verb: "create", on: OrgQuota },
  asks: [
    { verb: "update", on: Org, subresource: "limits" },
    { verb: "patch", on: Org },
  ],
  body: createQuotaBody,
  summary: "Create an organization quota",
  handler: async ({ session, body, base }) => {
    session.authorize({ verb: "create", on: OrgQuota, namespace: SYSTEM_NAMESPACE });
    const guids = body.relationships?.organizations?.data.map(({ guid }) => guid) ?? [];
    const orgs = resolveOrgs(session, guids, noSuchOrgs);
    const wanted = { namespace: SYSTEM_NAMESPACE, name: body.name, fallback: "quota" };
    const metadata = toNamedMetadata(session.cache, OrgQuota, wanted);
    const limits = toNewLimits(body);
    requireFittingPorts(limits);
    const quota = await session.create(OrgQuota, { metadata, spec: { name: body.name, ...limits } }, taken(body.name));
    await applyTo(session, quota, orgs);
    return created(presentQuota(session, quota, base));
  },
});

const update = endpoint({
  method: "PATCH",
  path,
  permission: { verb: "patch", on: OrgQuota },
  body: updateQuotaBody,
  summary: "Update an organization quota",
  handler: async ({ session, params, body, base }) => {
    const quota = session.get(OrgQuota, params.guid);
    const { log_rate_limit_in_bytes_per_second: logRate } = body.apps ?? {};
    if (typeof logRate === "number") requireLimitedLogs(session.cache, listOrgsUnder(session.cache, quota), "org");
    const after = await patchQuota(session, OrgQuota, quota, { body, taken: taken(body.name) });
    return ok(presentQuota(session, after, base));
  },
});

const remove = endpoint({
  method: "DELETE",
  path,
  permission: { verb: "delete", on: OrgQuota },
  summary: "Delete an organization quota",
  handler: async ({ session, params }) => {
    const quota = session.get(OrgQuota, params.guid);
    session.authorize({ verb: "delete", on: OrgQuota, namespace: SYSTEM_NAMESPACE, name: quota.metadata.name });
    if (listOrgsUnder(session.cache, quota).length > 0)
      throw unprocessable(
        "This quota is applied to one or more organizations. Apply different quotas to those organizations before deleting.",
      );
    await session.delete(OrgQuota, quota);
    return accepted(await newDeletionJob(session, OrgQuota, params.guid));
  },
});

/** Applies a quota to orgs by setting it in each Org. */
const apply = endpoint({
  method: "POST",
  path: `${path}/relationships/organizations`,
  permission: [
    { verb: "patch", on: Org },
    { verb: "update", on: Org, subresource: "limits" },
  ],
  body: addToManySchema,
  summary: "Apply a quota to organizations",
  handler: async ({ session, params, body, base }) => {
    const quota = session.get(OrgQuota, params.guid);
    const orgs = resolveOrgs(
      session,
      body.data.map(({ guid }) => guid),
      noSuchOrgs,
    );
    const isLimited = quota.spec.logRateLimitBytesPerSecond !== undefined;
    if (isLimited && findUnlimitedLogs(session.cache, orgs, "org") !== undefined)
      throw unprocessable(
        "Current usage exceeds new quota values. The org(s) being assigned this quota contain apps running with an unlimited log rate limit.",
      );
    await applyTo(session, quota, orgs);
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
      const names = query.names?.map(foldName);
      const found = listObjects(session, OrgQuota, query, {
        url,
        filter: (quota) =>
          isOneOf(names, foldName(quota.spec.name)) &&
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
    path,
    permission: { verb: "get", on: OrgQuota },
    summary: "Get an organization quota",
    handler: ({ session, params, base }) => ok(presentQuota(session, session.get(OrgQuota, params.guid), base)),
  }),
  create,
  update,
  remove,
  apply,
];
