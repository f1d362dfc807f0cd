// What one request's caller may do. By RBAC answers come from memory at once; by review they may be missing, and then the handler is run again with them.
import type { KubeObject } from "../../kube/api/object.ts";
import type { AllowedNames } from "../../kube/rbac/rbac-index.ts";
import { NotPermitted, NotSynced } from "../../kube/cache/errors.ts";
import type { ResourceRef } from "../../kube/api/resource-ref.ts";
import type { AccessAttributes, RbacAuthorizer } from "./rbac-authorizer.ts";
import type { Endpoint, RequiredPermission } from "../http/endpoint.ts";
import { CFError, unavailable } from "../http/errors.ts";
import type { Caller } from "../identity/caller.ts";
import type { ReviewAttributes, AccessReviewer } from "./access-reviewer.ts";

/** Reviews that one request may ask for. */
const maxReviews = 2000;
/** How often a handler is run until no answer is missing; each time it gets further. */
const maxRounds = 200;

export interface CallerPermissions {
  /** Whether the caller may. Where that is not known yet, a reading request goes on as if, and its answer is thrown away. */
  allows(asked: AccessAttributes): boolean;
  /** As `allows`, and never guessed. */
  decide(asked: AccessAttributes): Promise<boolean>;
  /** Those of the objects of a kind that the caller may get. */
  filterVisible<T extends KubeObject>(ref: ResourceRef<T>, objects: Iterable<T>): T[];
  /** Namespaces outside of which the caller can see nothing of a kind; undefined when it may be anywhere. */
  visibleNamespaces(ref: ResourceRef): readonly string[] | undefined;
  /** To be called before what cannot be done twice, or is nobody's to see without rights. Throws unless all that was asked is known. */
  commit(): void;
  /** Asks ahead what may be asked about a namespace once something in it has been written: from then on the handler cannot be run again. */
  prefetch(namespace: string): Promise<void>;
  /** Runs the handler until no answer is missing. Answers that rest on guesses are given to `discard`. */
  runUntilDecided<T>(attempt: () => Promise<T> | T, discard: (answer: T) => void): Promise<T> | T;
  /** Whether equal questions have equal answers until RBAC changes, so that lists may be remembered. */
  readonly isCacheable: boolean;
}

/** How rights are reviewed. */
export interface ReviewConfig {
  reviewer: AccessReviewer;
  /** A *yes* of RBAC needs no review. */
  trustsRbac: boolean;
  /** All rights that endpoints ask for. */
  requiredPermissions: readonly RequiredPermission[];
}

export interface CallerPermissionsDeps {
  authorizer: RbacAuthorizer;
  /** Undefined: RBAC alone decides. */
  review?: ReviewConfig | undefined;
}

/** Every right that some endpoint declares, once. */
export function listRequiredPermissions(endpoints: readonly Endpoint[]): RequiredPermission[] {
  const permissions = endpoints.flatMap(({ permission }) =>
    typeof permission === "string" ? [] : [permission].flat(),
  );
  return [
    ...new Map(
      permissions.map((right) => [
        `${right.verb} ${right.on.group}/${right.on.plural}/${right.subresource ?? ""}`,
        right,
      ]),
    ).values(),
  ];
}

interface PermissionsRequest {
  caller: Caller;
  signal: AbortSignal;
  /** It is no GET, so nothing is done on a guess. */
  writes: boolean;
}

/** The rights of a request. */
export function createCallerPermissions(
  { authorizer, review }: CallerPermissionsDeps,
  request: PermissionsRequest,
): CallerPermissions {
  return review ? new ReviewedPermissions(authorizer, review, request) : rbacPermissions(authorizer, request.caller);
}

function rbacPermissions(authorizer: RbacAuthorizer, caller: Caller): CallerPermissions {
  return {
    isCacheable: true,
    allows: (asked) => authorizer.allows(caller, asked),
    decide: async (asked) => authorizer.allows(caller, asked),
    filterVisible: (ref, objects) => visibleByRbac(authorizer, caller, ref, objects),
    visibleNamespaces(ref) {
      const clusterWide = authorizer.allowedNames(caller, { verb: "get", on: ref, namespace: "" });
      return clusterWide === "all" || clusterWide.size > 0 ? undefined : authorizer.namespacesOf(caller);
    },
    commit: () => undefined,
    prefetch: async () => undefined,
    runUntilDecided: (attempt) => attempt(),
  };
}

function visibleByRbac<T extends KubeObject>(
  authorizer: RbacAuthorizer,
  caller: Caller,
  ref: ResourceRef<T>,
  objects: Iterable<T>,
): T[] {
  const names = new Map<string, AllowedNames>();
  const visible: T[] = [];
  for (const object of objects) {
    const namespace = object.metadata.namespace ?? "";
    let allowed = names.get(namespace);
    if (allowed === undefined)
      names.set(namespace, (allowed = authorizer.allowedNames(caller, { verb: "get", on: ref, namespace })));
    if (allowed === "all" || allowed.has(object.metadata.name)) visible.push(object);
  }
  return visible;
}

/** Thrown where a handler cannot go on without an answer; `settled` gets the answer and begins again. */
class ReviewNeeded extends Error {
  constructor() {
    super("an access review is missing");
    this.name = "ReviewNeeded";
  }
}

class ReviewedPermissions implements CallerPermissions {
  readonly isCacheable = false;
  readonly #authorizer: RbacAuthorizer;
  readonly #config: ReviewConfig;
  readonly #request: PermissionsRequest;
  /** Of this request, so that no round loses what an earlier one has learnt. */
  readonly #answers = new Map<string, boolean>();
  readonly #missing = new Map<string, AccessAttributes>();
  readonly #prefetched = new Set<string>();
  #committed = false;

