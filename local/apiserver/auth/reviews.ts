// Reviews of identity and permissions: TokenReview, SelfSubjectReview, the access reviews, SelfSubjectRulesReview. Nothing is stored.
import type { KubeObject } from "../../../kube/api/object.ts";
import type { AttributesRecord, Authorize, FieldError, UserInfo, VirtualRequest, VirtualResource } from "../types.ts";
import { invalidValue } from "../field-errors.ts";
import { badRequest, invalid, type StatusError } from "../status.ts";
import type { RbacAuthorizer } from "./rbac-authorizer.ts";

const authenticationGroup = "authentication.k8s.io";
const authorizationGroup = "authorization.k8s.io";

/** Reads a bearer token for TokenReview. Throws with a reason that may be shown when the token does not hold. */
export type ReadToken = (token: string, audiences: string[]) => Promise<{ user: UserInfo; audiences: string[] }>;

export interface ReviewDeps {
  authorizer: RbacAuthorizer;
  readToken: ReadToken;
  /** Audiences a token is meant for when the review names none. */
  audiences: string[];
  /** Milliseconds. */
  now: () => number;
}

type Review = { spec?: Record<string, unknown> };
type Answer = (request: VirtualRequest) => Record<string, unknown> | Promise<Record<string, unknown>>;

/** The review kinds as resources that only answer create. */
export function reviewResources({ authorizer, readToken, audiences, now }: ReviewDeps): VirtualResource[] {
  const { authorize } = authorizer;
  const review = (group: string, kind: string, namespaced: boolean, answer: Answer) =>
    reviewResource({ group, kind, namespaced, now }, answer);
  return [
    review(authenticationGroup, "TokenReview", false, ({ body }) => tokenReview(body, readToken, audiences)),
    review(authenticationGroup, "SelfSubjectReview", false, ({ user }) => ({ userInfo: userStatus(user) })),
    review(authorizationGroup, "SubjectAccessReview", false, ({ body }) => decide(subjectOf(body), body, authorize)),
    review(authorizationGroup, "SelfSubjectAccessReview", false, ({ user, body }) => decide(user, body, authorize)),
    review(authorizationGroup, "LocalSubjectAccessReview", true, (request) => localReview(request, authorize)),
    review(authorizationGroup, "SelfSubjectRulesReview", false, ({ user, body }) =>
      rulesReview(user, body, authorizer),
    ),
  ];
}

interface ReviewKind {
  group: string;
  kind: string;
  namespaced: boolean;
  now: () => number;
}

function reviewResource({ group, kind, namespaced, now }: ReviewKind, answer: Answer): VirtualResource {
  return {
    gvr: { group, version: "v1", resource: `${kind.toLowerCase()}s` },
    subresource: "",
    gvk: { group, version: "v1", kind },
    namespaced,
    create: async (request) => {
      const { body } = request;
      return {
        apiVersion: `${group}/v1`,
        kind,
        metadata: shownMetadata(kind, body, now),
        ...shownSpec(kind, body),
        status: await answer(request),
      };
    },
  };
}

function shownMetadata(kind: string, { metadata }: KubeObject, now: () => number): KubeObject["metadata"] {
  if (kind === "SelfSubjectReview")
    return { creationTimestamp: `${new Date(now()).toISOString().slice(0, 19)}Z` } as KubeObject["metadata"];
  return kind === "SelfSubjectRulesReview" ? ({} as KubeObject["metadata"]) : metadata;
}

/** kube-apiserver does not echo the spec of a self review. */
function shownSpec(kind: string, body: KubeObject): { spec?: Record<string, unknown> } {
  if (kind === "SelfSubjectReview") return {};
  return { spec: kind === "SelfSubjectRulesReview" ? {} : specOf(body) };
}

const specOf = (body: KubeObject): Record<string, unknown> => (body as Review).spec ?? {};

function userStatus({ name, uid, groups, extra }: UserInfo): Record<string, unknown> {
  return { username: name, ...(uid && { uid }), groups, ...(extra && Object.keys(extra).length > 0 && { extra }) };
}

