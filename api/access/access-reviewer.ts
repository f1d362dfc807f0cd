// What the cluster's authorizers say, asked by SubjectAccessReview and remembered for ten seconds. For clusters whose rights are not RBAC alone.
import { LRUCache } from "lru-cache";
import pLimit from "p-limit";
import { SubjectAccessReview } from "../../kube/api/builtin.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import type { Asked } from "./rbac-authorizer.ts";
import { unavailable } from "../http/errors.ts";
import type { Caller } from "../identity/caller.ts";

/** Where rights come from: RBAC from memory; RBAC, and a *no* is confirmed by a review; or a review always. */
export const AUTHORIZATION_MODES = ["rbac", "rbac+review", "review"] as const;
export type AuthorizationMode = (typeof AUTHORIZATION_MODES)[number];

/** How long a review is believed, milliseconds: published in docs/security.md. */
export const REVIEW_MS = 10_000;
/** How long a *no* is believed to what RBAC, as it is seen here, allows: perhaps the API server has only not heard of it yet. Milliseconds. */
export const BRIEF_NO_MS = 1_000;
const maxRemembered = 100_000;
/** Reviews under way at once, of all requests together. */
const parallel = 16;
const deadlineMs = 5_000;

/** Who is asked about. */
export type Reviewed = Pick<Caller, "name" | "groups" | "uid" | "extra">;

/**
 * A question, and what RBAC says to it as far as it is seen here; undefined when it is not seen. An answer counts for the same verdict only: where a
 * binding has changed the verdict, what was answered before says nothing.
 */
export interface Question extends Asked {
  rbac: boolean | undefined;
}

export interface Reviews {
  /** The answer, if it was given less than ten seconds ago. */
  known(who: Reviewed, question: Question): boolean | undefined;
  /** The answers, in order; what is known is not asked again. @throws CFError 503 when the API server does not answer */
  ask(who: Reviewed, questions: readonly Question[], signal?: AbortSignal): Promise<boolean[]>;
}

/** Asks with the platform's identity, which may create SubjectAccessReviews. */
export function createReviews(client: KubeClient, now: () => Date): Reviews {
  // Bounded by a clock that nobody sets, and by the wall clock (`until`), which goes on while the machine sleeps.
  const answers = new LRUCache<string, { allowed: boolean; until: number }>({ max: maxRemembered, ttl: REVIEW_MS, ttlResolution: 0, perf: performance });
  const underWay = new Map<string, Promise<boolean>>();
  const limit = pLimit(parallel);

  const known = (key: string): boolean | undefined => {
    const answer = answers.get(key);
    return answer && now().getTime() < answer.until ? answer.allowed : undefined;
  };
  const keep = (key: string, allowed: boolean, ttl: number): unknown => answers.set(key, { allowed, until: now().getTime() + ttl }, { ttl });
  const post = (key: string, who: Reviewed, asked: Question): Promise<boolean> => {
    const running = underWay.get(key);
    if (running) return running;
    // Without the request's signal: others may wait for the same answer.
    const answer = limit(() => review(client, who, asked)).finally(() => underWay.delete(key));
    underWay.set(key, answer);
    void answer.then((allowed) => keep(key, allowed, !allowed && asked.rbac ? BRIEF_NO_MS : REVIEW_MS), () => undefined);
    return answer;
  };
  return {
    known: (who, question) => known(keyOf(who, question)),
    async ask(who, questions, signal) {
      const all = Promise.all(
        questions.map(async (one) => {
          const key = keyOf(who, one);
          return known(key) ?? post(key, who, one);
        }),
      );
      return signal ? Promise.race([all, rejected(signal)]) : all;
    },
  };
}

function rejected(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    const give = (): void => reject(signal.reason as Error);
    if (signal.aborted) give();
    else signal.addEventListener("abort", give, { once: true });
  });
}

async function review(client: KubeClient, { name, groups, uid, extra }: Reviewed, { verb, on, subresource, namespace, name: object }: Asked): Promise<boolean> {
  const resourceAttributes = { verb, group: on.group, version: on.version, resource: on.plural, ...(subresource && { subresource }), ...(on.namespaced && namespace && { namespace }), ...(object && { name: object }) };
  try {
    const { status } = await client.review(SubjectAccessReview, { spec: { user: name, groups, ...(uid && { uid }), ...(extra && { extra }), resourceAttributes } }, { deadlineMs });
    return status?.allowed ?? false;
  } catch (cause) {
    throw unavailable("The rights cannot be checked: the Kubernetes API does not answer. Try again.", { cause });
  }
}

function keyOf(who: Reviewed, { verb, on, subresource = "", namespace = "", name = "", rbac }: Question): string {
  return JSON.stringify([verb, on.group, on.plural, subresource, on.namespaced ? namespace : "", name, rbac, whoKey(who)]);
}

const whoKeys = new WeakMap<Reviewed, string>();

function whoKey(who: Reviewed): string {
  let key = whoKeys.get(who);
  if (key === undefined) whoKeys.set(who, (key = JSON.stringify([who.name, who.groups, who.uid, who.extra])));
  return key;
}
