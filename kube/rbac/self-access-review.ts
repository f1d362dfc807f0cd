// May we list and watch a collection? Asked of the API server itself; every authenticated user may ask about itself.
import { SelfSubjectAccessReview } from "../api/builtin.ts";
import type { KubeClient } from "../client/client.ts";
import { isUnreachable } from "../client/errors.ts";
import type { ResourceRef } from "../api/resource-ref.ts";

const DEADLINE_MS = 10_000;

/** True or false as the server says; undefined when it does not tell, so that only trying does. Never rejects. */
export async function canListAndWatch(
  client: KubeClient,
  ref: ResourceRef,
  namespace: string | undefined,
  signal: AbortSignal,
): Promise<boolean | undefined> {
  const ask = async (verb: string): Promise<boolean | undefined> => {
    const resourceAttributes = {
      verb,
      group: ref.group,
      version: ref.version,
      resource: ref.plural,
      ...(namespace && { namespace }),
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
    // Without an answer now, a list would get none either.
    return isUnreachable(error) ? false : undefined;
  }
}
