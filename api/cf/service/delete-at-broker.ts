// Deletes an instance or binding that a service broker provides. A deletion that is under way already is asked for again.
import { ANNOTATIONS } from "../../../crds/labels.ts";
import type { KubeObject } from "../../../kube/api/object.ts";
import type { ResourceRef } from "../../../kube/api/resource-ref.ts";
import type { Session } from "../../access/session.ts";

/** Controllers wait ever longer after failures, but not for somebody who asks. `parts` go before the object. */
export async function deleteAtBroker<T extends KubeObject>(
  session: Session,
  ref: ResourceRef<T>,
  object: T,
  parts: readonly KubeObject[] = [],
): Promise<void> {
  const isGoing = ({ metadata }: KubeObject): boolean => metadata.deletionTimestamp !== undefined;
  const metadata = { annotations: { [ANNOTATIONS.deletionWish]: session.now().toISOString() } };
  if ([object, ...parts].some(isGoing)) await session.patch(ref, object, { type: "merge", body: { metadata } });
  if (!isGoing(object)) await session.delete(ref, object);
}
