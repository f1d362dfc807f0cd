// Endpoints of SpaceQuota: `/v3/space_quotas`.
import { foldName, sortKeyOfName } from "../../crds/object-names.ts";
import { Org } from "../../crds/org/org.ts";
import type { OrgQuota } from "../../crds/org-quota/org-quota.ts";
import { SpaceQuota } from "../../crds/space-quota/space-quota.ts";
import { Space } from "../../crds/space/space.ts";
import type { Session } from "../access/session.ts";
import { requireNotSuspended } from "../access/suspension.ts";
import { listObjects, isOneOf } from "../lists/list-objects.ts";
import { orgNamespaces } from "../cf/org/org-and-space-namespaces.ts";
import { quotaOf } from "../cf/org/org-quota.ts";
import { requireFittingPorts } from "../cf/quota/fitting-ports.ts";
import { patchQuota } from "../cf/quota/patch-quota.ts";
import { toNewLimits } from "../cf/quota/quota-body.ts";
import { findUnlimitedLogs, listSpacesUnder, requireLimitedLogs } from "../cf/quota/under-quota.ts";
import { accepted, created, endpoint, noContent, ok, type Endpoint } from "../routing/endpoint.ts";
import { unprocessable } from "../http/errors.ts";
import { presentPage } from "../lists/page.ts";
import { link, toManyRelationship } from "../http/presentation.ts";
import { addToManySchema } from "../http/shared-schemas.ts";
import { newDeletionJob } from "../jobs/jobs.ts";
import { createSpaceQuotaBody, spaceQuotaListQuery, updateSpaceQuotaBody } from "./payload.ts";
import { listSpacesWithQuota, presentSpaceQuota } from "./present.ts";
import { toNamedMetadata } from "../cf/free-object-name.ts";

const path = "/v3/space_quotas/:guid";
const spaces = `${path}/relationships/spaces` as const;
const choose = { verb: "update", on: Space, subresource: "limits" } as const;

const taken = (name: string | undefined) => () => unprocessable(`Space Quota '${name ?? ""}' already exists.`);

/** @throws CFError 422 */
function namespaceOfOrg(session: Session, guid: string): string {
  const namespace = session.find(Org, guid)?.status?.namespace;
  if (namespace === undefined)
    throw unprocessable(`Organization with guid '${guid}' does not exist, or you do not have access to it.`);
  return namespace;
}

function limitsOfOrg({ cache }: Session, namespace: string | undefined): Partial<OrgQuota["spec"]> {
  const org = cache.orgOf(namespace);
  return (org && quotaOf(cache, org)?.spec) ?? {};
}

const create = endpoint({
  method: "POST",
  path: "/v3/space_quotas",
  permission: { verb: "create", on: SpaceQuota },
  asks: [{ verb: "patch", on: Space }],
  body: createSpaceQuotaBody,
  summary: "Create a space quota",
  handler: async ({ session, body, base }) => {
    const namespace = namespaceOfOrg(session, body.relationships.organization.data.guid);
    session.authorize({ verb: "create", on: SpaceQuota, namespace });
    requireNotSuspended(session, namespace);
    const members = spacesOfOrg(session, namespace, body.relationships.spaces?.data.map(({ guid }) => guid) ?? []);
    const metadata = toNamedMetadata(session.cache, SpaceQuota, { namespace, name: body.name, fallback: "quota" });
    const limits = toNewLimits(body);
    requireFittingPorts(limits, limitsOfOrg(session, namespace));
    const quota = await session.create(
      SpaceQuota,
      { metadata, spec: { name: body.name, ...limits } },
      taken(body.name),
    );
    await applyTo(session, quota, members);
    return created(presentSpaceQuota(session, quota, base));
  },
});

/** @throws CFError 422 that names the GUIDs of no spaces of this org */
function spacesOfOrg(session: Session, namespace: string, guids: readonly string[]): Space[] {
  const found = guids.map((guid) => session.find(Space, guid));
  const missing = guids.filter((_guid, at) => found[at]?.metadata.namespace !== namespace);
  if (missing.length > 0)
    throw unprocessable(
      `Spaces with guids ${toList(missing)} do not exist within the organization specified, or you do not have access to them.`,
    );
  return found.flatMap((space) => space ?? []);
}

function toList(guids: readonly string[]): string {
  return `[${guids.map((guid) => `"${guid}"`).join(", ")}]`;
}

async function applyTo(session: Session, quota: SpaceQuota, members: readonly Space[]): Promise<void> {
  for (const space of members)
    await session.patch(Space, space, { type: "merge", body: { spec: { quotaRef: { name: quota.metadata.name } } } });
}

const update = endpoint({
  method: "PATCH",
  path,
  permission: { verb: "patch", on: SpaceQuota },
  body: updateSpaceQuotaBody,
  summary: "Update a space quota",
  handler: async ({ session, params, body, base }) => {
    const quota = session.get(SpaceQuota, params.guid);
    requireNotSuspended(session, quota.metadata.namespace);
    const { log_rate_limit_in_bytes_per_second: logRate } = body.apps ?? {};
    if (typeof logRate === "number") requireLimitedLogs(session.cache, listSpacesUnder(session.cache, quota), "space");
    const { domains: _domains, ...limits } = body;
    const org = limitsOfOrg(session, quota.metadata.namespace);
    const after = await patchQuota(session, SpaceQuota, quota, { body: limits, taken: taken(body.name), org });
    return ok(presentSpaceQuota(session, after, base));
  },
});

