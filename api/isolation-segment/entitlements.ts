// The orgs that may use an isolation segment, and the spaces in it. Each Org lists its segments.
import { IsolationSegment } from "../../crds/isolation-segment/isolation-segment.ts";
import { isSharedSegment } from "../../crds/isolation-segment/shared-segment.ts";
import { displayNameOf } from "../../crds/object-names.ts";
import { Org } from "../../crds/org/org.ts";
import { Space } from "../../crds/space/space.ts";
import type { Session } from "../access/session.ts";
import { getVisibleSegment, isEntitled, listEntitledOrgs, listSpacesIn } from "../cf/org/isolation-segments.ts";
import { endpoint, noContent, ok, type Endpoint } from "../routing/endpoint.ts";
import { notFound, unprocessable } from "../http/errors.ts";
import { link, toManyRelationship } from "../http/presentation.ts";
import { addToManySchema } from "../http/shared-schemas.ts";

const path = "/v3/isolation_segments/:guid/relationships";
const entitle = [
  { verb: "patch", on: Org },
  { verb: "update", on: Org, subresource: "limits" },
] as const;

function presentOrgs(session: Session, segment: IsolationSegment, base: string): object {
  const guid = session.cache.guid(IsolationSegment, segment);
  const orgs = listEntitledOrgs(session, segment).map((org) => session.cache.guid(Org, org));
  return {
    ...toManyRelationship(orgs),
    links: {
      self: link(`${base}/v3/isolation_segments/${guid}/relationships/organizations`),
      related: link(`${base}/v3/isolation_segments/${guid}/organizations`),
    },
  };
}

const assign = endpoint({
  method: "POST",
  path: `${path}/organizations`,
  permission: entitle,
  body: addToManySchema,
  summary: "Entitle organizations to an isolation segment",
  handler: async ({ session, params, body, base }) => {
    const segment = session.get(IsolationSegment, params.guid);
    session.authorize({ verb: "update", on: Org, subresource: "limits" });
    const found = body.data.map(({ guid }) => session.find(Org, guid));
    const missing = body.data.filter((_one, at) => !found[at]).map(({ guid }) => `'${guid}'`);
    if (missing.length > 0)
      throw unprocessable(
        `Unable to entitle organizations [${missing.join(", ")}] for the isolation segment. Ensure the organizations exist.`,
      );
    for (const org of found) if (org) await entitleOrg(session, org, segment);
    return ok(presentOrgs(session, segment, base));
  },
});

/** As in CF, the shared segment becomes the default of an org that has none. */
async function entitleOrg(session: Session, org: Org, segment: IsolationSegment): Promise<void> {
  const { name } = segment.metadata;
  await session.patchWithRetry(Org, org, (current) => {
    const isDefault = isSharedSegment(segment) && current.spec.defaultIsolationSegment === undefined;
    if (isEntitled(current, segment) && !isDefault) return undefined;
    const isolationSegments = [...new Set([...current.spec.isolationSegments, name])];
    return { spec: { isolationSegments, ...(isDefault && { defaultIsolationSegment: name }) } };
  });
}

const revoke = endpoint({
  method: "DELETE",
  path: `${path}/organizations/:org_guid`,
  permission: entitle,
  summary: "Revoke an organization's entitlement to an isolation segment",
  handler: async ({ session, params }) => {
    const segment = session.get(IsolationSegment, params.guid);
    session.authorize({ verb: "update", on: Org, subresource: "limits" });
    const org = session.find(Org, params.org_guid);
    if (!org) throw notFound("Org");
    requireUnused(session, org, segment);
    await session.patchWithRetry(Org, org, (current) =>
      isEntitled(current, segment)
        ? { spec: { isolationSegments: current.spec.isolationSegments.filter((one) => one !== segment.metadata.name) } }
        : undefined,
    );
    return noContent();
  },
});

/** @throws CFError 422 while the org or one of its spaces chose the segment */
function requireUnused({ cache }: Session, org: Org, segment: IsolationSegment): void {
  if (org.spec.defaultIsolationSegment === segment.metadata.name)
    throw unprocessable(
      "Cannot remove the entitlement while this Isolation Segment is assigned as the Default Isolation Segment for the Organization.",
    );
  const spaces = listSpacesIn(cache, segment, org.status?.namespace ?? "");
  if (spaces.length > 0)
    throw unprocessable(
      `Cannot remove the entitlement while this Isolation Segment is assigned to any Spaces. Currently assigned to: ${spaces.map((space) => `'${displayNameOf(space)}'`).join(", ")}`,
    );
}

export const entitlementEndpoints: readonly Endpoint[] = [
  endpoint({
    method: "GET",
    path: `${path}/organizations`,
    permission: { verb: "get", on: IsolationSegment },
    lists: [Org],
    summary: "List the organizations of an isolation segment",
    handler: ({ session, params, base }) => ok(presentOrgs(session, getVisibleSegment(session, params.guid), base)),
  }),
  endpoint({
    method: "GET",
    path: `${path}/spaces`,
    permission: { verb: "get", on: IsolationSegment },
    lists: [Org, Space],
    summary: "List the spaces of an isolation segment",
    handler: ({ session, params, base }) => {
      const segment = getVisibleSegment(session, params.guid);
      const spaces = session
        .list(Space, undefined, (space) => space.spec.isolationSegment === segment.metadata.name)
        .map((space) => session.cache.guid(Space, space));
      return ok({
        ...toManyRelationship(spaces),
        links: { self: link(`${base}/v3/isolation_segments/${params.guid}/relationships/spaces`) },
      });
    },
  }),
  assign,
  revoke,
];
