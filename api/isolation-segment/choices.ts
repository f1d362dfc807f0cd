// Choices of orgs and spaces among the segments that the org may use: a default, and the segment of a space.
import { IsolationSegment } from "../../crds/isolation-segment/isolation-segment.ts";
import { Org } from "../../crds/org/org.ts";
import { Space } from "../../crds/space/space.ts";
import type { Session } from "../access/session.ts";
import { requireNotSuspended } from "../access/suspension.ts";
import { isEntitled, segmentGUID } from "../cf/org/isolation-segments.ts";
import { endpoint, ok, type Endpoint } from "../routing/endpoint.ts";
import { notFound, unprocessable } from "../http/errors.ts";
import { link, toOneRelationship } from "../http/presentation.ts";
import { toOneOrNoneBody } from "./payload.ts";

const ofOrg = "/v3/organizations/:guid/relationships/default_isolation_segment";
const ofSpace = "/v3/spaces/:guid/relationships/isolation_segment";

function present(guid: string | undefined, self: string, base: string): object {
  return {
    ...toOneRelationship(guid),
    links: {
      self: link(`${base}${self}`),
      ...(guid !== undefined && { related: link(`${base}/v3/isolation_segments/${guid}`) }),
    },
  };
}

/** The object name of a segment that the org may use; null for none. @throws CFError 422 */
function chosen(session: Session, org: Org, guid: string | undefined, whose: string): string | null {
  if (guid === undefined) return null;
  const segment = session.find(IsolationSegment, guid);
  if (segment && isEntitled(org, segment)) return segment.metadata.name;
  throw unprocessable(
    `Unable to assign isolation segment with guid '${guid}'. Ensure it has been entitled to the organization${whose}.`,
  );
}

const setDefault = endpoint({
  method: "PATCH",
  path: ofOrg,
  permission: { verb: "patch", on: Org },
  body: toOneOrNoneBody,
  summary: "Set the default isolation segment of an organization",
  handler: async ({ session, params, body, base }) => {
    const org = session.get(Org, params.guid);
    requireNotSuspended(session, org.status?.namespace);
    const name = chosen(session, org, body.data?.guid || undefined, "");
    await session.patch(Org, org, { type: "merge", body: { spec: { defaultIsolationSegment: name } } });
    return ok(present(body.data?.guid || undefined, ofOrg.replace(":guid", params.guid), base));
  },
});

const setOfSpace = endpoint({
  method: "PATCH",
  path: ofSpace,
  permission: { verb: "update", on: Space, subresource: "limits" },
  asks: [{ verb: "patch", on: Space }],
  body: toOneOrNoneBody,
  summary: "Assign an isolation segment to a space",
  handler: async ({ session, params, body, base }) => {
    const space = session.get(Space, params.guid);
    const org = session.cache.orgOf(space.metadata.namespace);
    if (!org) throw notFound("Organization");
    requireNotSuspended(session, space.status?.namespace);
    const name = chosen(session, org, body.data?.guid || undefined, " that this space belongs to");
    await session.patch(Space, space, { type: "merge", body: { spec: { isolationSegment: name } } });
    return ok(present(body.data?.guid || undefined, ofSpace.replace(":guid", params.guid), base));
  },
});

export const choiceEndpoints: readonly Endpoint[] = [
  endpoint({
    method: "GET",
    path: ofOrg,
    permission: { verb: "get", on: Org },
    summary: "Get the default isolation segment of an organization",
    handler: ({ session, params, base }) => {
      const { spec } = session.get(Org, params.guid);
      const guid = segmentGUID(session.cache, spec.defaultIsolationSegment);
      return ok(present(guid, ofOrg.replace(":guid", params.guid), base));
    },
  }),
  endpoint({
    method: "GET",
    path: ofSpace,
    permission: { verb: "get", on: Space },
    summary: "Get the isolation segment of a space",
    handler: ({ session, params, base }) => {
      const { spec } = session.get(Space, params.guid);
      const guid = segmentGUID(session.cache, spec.isolationSegment);
      return ok(present(guid, ofSpace.replace(":guid", params.guid), base));
    },
  }),
  setDefault,
  setOfSpace,
];