const remove = endpoint({
  method: "DELETE",
  path,
  permission: { verb: "delete", on: SpaceQuota },
  summary: "Delete a space quota",
  handler: async ({ session, params }) => {
    const quota = session.get(SpaceQuota, params.guid);
    requireNotSuspended(session, quota.metadata.namespace);
    if (listSpacesUnder(session.cache, quota).length > 0)
      throw unprocessable(
        "This quota is applied to one or more spaces. Remove this quota from all spaces before deleting.",
      );
    await session.delete(SpaceQuota, quota);
    return accepted(await newDeletionJob(session, SpaceQuota, params.guid));
  },
});

const apply = endpoint({
  method: "POST",
  path: spaces,
  permission: choose,
  asks: [{ verb: "patch", on: Space }],
  body: addToManySchema,
  summary: "Apply a quota to spaces",
  handler: async ({ session, params, body, base }) => {
    const quota = session.get(SpaceQuota, params.guid);
    const { namespace = "" } = quota.metadata;
    session.authorize({ ...choose, namespace });
    requireNotSuspended(session, namespace);
    const members = appliedSpaces(
      session,
      quota,
      body.data.map(({ guid }) => guid),
    );
    await applyTo(session, quota, members);
    return ok({
      ...toManyRelationship(listSpacesWithQuota(session, quota)),
      links: { self: link(`${base}/v3/space_quotas/${params.guid}/relationships/spaces`) },
    });
  },
});

/** @throws CFError 422 */
function appliedSpaces(session: Session, quota: SpaceQuota, guids: readonly string[]): Space[] {
  const found = guids.map((guid) => session.find(Space, guid));
  const missing = guids.filter((_guid, at) => !found[at]);
  if (missing.length > 0)
    throw unprocessable(`Spaces with guids ${toList(missing)} do not exist, or you do not have access to them.`);
  const members = found.flatMap((space) => space ?? []);
  if (members.some((space) => space.metadata.namespace !== quota.metadata.namespace))
    throw unprocessable("Space quotas cannot be applied outside of their owning organization.");
  const isLimited = quota.spec.logRateLimitBytesPerSecond !== undefined;
  if (isLimited && findUnlimitedLogs(session.cache, members, "space") !== undefined)
    throw unprocessable(
      "Current usage exceeds new quota values. The space(s) being assigned this quota contain apps running with an unlimited log rate limit.",
    );
  return members;
}

const unapply = endpoint({
  method: "DELETE",
  path: `${spaces}/:space_guid`,
  permission: choose,
  asks: [{ verb: "patch", on: Space }],
  summary: "Remove a quota from a space",
  handler: async ({ session, params }) => {
    const quota = session.get(SpaceQuota, params.guid);
    const { namespace = "", name } = quota.metadata;
    session.authorize({ ...choose, namespace });
    requireNotSuspended(session, namespace);
    const space = session.find(Space, params.space_guid);
    if (space?.metadata.namespace !== namespace || space.spec.quotaRef?.name !== name)
      throw unprocessable(
        `Unable to remove quota from space with guid '${params.space_guid}'. Ensure the space quota is applied to this space.`,
      );
    await session.patch(Space, space, { type: "merge", body: { spec: { quotaRef: null } } });
    return noContent();
  },
});

export const spaceQuotaEndpoints: readonly Endpoint[] = [
  endpoint({
    method: "GET",
    path: "/v3/space_quotas",
    permission: "authenticated",
    lists: [SpaceQuota, Space],
    query: spaceQuotaListQuery,
    badQueryError: "UnprocessableEntity",
    summary: "List space quotas",
    handler: ({ session, query, base, url }) => {
      const names = query.names?.map(foldName);
      const namespaces = orgNamespaces(session, query.organization_guids);
      const found = listObjects(session, SpaceQuota, query, {
        url,
        ...(namespaces && { scope: { namespaces } }),
        filter: (quota) =>
          isOneOf(names, foldName(quota.spec.name)) &&
          isOneOf(namespaces, quota.metadata.namespace ?? "") &&
          (!query.space_guids || listSpacesWithQuota(session, quota).some((guid) => query.space_guids?.includes(guid))),
        sortKeys: { name: sortKeyOfName },
        dependsOn: [Space, Org],
      });
      return ok(presentPage(found, { base, url, query }, (quota) => presentSpaceQuota(session, quota, base)));
    },
  }),
  endpoint({
    method: "GET",
    path,
    permission: { verb: "get", on: SpaceQuota },
    summary: "Get a space quota",
    handler: ({ session, params, base }) => ok(presentSpaceQuota(session, session.get(SpaceQuota, params.guid), base)),
  }),
  create,
  update,
  remove,
  apply,
  unapply,
];
