// Asks the API server whether this client may list and watch a collection. Every authenticated user may ask about itself.
import { SelfSubjectAccessReview } from "../api/builtin.ts";
import type { KubeClient } from "../client/client.ts";
import { isUnreachable } from "../client/errors.ts";
import type { ResourceRef } from "../api/resource-ref.ts";

const DEADLINE_MS = 10_000;

/** All objects of a kind, of one namespace, or the one object that the field selector `metadata.name=x` chooses. */
interface Collection {
  ref: ResourceRef;
  namespace?: string | undefined;
  fieldSelector?: string | undefined;
}

/** The server's answer; undefined when it gives none, so that only an attempt can tell. Never rejects. */
export async function canListAndWatch(
  client: KubeClient,
  { ref, namespace, fieldSelector }: Collection,
  signal: AbortSignal,
): Promise<boolean | undefined> {
  // As kube-apiserver reads the request itself: a right to one name allows a list of that name.
  const name = /^metadata\.name=([^,]+)$/.exec(fieldSelector ?? "")?.[1];
  const ask = async (verb: string): Promise<boolean | undefined> => {
    const resourceAttributes = {
      verb,
      group: ref.group,
      version: ref.version,
      resource: ref.plural,
      ...(namespace && { namespace }),
      ...(name && { name }),
    };
    const answer = await client.review(
      SelfSubjectAccessReview,
      { spec: { resourceAttributes } },
      { signal, deadlineMs: DEADLINE_MS },
    );
    return answer.status?.allowed;
  };
  try {
    for (const verb of ["list", "watch"]) {
      const allowed = await ask(verb);
      if (allowed !== true) return allowed;
    }
    return true;
  } catch (error) {
    // While the server is unreachable, a list would fail too.
    return isUnreachable(error) ? false : undefined;
  }
}
