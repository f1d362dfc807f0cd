// Deletes an instance or binding that a service broker provides. A deletion that is under way already is asked for again.
import { ANNOTATIONS } from "../../../crds/labels.ts";
import type { KubeObject } from "../../../kube/api/object.ts";
import type { ResourceRef } from "../../../kube/api/resource-ref.ts";
import type { Session } from "../../access/session.ts";

/** Its controller waits ever longer after failures, but not for somebody who asks. */
export async function deleteAtBroker<T extends KubeObject>(
  session: Session,
  ref: ResourceRef<T>,
  object: T,
): Promise<void> {
  if (object.metadata.deletionTimestamp === undefined) return session.delete(ref, object);
  const metadata = { annotations: { [ANNOTATIONS.deletionWish]: session.now().toISOString() } };
  await session.patch(ref, object, { type: "merge", body: { metadata } });
}
