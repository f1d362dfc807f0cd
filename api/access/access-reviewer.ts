// Asks the cluster's authorizers by SubjectAccessReview and caches the answers for ten seconds. For clusters that authorize by more than RBAC.
import { LRUCache } from "lru-cache";
import pLimit from "p-limit";
import { SubjectAccessReview } from "../../kube/api/builtin.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import type { AccessAttributes } from "../cache/rbac-authorizer.ts";
import { unavailable } from "../http/errors.ts";
import { rejectOnAbort } from "../http/reject-on-abort.ts";
import type { Caller } from "../identity/caller.ts";

/** `rbac`: the cached RBAC decides. `rbac+review`: a review confirms each denial of the cached RBAC. `review`: reviews decide everything. */
export const AUTHORIZATION_MODES = ["rbac", "rbac+review", "review"] as const;
export type AuthorizationMode = (typeof AUTHORIZATION_MODES)[number];

/** How long a review is cached, milliseconds. Published in docs/security.md. */
export const REVIEW_TTL_MS = 10_000;
/** How long a denial is cached where the cached RBAC allows: the API server's own RBAC cache may lag behind ours. Milliseconds. */
export const UNCONFIRMED_DENIAL_TTL_MS = 1_000;
const maxCachedReviews = 100_000;
/** Concurrent reviews, over all requests. */
const maxInFlight = 16;
const deadlineMs = 5_000;

/** The user under review. */
export type ReviewSubject = Pick<Caller, "name" | "groups" | "uid" | "extra">;

/**
 * A question with the verdict of the cached RBAC; undefined when RBAC is not synced. The verdict is part of the cache key: a changed binding
 * invalidates the cached review.
 */
export interface ReviewAttributes extends AccessAttributes {
  rbacAllowed: boolean | undefined;
}

export interface AccessReviewer {
  /** The cached answer; undefined when there is none or it has expired. */
  findCached(who: ReviewSubject, question: ReviewAttributes): boolean | undefined;
  /** The answers, in the order of the questions, from the cache where possible. @throws CFError 503 when the API server does not answer */
  review(who: ReviewSubject, questions: readonly ReviewAttributes[], signal?: AbortSignal): Promise<boolean[]>;
}

/** `client` has the platform's identity, which may create SubjectAccessReviews. */
export function createAccessReviewer(client: KubeClient, now: () => Date): AccessReviewer {
  // Entries expire by the monotonic clock, which nobody can set, and by the wall clock (`until`), which advances while the machine sleeps.
  const answers = new LRUCache<string, { allowed: boolean; until: number }>({
    max: maxCachedReviews,
    ttl: REVIEW_TTL_MS,
    ttlResolution: 0,
    perf: performance,
  });
  const inFlight = new Map<string, Promise<boolean>>();
  const limit = pLimit(maxInFlight);

  const findAnswer = (key: string): boolean | undefined => {
    const answer = answers.get(key);
    return answer && now().getTime() < answer.until ? answer.allowed : undefined;
  };
  const storeAnswer = (key: string, allowed: boolean, ttl: number): unknown =>
    answers.set(key, { allowed, until: now().getTime() + ttl }, { ttl });
  const reviewOnce = (key: string, subject: ReviewSubject, asked: ReviewAttributes): Promise<boolean> => {
    const running = inFlight.get(key);
    if (running) return running;
    // Without the request's signal: other requests may wait for the same answer.
    const answer = limit(() => review(client, subject, asked)).finally(() => inFlight.delete(key));
    inFlight.set(key, answer);
    void answer.then(
      (allowed) => storeAnswer(key, allowed, !allowed && asked.rbacAllowed ? UNCONFIRMED_DENIAL_TTL_MS : REVIEW_TTL_MS),
      () => undefined,
    );
    return answer;
  };
  return {
    findCached: (subject, question) => findAnswer(keyOf(subject, question)),
    async review(subject, questions, signal) {
      const all = Promise.all(
        questions.map(async (one) => {
          const key = keyOf(subject, one);
          return findAnswer(key) ?? reviewOnce(key, subject, one);
        }),
      );
      return signal ? Promise.race([all, rejectOnAbort(signal)]) : all;
    },
  };
}

async function review(
  client: KubeClient,
  { name, groups, uid, extra }: ReviewSubject,
  { verb, on, subresource, namespace, name: object }: AccessAttributes,
): Promise<boolean> {
  const resourceAttributes = {
    verb,
    group: on.group,
    version: on.version,
    resource: on.plural,
    ...(subresource && { subresource }),
    ...(on.namespaced && namespace && { namespace }),
    ...(object && { name: object }),
  };
  try {
    const { status } = await client.review(
      SubjectAccessReview,
      { spec: { user: name, groups, ...(uid && { uid }), ...(extra && { extra }), resourceAttributes } },
      { deadlineMs },
    );
    return status?.allowed ?? false;
  } catch (cause) {
    throw unavailable("The rights cannot be checked: the Kubernetes API does not answer. Try again.", { cause });
  }
}

function keyOf(
  subject: ReviewSubject,
  { verb, on, subresource = "", namespace = "", name = "", rbacAllowed }: ReviewAttributes,
): string {
  return JSON.stringify([
    verb,
    on.group,
    on.plural,
    subresource,
    on.namespaced ? namespace : "",
    name,
    rbacAllowed,
    subjectKey(subject),
  ]);
}

const subjectKeys = new WeakMap<ReviewSubject, string>();

function subjectKey(subject: ReviewSubject): string {
  let key = subjectKeys.get(subject);
  if (key === undefined)
    subjectKeys.set(subject, (key = JSON.stringify([subject.name, subject.groups, subject.uid, subject.extra])));
  return key;
}