  constructor(authorization: RbacAuthorizer, by: ReviewConfig, request: PermissionsRequest) {
    this.#authorizer = authorization;
    this.#config = by;
    this.#request = request;
  }

  allows(asked: AccessAttributes): boolean {
    return this.#find(asked) ?? this.#recordMissing([asked]);
  }

  async decide(asked: AccessAttributes): Promise<boolean> {
    // Twice: RBAC may change while a question is under way, and then the answer is to another one.
    for (let round = 0; round < 2; round++) {
      const known = this.#find(asked);
      if (known !== undefined) return known;
      await this.#fetch([asked]);
    }
    return this.#find(asked) ?? false;
  }

  /** By namespace first, and by name only where the namespace's answer is no. A *yes* to a namespace's question stands for all in it. */
  filterVisible<T extends KubeObject>(ref: ResourceRef<T>, objects: Iterable<T>): T[] {
    const get = { verb: "get", on: ref };
    if (this.#config.trustsRbac && ref.namespaced && this.allows({ ...get, namespace: "" })) return [...objects];
    const places = [...Map.groupBy(objects, (object) => object.metadata.namespace ?? "")];
    const whole = places
      .map(([namespace]) => ({ ...get, namespace }))
      .filter((asked) => this.#find(asked) === undefined);
    const guess = whole.length === 0 || this.#recordMissing(whole);
    const single = places.flatMap(([namespace, all]) =>
      this.#find({ ...get, namespace }) === false
        ? all.map(({ metadata: { name } }) => ({ ...get, namespace, name }))
        : [],
    );
    const unknown = single.filter((asked) => this.#find(asked) === undefined);
    const guessOne = unknown.length === 0 || this.#recordMissing(unknown);
    return places.flatMap(([namespace, all]) =>
      (this.#find({ ...get, namespace }) ?? guess)
        ? all
        : all.filter(({ metadata: { name } }) => this.#find({ ...get, namespace, name }) ?? guessOne),
    );
  }

  visibleNamespaces(): undefined {
    return undefined;
  }

  commit(): void {
    if (this.#missing.size > 0) throw new ReviewNeeded();
    if (this.#request.writes) this.#committed = true;
  }

  async prefetch(namespace: string): Promise<void> {
    if (this.#prefetched.has(namespace)) return;
    this.#prefetched.add(namespace);
    const asked = this.#config.requiredPermissions
      .filter(({ on }) => on.namespaced === (namespace !== ""))
      .map(({ verb, on, subresource }) => ({ verb, on, namespace, ...(subresource && { subresource }) }));
    await this.#fetch(asked.filter((one) => this.#find(one) === undefined));
  }

  async runUntilDecided<T>(attempt: () => Promise<T> | T, discard: (answer: T) => void): Promise<T> {
    const { signal } = this.#request;
    for (let round = 0; round < maxRounds; round++) {
      signal.throwIfAborted();
      const outcome = await captureResult(attempt);
      if (this.#missing.size === 0) {
        if ("error" in outcome) throw outcome.error;
        return outcome.answer;
      }
      if ("answer" in outcome) discard(outcome.answer);
      const wanted = [...this.#missing.values()];
      this.#missing.clear();
      await this.#fetch(wanted);
    }
    throw unavailable("The rights of this request change faster than they can be checked. Try again.");
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

  /** @throws NotSynced, NotPermitted where RBAC's own yes would count and cannot be seen */
  #toReviewAttributes(asked: AccessAttributes): ReviewAttributes {
    try {
      return { ...asked, rbacAllowed: this.#authorizer.allows(this.#request.caller, asked) };
    } catch (error) {
      if (this.#config.trustsRbac || !(error instanceof NotSynced || error instanceof NotPermitted)) throw error;
      return { ...asked, rbacAllowed: undefined };
    }
  }

  /** What to go on with when these are not known: yes for a reader, whose answer does not count then; nothing for a writer, who begins again. */
  #recordMissing(asked: readonly AccessAttributes[]): boolean {
    if (this.#committed) return this.#decideAfterCommit(asked);
    for (const one of asked) this.#missing.set(keyOf(one), one);
    if (this.#answers.size + this.#missing.size > maxReviews) {
      this.#missing.clear();
      throw new CFError(
        "UnprocessableEntity",
        `This needs more than ${maxReviews} access reviews. Narrow it down, for example by space_guids or guids.`,
      );
    }
    if (this.#request.writes) throw new ReviewNeeded();
    return true;
  }

  /** Something is written already, so no beginning again: what holds for the whole namespace counts, and the rest is no until it is known. */
  #decideAfterCommit(asked: readonly AccessAttributes[]): boolean {
    this.#fetch(asked).catch(() => undefined);
    return asked.every(({ name: _name, ...whole }) => this.#find(whole) ?? false);
  }

  async #fetch(asked: readonly AccessAttributes[]): Promise<void> {
    if (asked.length === 0) return;
    const { caller, signal } = this.#request;
    const questions = asked.map((one) => this.#toReviewAttributes(one));
    const answers = await this.#config.reviewer.review(caller, questions, signal);
    for (const [at, one] of questions.entries()) this.#answers.set(keyOf(one), answers[at] ?? false);
  }
}

async function captureResult<T>(attempt: () => Promise<T> | T): Promise<{ answer: T } | { error: unknown }> {
  try {
    return { answer: await attempt() };
  } catch (error) {
    return { error };
  }
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
