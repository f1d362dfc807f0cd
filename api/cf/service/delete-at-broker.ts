// Deletes an instance or binding that a service broker provides. A deletion that is under way already is asked for again.
import { ANNOTATIONS } from "../../../crds/labels.ts";
import { ServiceBinding } from "../../../crds/service-binding/service-binding.ts";
import type { KubeObject } from "../../../kube/api/object.ts";
import type { ResourceRef } from "../../../kube/api/resource-ref.ts";
import type { Session } from "../../access/session.ts";
import { askedBy } from "./asked-by.ts";

/** Controllers wait ever longer after failures, but not for somebody who asks. `parts` go before the object. */
export async function deleteAtBroker<T extends KubeObject>(
  session: Session,
  ref: ResourceRef<T>,
  object: T,
  parts: readonly KubeObject[] = [],
): Promise<void> {
  const isGoing = ({ metadata }: KubeObject): boolean => metadata.deletionTimestamp !== undefined;
  const annotations = {
    ...askedBy(session),
    ...([object, ...parts].some(isGoing) && { [ANNOTATIONS.deletionWish]: session.now().toISOString() }),
  };
  if (mayAnnotate(session, ref, object) && isNew(object, annotations))
    await session.patch(ref, object, { type: "merge", body: { metadata: { annotations } } });
  if (!isGoing(object)) await session.delete(ref, object);
}

/** A supporter unbinds, but does not annotate: the broker is asked in turn, and not told who asks. */
function mayAnnotate(session: Session, ref: ResourceRef, { metadata: { namespace = "", name } }: KubeObject): boolean {
  const isBinding = ref.kind === ServiceBinding.kind;
  return !isBinding || session.allows({ verb: "update", on: ServiceBinding, subresource: "settings", namespace, name });
}

function isNew({ metadata }: KubeObject, annotations: Record<string, string>): boolean {
  return Object.entries(annotations).some(([key, value]) => metadata.annotations?.[key] !== value);
}
