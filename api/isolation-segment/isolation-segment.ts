// Endpoints of IsolationSegment: `/v3/isolation_segments`. entitlements.ts has their orgs and spaces, choices.ts what orgs and spaces choose.
import { SYSTEM_NAMESPACE } from "../../crds/groups.ts";
import { IsolationSegment } from "../../crds/isolation-segment/isolation-segment.ts";
import { isSharedSegment } from "../../crds/isolation-segment/shared-segment.ts";
import { displayNameOf, foldName, sortKeyOfName } from "../../crds/object-names.ts";
import { Org } from "../../crds/org/org.ts";
import { Space } from "../../crds/space/space.ts";
import type { Session } from "../access/session.ts";
import { listObjects, isOneOf } from "../lists/list-objects.ts";
import { toMetadataPatch, metadataForCreate } from "../http/metadata.ts";
import { canSeeSegment, getVisibleSegment, listEntitledOrgs, listSpacesIn } from "../cf/org/isolation-segments.ts";
import { created, endpoint, noContent, ok, type Endpoint } from "../routing/endpoint.ts";
import { unprocessable } from "../http/errors.ts";
import { presentPage } from "../lists/page.ts";
import { link, presentIdentity, presentMetadata } from "../http/presentation.ts";
import { choiceEndpoints } from "./choices.ts";
import { entitlementEndpoints } from "./entitlements.ts";
import { createSegmentBody, segmentListQuery, updateSegmentBody } from "./payload.ts";
import { toNamedMetadata } from "../cf/free-object-name.ts";

const path = "/v3/isolation_segments/:guid";

const taken = () => unprocessable("Isolation Segment names are case insensitive and must be unique");

function present(session: Session, segment: IsolationSegment, base: string): object {
  const at = presentIdentity(session.cache, IsolationSegment, segment);
  return {
    ...at,
    name: displayNameOf(segment),
    ...presentMetadata(segment),
    links: {
      self: link(`${base}/v3/isolation_segments/${at.guid}`),
      organizations: link(`${base}/v3/isolation_segments/${at.guid}/organizations`),
    },
  };
}

const list = endpoint({
  method: "GET",
  path: "/v3/isolation_segments",
  permission: "authenticated",
  lists: [IsolationSegment, Org],
  query: segmentListQuery,
  summary: "List isolation segments",
  handler: ({ session, query, base, url }) => {
    const names = query.names?.map(foldName);
    const ofOrgs = (segment: IsolationSegment): boolean =>
      !query.organization_guids ||
      listEntitledOrgs(session, segment).some((org) =>
        query.organization_guids?.includes(session.cache.guid(Org, org)),
      );
    const found = listObjects(session, IsolationSegment, query, {
      url,
      filter: (segment) =>
        isOneOf(names, foldName(displayNameOf(segment))) && ofOrgs(segment) && canSeeSegment(session, segment),
      sortKeys: { name: sortKeyOfName },
      dependsOn: [Org],
    });
    return ok(presentPage(found, { base, url, query }, (segment) => present(session, segment, base)));
  },
});

const create = endpoint({
  method: "POST",
  path: "/v3/isolation_segments",
  permission: { verb: "create", on: IsolationSegment },
  body: createSegmentBody,
  summary: "Create an isolation segment",
  handler: async ({ session, body, base }) => {
    session.authorize({ verb: "create", on: IsolationSegment, namespace: SYSTEM_NAMESPACE });
    const metadata = toNamedMetadata(session.cache, IsolationSegment, {
      namespace: SYSTEM_NAMESPACE,
      name: body.name,
      fallback: "segment",
      ...metadataForCreate(body.metadata),
    });
    const segment = await session.create(IsolationSegment, { metadata, spec: { name: body.name } }, taken);
    return created(present(session, segment, base));
  },
});

const update = endpoint({
  method: "PATCH",
  path,
  permission: { verb: "patch", on: IsolationSegment },
  body: updateSegmentBody,
  summary: "Update an isolation segment",
  handler: async ({ session, params, body, base }) => {
    const segment = session.get(IsolationSegment, params.guid);
    if (isSharedSegment(segment)) throw unprocessable("Cannot update the shared Isolation Segment");
    requireUnassigned(session, segment);
    const name = body.name ?? undefined;
    const renamed = name === undefined ? undefined : { to: { ...segment, spec: { ...segment.spec, name } }, taken };
    const patch = {
      metadata: toMetadataPatch(body.metadata, segment),
      spec: { ...(name !== undefined && { name }) },
    };
    const after = await session.patch(IsolationSegment, segment, { type: "merge", body: patch }, renamed);
    return ok(present(session, after, base));
  },
});

/** @throws CFError 422 while an org or a space chose the segment */
function requireUnassigned({ cache }: Session, segment: IsolationSegment): void {
  const isDefault = cache
    .store(Org)
    .list()
    .some((org) => org.spec.defaultIsolationSegment === segment.metadata.name);
  if (isDefault || listSpacesIn(cache, segment).length > 0)
    throw unprocessable(
      "Cannot update Isolation Segments that are assigned as the default for an Organization or Space.",
    );
}

const remove = endpoint({
  method: "DELETE",
  path,
  permission: { verb: "delete", on: IsolationSegment },
  summary: "Delete an isolation segment",
  handler: async ({ session, params }) => {
    const segment = session.get(IsolationSegment, params.guid);
    if (isSharedSegment(segment)) throw unprocessable(`Cannot delete the ${displayNameOf(segment)} Isolation Segment`);
    const isEntitling = session.cache
      .store(Org)
      .list()
      .some((org) => org.spec.isolationSegments.includes(segment.metadata.name));
    if (isEntitling || listSpacesIn(session.cache, segment).length > 0)
      throw unprocessable("Revoke the Organization entitlements for your Isolation Segment.");
    await session.delete(IsolationSegment, segment);
    return noContent();
  },
});

export const isolationSegmentEndpoints: readonly Endpoint[] = [
  list,
  endpoint({
    method: "GET",
    path,
    permission: { verb: "get", on: IsolationSegment },
    lists: [Org, Space],
    summary: "Get an isolation segment",
    handler: ({ session, params, base }) => ok(present(session, getVisibleSegment(session, params.guid), base)),
  }),
  create,
  update,
  remove,
  ...entitlementEndpoints,
  ...choiceEndpoints,
];
