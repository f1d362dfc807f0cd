// CF's built-in segment `shared`, with the GUID that it has everywhere. It can be neither changed nor deleted.
import type { KubeObject } from "../../kube/api/object.ts";
import { LABELS } from "../labels.ts";
import { systemObject } from "../settings-object.ts";
import { IsolationSegment } from "./isolation-segment.ts";

export const SHARED_SEGMENT = "shared";
export const SHARED_SEGMENT_GUID = "933b4c58-120b-499a-b85d-4b6fc9e2903b";

export function isSharedSegment(segment: Pick<IsolationSegment, "metadata">): boolean {
  return segment.metadata.name === SHARED_SEGMENT;
}

export function sharedSegmentObject(): KubeObject {
  const object = systemObject(IsolationSegment, SHARED_SEGMENT, { name: SHARED_SEGMENT });
  return { ...object, metadata: { ...object.metadata, labels: { [LABELS.guid]: SHARED_SEGMENT_GUID } } };
}
