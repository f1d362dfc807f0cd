// The permissions of one request's caller where SubjectAccessReviews decide. Reviewed before the handler runs. ADR 10 lists the trade-offs.
import { objectKey, type KubeObject } from "../../kube/api/object.ts";
import { isUnreadable } from "../../kube/cache/errors.ts";
import type { ResourceRef } from "../../kube/api/resource-ref.ts";
import type { RequiredPermission } from "./required-permission.ts";
import { CFError } from "../http/errors.ts";
import type { AccessReviewer, ReviewAttributes } from "./access-reviewer.ts";
import type { CallerPermissions, PermissionsRequest } from "./caller-permissions.ts";
import type { AccessAttributes, RbacAuthorizer } from "../cache/rbac-authorizer.ts";
import type { ReviewTargets, TargetObject } from "./review-targets.ts";

/** Bound on the reviews of one request. */
const MAX_REVIEWS = 2000;

/** How permissions are reviewed. */
export interface ReviewConfig {
  reviewer: AccessReviewer;
  /** An access that the cached RBAC allows needs no review. */
  trustsRbac: boolean;
  /** The kinds that endpoints read: a handler may `get` any of them. */
  kinds: readonly ResourceRef[];
}

export class ReviewedPermissions implements CallerPermissions {
  readonly isCacheable = false;
  readonly #authorizer: RbacAuthorizer;
  readonly #config: ReviewConfig;
  readonly #request: PermissionsRequest;
  readonly #permissions: readonly RequiredPermission[];
  /** Kept for the whole request, so that an answer that expires meanwhile still counts. */
  readonly #answers = new Map<string, boolean>();
  readonly #pending = new Set<string>();

