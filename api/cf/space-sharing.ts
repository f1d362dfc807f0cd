// Sharing an object of a space with other spaces, as routes and service instances are: with which spaces, and how it is written.
import { MAX_ADDED_SPACES } from "../../crds/admission-policy.ts";
import { Space } from "../../crds/space/space.ts";
import type { KubeObject } from "../../kube/api/object.ts";
import type { ResourceRef } from "../../kube/api/resource-ref.ts";
import type { Session } from "../access/session.ts";
import { isSuspendedFor } from "../access/suspension.ts";
import { unprocessable } from "../http/errors.ts";

type Shareable = KubeObject & { spec: { sharedSpaces?: readonly string[] | undefined } };

/** A kind whose objects are shared, in CF's words. */
export interface SharedKind<T extends Shareable> {
  ref: ResourceRef<T>;
  /** `route` */
  noun: string;
  /** `Routes` */
  plural: string;
  /** Most spaces that one object is shared with. */
  most: number;
}

/** Namespace of a space that the caller sees. */
export function visibleNamespace(session: Session, guid: string): string | undefined {
  return session.find(Space, guid)?.status?.namespace;
}

/** May the caller change objects of the kind in that namespace? */
export function mayChangeIn(session: Session, ref: ResourceRef, namespace: string): boolean {
  return session.allows({ verb: "patch", on: ref, namespace });
}

/** Namespaces of the spaces to share an object with. `name` is what errors call it. @throws CFError 422 */
export function findTargets<T extends Shareable>(
  session: Session,
  { ref, noun, plural }: SharedKind<T>,
  { object, name }: { object: T; name: string },
  guids: readonly string[],
): string[] {
  const found = [...new Set(guids)].map((guid) => ({ guid, namespace: visibleNamespace(session, guid) }));
  const isWritable = (namespace: string): boolean =>
    mayChangeIn(session, ref, namespace) && !isSuspendedFor(session, namespace);
  const refusal = (spaces: readonly { guid: string }[], reason: string): string[] =>
    spaces.length === 0
      ? []
      : [
          `Unable to share ${noun} ${name} with spaces [${spaces.map(({ guid }) => `'${guid}'`).join(", ")}]. ${reason}`,
        ];
  const problems = [
    ...refusal(
      found.filter(({ namespace }) => namespace === undefined),
      "Ensure the spaces exist and that you have access to them.",
    ),
    ...refusal(
      found.filter(({ namespace }) => namespace !== undefined && !isWritable(namespace)),
      `Write permission is required in order to share a ${noun} with a space and the containing organization must not be suspended.`,
    ),
  ];
  if (problems.length > 0) throw unprocessable(problems.join("\n"));
  const own = found.find(({ namespace }) => namespace === object.metadata.namespace);
  if (own)
    throw unprocessable(
      `Unable to share ${noun} '${name}' with space '${own.guid}'. ${plural} cannot be shared into the space where they were created.`,
    );
  return found.flatMap(({ namespace }) => namespace ?? []);
}

/** Some at a time, as the admission policy asks. @throws CFError 422 when the object has too many */
export async function shareWith<T extends Shareable>(
  session: Session,
  { ref, plural, most }: SharedKind<T>,
  object: T,
  namespaces: readonly string[],
): Promise<T> {
  const wanted = new Set([...(object.spec.sharedSpaces ?? []), ...namespaces]);
  if (wanted.size > most) throw unprocessable(`${plural} can be shared with at most ${most} spaces.`);
  let current = object;
  for (let at = 0; at < namespaces.length; at += MAX_ADDED_SPACES) {
    const some = namespaces.slice(at, at + MAX_ADDED_SPACES);
    current = await session.patchWithRetry(ref, current, ({ spec: { sharedSpaces = [] } }) =>
      some.every((namespace) => sharedSpaces.includes(namespace))
        ? undefined
        : { spec: { sharedSpaces: [...new Set([...sharedSpaces, ...some])] } },
    );
  }
  return current;
}