async function tokenReview(
  body: KubeObject,
  readToken: ReadToken,
  ownAudiences: string[],
): Promise<Record<string, unknown>> {
  const { token, audiences } = specOf(body) as { token?: string; audiences?: string[] };
  if (!token) throw badRequest("token is required for TokenReview in authentication");
  try {
    const found = await readToken(token, audiences?.length ? audiences : ownAudiences);
    return { authenticated: true, user: userStatus(found.user), audiences: found.audiences };
  } catch (error) {
    return { user: {}, error: error instanceof Error ? error.message : "invalid bearer token" };
  }
}

interface ReviewSpec {
  resourceAttributes?: {
    namespace?: string;
    verb?: string;
    group?: string;
    version?: string;
    resource?: string;
    subresource?: string;
    name?: string;
  };
  nonResourceAttributes?: { path?: string; verb?: string };
  user?: string;
  groups?: string[];
  uid?: string;
  extra?: Record<string, string[]>;
}

/** kube-apiserver leaves the kind out of these. */
function refused(errors: FieldError[]): StatusError {
  const error = invalid({ group: authorizationGroup, kind: "" }, "", errors);
  delete error.body.details?.kind;
  return error;
}

function subjectErrors(body: KubeObject): FieldError[] {
  const { user, groups } = specOf(body) as ReviewSpec;
  return user || groups?.length
    ? []
    : [invalidValue("spec.user", "", "at least one of user or group must be specified")];
}

function attributeErrors(body: KubeObject): FieldError[] {
  const { resourceAttributes: on, nonResourceAttributes: at } = specOf(body) as ReviewSpec;
  if (on && at)
    return [
      invalidValue(
        "spec.nonResourceAttributes",
        shownPath(at),
        "cannot be specified in combination with resourceAttributes",
      ),
    ];
  return on || at
    ? []
    : [
        invalidValue(
          "spec.resourceAttributes",
          null,
          "exactly one of nonResourceAttributes or resourceAttributes must be specified",
        ),
      ];
}

const shownPath = ({ path = "", verb = "" }: { path?: string; verb?: string }) => ({ Path: path, Verb: verb });

function check(errors: FieldError[]): void {
  if (errors.length > 0) throw refused(errors);
}

function subjectOf(body: KubeObject): UserInfo {
  const { user, groups, uid, extra } = specOf(body) as ReviewSpec;
  check([...attributeErrors(body), ...subjectErrors(body)]);
  return { name: user ?? "", groups: groups ?? [], ...(uid && { uid }), ...(extra && { extra }) };
}

function attributesOf(user: UserInfo, body: KubeObject): AttributesRecord {
  const { resourceAttributes: on, nonResourceAttributes: at } = specOf(body) as ReviewSpec;
  check(attributeErrors(body));
  const none = { group: "", version: "", resource: "", subresource: "", namespace: "", name: "", verb: "" };
  return at ? { ...none, user, verb: at.verb ?? "", path: at.path ?? "" } : { ...none, ...on, user };
}

function decide(user: UserInfo, body: KubeObject, authorize: Authorize): Record<string, unknown> {
  const { allowed, reason } = authorize(attributesOf(user, body));
  return { allowed, ...(reason && { reason }) };
}

function localReview({ body, namespace }: VirtualRequest, authorize: Authorize): Record<string, unknown> {
  const { resourceAttributes, nonResourceAttributes: path } = specOf(body) as ReviewSpec;
  const asked = resourceAttributes?.namespace ?? "";
  if (path) check([invalidValue("spec.nonResourceAttributes", shownPath(path), "disallowed on this kind of request")]);
  if (asked !== namespace)
    check([invalidValue("spec.resourceAttributes.namespace", asked, "must match metadata.namespace")]);
  return decide(subjectOf(body), body, authorize);
}

function rulesReview(user: UserInfo, body: KubeObject, { rulesFor }: RbacAuthorizer): Record<string, unknown> {
  const { namespace } = specOf(body) as { namespace?: string };
  if (!namespace) throw badRequest("no namespace on request");
  const rules = rulesFor(user, namespace);
  return {
    resourceRules: rules
      .filter((rule) => rule.resources?.length)
      .map(({ verbs, apiGroups, resources, resourceNames }) => ({
        verbs,
        apiGroups,
        resources,
        ...(resourceNames?.length && { resourceNames }),
      })),
    nonResourceRules: rules
      .filter((rule) => rule.nonResourceURLs?.length)
      .map(({ verbs, nonResourceURLs }) => ({ verbs, nonResourceURLs })),
    incomplete: false,
  };
}