  constructor(authorizer: RbacAuthorizer, config: ReviewConfig, request: PermissionsRequest) {
    this.#authorizer = authorizer;
    this.#config = config;
    this.#request = request;
    this.#permissions = [
      ...config.kinds.map((on) => ({ verb: "get" as const, on })),
      ...request.declared.permissions.filter(({ verb, subresource }) => verb !== "get" || subresource),
    ];
  }

  allows(asked: AccessAttributes): boolean {
    return this.#verdict(asked) ?? this.#reviewLater(asked);
  }

  async decide(asked: AccessAttributes): Promise<boolean> {
    // Twice: an RBAC change during a review changes the cache key, and the answer is then filed under the old one.
    for (let round = 0; round < 2; round++) {
      const known = this.#find(asked);
      if (known !== undefined) return known;
      await this.#fetch([asked]);
    }
    return this.#find(asked) ?? false;
  }

  filterVisible<T extends KubeObject>(ref: ResourceRef<T>, objects: Iterable<T>): T[] {
    return [...objects].filter((object) => this.allows({ verb: "get", on: ref, ...objectKey(object) }));
  }

  visibleNamespaces(): undefined {
    return undefined;
  }

  /** Asks the widest question first: an access allowed cluster-wide or in a namespace needs no review for single objects. */
  async judge({ namespaces, objects, lists }: ReviewTargets): Promise<void> {
    const gets = lists.map(({ ref }) => ({ verb: "get", on: ref }) as const);
    await this.#judgeAll([...this.#permissions, ...gets]);
    await this.#judgeAll([
      ...[...namespaces].flatMap((namespace) => this.#questionsIn(namespace)),
      ...lists.flatMap(({ ref, objects: all }) => namespaceQuestions(ref, all)),
    ]);
    await this.#judgeAll([
      ...objects.flatMap((target) => this.#questionsAbout(target)),
      ...lists.flatMap(({ ref, objects: all }) =>
        all.map((object) => ({ verb: "get", on: ref, ...objectKey(object) }) as const),
      ),
    ]);
  }

  async judgeNamespace(namespace: string): Promise<void> {
    await this.#judgeAll(this.#questionsIn(namespace));
  }

  #questionsIn(namespace: string): AccessAttributes[] {
    return this.#permissions.filter(({ on }) => on.namespaced).map((permission) => ({ ...permission, namespace }));
  }

  #questionsAbout({ ref, object }: TargetObject): AccessAttributes[] {
    const key = objectKey(object);
    return this.#permissions
      .filter(({ on, verb }) => on.kind === ref.kind && verb !== "create")
      .map((permission) => ({ ...permission, ...key }));
  }

  /** The known answer to this question or to a wider one; undefined when there is none. */
  #verdict(asked: AccessAttributes): boolean | undefined {
    const { name, namespace, ...everywhere } = asked;
    const exact = this.#find(asked);
    if (exact !== undefined) return exact;
    if (name && namespace && this.#find({ ...everywhere, namespace })) return true;
    if ((name || namespace) && this.#find(everywhere)) return true;
    return undefined;
  }

  /** A write may ask about an object that it has just created: false for now, true or false once the review has answered. */
  #reviewLater(asked: AccessAttributes): boolean {
    const key = keyOf(asked);
    if (this.#request.writes && !this.#pending.has(key)) {
      this.#pending.add(key);
      this.#fetch([asked])
        .catch(() => undefined) // the next call asks again
        .finally(() => this.#pending.delete(key));
    }
    return false;
  }

  #find(asked: AccessAttributes): boolean | undefined {
    const { caller } = this.#request;
    const question = this.#toReviewAttributes(asked);
    if (this.#config.trustsRbac && question.rbacAllowed) return true;
    const key = keyOf(question);
    const own = this.#answers.get(key);
    if (own !== undefined) return own;
    const known = this.#config.reviewer.findCached(caller, question);
    if (known !== undefined) this.#answers.set(key, known);
    return known;
  }

  /** @throws NotSynced, NotPermitted with `trustsRbac` while the cached RBAC cannot be read */
  #toReviewAttributes(asked: AccessAttributes): ReviewAttributes {
    try {
      return { ...asked, rbacAllowed: this.#authorizer.allows(this.#request.caller, asked) };
    } catch (error) {
      if (this.#config.trustsRbac || !isUnreadable(error)) throw error;
      return { ...asked, rbacAllowed: undefined };
    }
  }

  /** @throws CFError 422 for too many reviews */
  async #judgeAll(asked: readonly AccessAttributes[]): Promise<void> {
    const unknown = [
      ...new Map(asked.filter((one) => this.#verdict(one) === undefined).map((one) => [keyOf(one), one])).values(),
    ];
    if (this.#answers.size + unknown.length > MAX_REVIEWS)
      throw new CFError(
        "UnprocessableEntity",
        `This needs more than ${MAX_REVIEWS} access reviews. Narrow it down, for example by space_guids or guids.`,
      );
    await this.#fetch(unknown);
  }

  async #fetch(asked: readonly AccessAttributes[]): Promise<void> {
    if (asked.length === 0) return;
    const { caller, signal } = this.#request;
    const questions = asked.map((one) => this.#toReviewAttributes(one));
    const answers = await this.#config.reviewer.review(caller, questions, signal);
    for (const [at, one] of questions.entries()) this.#answers.set(keyOf(one), answers[at] ?? false);
  }
}

/** A question for each namespace that holds some of the objects. */
function namespaceQuestions(ref: ResourceRef, objects: readonly KubeObject[]): AccessAttributes[] {
  const namespaces = new Set(objects.map(({ metadata: { namespace } }) => namespace));
  return [...namespaces].flatMap((namespace) => (namespace ? [{ verb: "get", on: ref, namespace }] : []));
}

function keyOf({
  verb,
  on,
  subresource = "",
  namespace = "",
  name = "",
  rbacAllowed,
}: AccessAttributes & Partial<Pick<ReviewAttributes, "rbacAllowed">>): string {
  return `${verb} ${on.group}/${on.plural}/${subresource} ${on.namespaced ? namespace : ""}/${name} ${String(rbacAllowed)}`;
}
