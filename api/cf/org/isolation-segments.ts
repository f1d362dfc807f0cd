// Which isolation segments an org may use, which of them it and its spaces chose, and who sees a segment.
import { SYSTEM_NAMESPACE } from "../../../crds/groups.ts";
import { IsolationSegment } from "../../../crds/isolation-segment/isolation-segment.ts";
import { chosenSegment } from "../../../crds/isolation-segment/segment-of-space.ts";
import { displayNameOf } from "../../../crds/object-names.ts";
import { Org } from "../../../crds/org/org.ts";
import { Space } from "../../../crds/space/space.ts";
import type { Session } from "../../access/session.ts";
import type { ClusterCache } from "../../cache/cluster-cache.ts";
import { notFound } from "../../http/errors.ts";

export function findSegment(cache: ClusterCache, name: string | undefined): IsolationSegment | undefined {
  return name === undefined ? undefined : cache.store(IsolationSegment).find({ namespace: SYSTEM_NAMESPACE, name });
}

export function isEntitled(org: Org, segment: IsolationSegment): boolean {
  return org.spec.isolationSegments.includes(segment.metadata.name);
}

/** GUID of the segment of that object name; undefined without one. */
export function segmentGUID(cache: ClusterCache, name: string | undefined): string | undefined {
  const segment = findSegment(cache, name);
  return segment && cache.guid(IsolationSegment, segment);
}

/** Name of the segment in which the apps of a namespace run; undefined in the shared one. One that the org may not use counts for nothing. */
export function segmentNameOf(cache: ClusterCache, namespace: string | undefined): string | undefined {
  const space = cache.spaceOf(namespace);
  const org = cache.orgOf(space?.metadata.namespace);
  const segment = findSegment(cache, chosenSegment(space, org));
  return segment && displayNameOf(segment);
}

/** The orgs that may use a segment and that the caller sees. */
export function listEntitledOrgs(session: Session, segment: IsolationSegment): Org[] {
  return session.list(Org, undefined, (org) => isEntitled(org, segment));
}

/** As in CF: whoever reads every org sees all segments, others those of their orgs. */
export function canSeeSegment(session: Session, segment: IsolationSegment): boolean {
  return session.allows({ verb: "get", on: Org }) || listEntitledOrgs(session, segment).length > 0;
}

/** @throws CFError 404 when the caller does not see it */
export function getVisibleSegment(session: Session, guid: string): IsolationSegment {
  const segment = session.get(IsolationSegment, guid);
  if (!canSeeSegment(session, segment)) throw notFound("Isolation segment");
  return segment;
}

/** Spaces, of all orgs or of one, that name a segment, whether or not the caller sees them. */
export function listSpacesIn(cache: ClusterCache, segment: IsolationSegment, orgNamespace?: string): Space[] {
  const spaces = cache.store(Space);
  return (orgNamespace === undefined ? spaces.list() : spaces.list({ namespace: orgNamespace })).filter(
    (space) => space.spec.isolationSegment === segment.metadata.name,
  );
}
